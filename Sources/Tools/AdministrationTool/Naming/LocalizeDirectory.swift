// `varve name --localize`: gives a directory its names in other languages.

import Arguments
import DisplayNames
import ItemKinds
import LinuxFiles
import LinuxPrograms
import PropertyLists
import TextForms
import UnicodeText

/// A name of a directory in one language.
private struct Translation {
  let language: Language
  let text: [UInt8]
  let shown: DisplayValue

  var file: [UInt8] { Array("\(language.description).strings".utf8) }

  /// What the user may not expect of the name that is shown: no name on Linux holds a slash, though one on a Mac may.
  var remark: String? {
    guard text.contains(slash) else { return nil }
    let name = PathText.escaped(shown.bytes)
    return "views show '\(name)' in \(language), with ':' for '/', which no name can hold"
  }
}

func localizeDirectory(_ invocation: Invocation, _ console: Console) throws(UsageError) -> Int32 {
  guard invocation.operands.count > 1, let path = invocation.operands.last else {
    throw UsageError("--localize takes TAG=TEXT, and behind it the directory", verb: "name")
  }
  let rules = NameRules(
    languages: LanguageList(),
    tools: NameTools(
      normalise: { text, result in Normalisation.appendNFC(of: text, to: &result) }, digest: { _ in nil }))
  var translations: [Translation] = []
  for word in invocation.operands.dropLast() {
    let new = try translation(word, rules, invocation)
    // Of several for one language the last counts.
    translations.removeAll { $0.language == new.language }
    translations.append(new)
  }
  do throws(Refusal) {
    let change = try Localization(path, isRenamed: invocation.has(.renameToLocalize), rules)
    try change.write(translations)
    if let problem = try change.renamed().problem(translations) {
      console.note(path, problem)
    } else {
      for remark in translations.compactMap(\.remark) { console.note(path, remark) }
    }
  } catch {
    console.complain(path, error.sentence)
  }
  return console.finish()
}

private func translation(
  _ word: Word, _ rules: NameRules, _ invocation: Invocation
) throws(UsageError) -> Translation {
  let parts = word.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
  guard parts.count == 2 else {
    throw invocation.mistake("'\(PathText.escaped(word))' is not TAG=TEXT, such as fr=Photos")
  }
  let tag = String(decoding: parts[0], as: UTF8.self)
  guard let language = Language(tag) else {
    let meant = LanguageList(meant: tag)?.languages.map { "\($0)=TEXT" }.joined(separator: " ")
    throw invocation.mistake(
      "'\(PathText.escaped(Array(parts[0])))' is not a language such as fr or pt-BR"
        + (meant.map { "; write \($0)" } ?? ""))
  }
  guard let value = rules.value(parts[1], mayLookLikeDocument: false) else {
    throw invocation.mistake(
      "'\(PathText.escaped(Array(parts[1])))' is not a name that a view shows: a name is not empty, begins with neither dot "
        + "nor blank, ends in no blank, hides no character, has no extension, and has 255 bytes at most")
  }
  return Translation(language: language, text: Array(parts[1]), shown: value)
}

/// The translations of one directory.
private struct Localization {
  private static let suffix = Array(".localized".utf8)
  private static let limit = PropertyListLimits.strings

  private let path: Word
  private let held: SharedDescriptor
  private let name: [UInt8]
  private let parent: SharedDescriptor
  private let rules: NameRules
  private let isToBeRenamed: Bool

  /// Takes a directory by any path, also through a view.
  init(_ typed: Word, isRenamed: Bool, _ rules: NameRules) throws(Refusal) {
    path = try RealPath(typed).path
    self.rules = rules
    let name: [UInt8]
    do throws(Errno) {
      held = SharedDescriptor(try Descriptor.item(atPath: path, .followed))
      guard try held.descriptor.knownStatus().kind == .directory else { throw .notDirectory }
      name = try Localization.name(of: held.descriptor)
      parent = SharedDescriptor(try held.descriptor.parent())
    } catch {
      throw Refusal(error, at: path)
    }
    let lacksEnd = !KindTables.isLocalized(name.span)
    (self.name, isToBeRenamed) = (name, lacksEnd)
    if lacksEnd, !isRenamed {
      throw Refusal("its name does not end in .localized, so no view translates it; --rename adds that")
    }
    if lacksEnd, name.count + Localization.suffix.count > 255 {
      throw Refusal("its name is too long for .localized at its end (ENAMETOOLONG)")
    }
    if lacksEnd, (try? parent.descriptor.item(named: name + Localization.suffix, .held)) != nil {
      throw Refusal("there is a \(PathText.escaped(name + Localization.suffix)) already (EEXIST)")
    }
  }

  private static func name(of directory: borrowing Descriptor) throws(Errno) -> [UInt8] {
    let held = try directory.heldPath()
    guard let end = held.lastIndex(of: slash), end + 1 < held.count else { throw .invalid }
    return Array(held[(end + 1)...])
  }

  /// The real name without `.localized`: the key of its translations.
  private var stem: [UInt8] { isToBeRenamed ? name : name.dropLast(Localization.suffix.count) }

  /// Writes the strings files; other keys in them stay.
  func write(_ translations: [Translation]) throws(Refusal) {
    let folder = try folder()
    var files: [(name: [UInt8], content: [UInt8])] = []
    for translation in translations {
      let file = translation.file
      var new = line(stem, translation.text)
      if let folder, let table = try content(of: file, in: folder) { new = others(in: table) + new }
      guard new.count <= Localization.limit.size else {
        throw Refusal("\(PathText.escaped(file)) would be larger than views read (EFBIG)")
      }
      files.append((file, new))
    }
    // Nothing was changed up to here.
    let made: SharedDescriptor
    if let folder { made = folder } else { made = try makeFolder() }
    for file in files {
      do throws(Errno) { try replace(file.name, in: made.descriptor, by: file.content) } catch {
        throw Refusal(
          "\(PathText.escaped(file.name)) cannot be written: "
            + Refusal.change(error, path, made.descriptor, needs: "add_file").sentence)
      }
    }
  }

  private func folder() throws(Refusal) -> SharedDescriptor? {
    do throws(Errno) {
      let folder = SharedDescriptor(try held.descriptor.item(named: Localization.suffix, .held))
      if try folder.descriptor.knownStatus().kind == .directory { return folder }
    } catch .noSuchFile {
      return nil
    } catch {
      throw Refusal(error)
    }
    throw Refusal("the .localized in it is not a directory, so translations have no place; remove it first")
  }

  private func makeFolder() throws(Refusal) -> SharedDescriptor {
    do throws(Errno) {
      try FileName.with(Localization.suffix) { name throws(Errno) in
        try held.descriptor.makeDirectory(name, mode: 0o755)
      }
      return SharedDescriptor(try held.descriptor.item(named: Localization.suffix, .held))
    } catch {
      throw Refusal.change(error, path, held.descriptor, needs: "add_subdirectory")
    }
  }

  // MARK: - Strings files

  private func content(of file: [UInt8], in folder: SharedDescriptor) throws(Refusal) -> StringTable? {
    let bytes: [UInt8]
    do throws(Errno) {
      let opened = try folder.descriptor.item(named: file, .held)
      guard try opened.knownStatus().kind == .regular else { throw .badMessage }
      bytes = try opened.reopen(.readOnly).read(upTo: Localization.limit.size + 1)
    } catch .noSuchFile {
      return nil
    } catch {
      throw Refusal("\(PathText.escaped(file)) in it cannot be read: \(error)")
    }
    do throws(ParseFailure) { return try PropertyList.strings(in: bytes) } catch {
      throw Refusal("\(PathText.escaped(file)) in it is not a strings file that views read; left alone")
    }
  }

  /// What the file says of other names.
  private func others(in table: StringTable) -> [UInt8] {
    var text: [UInt8] = []
    for index in 0..<table.count where !isStem(table.key(at: index)) {
      text += line(Array(table.key(at: index)), Array(table.value(at: index)))
    }
    return text
  }

  private func isStem(_ key: ArraySlice<UInt8>) -> Bool {
    func normal(_ text: [UInt8]) -> [UInt8] {
      var result: [UInt8] = []
      Normalisation.appendNFC(of: text.span, to: &result)
      return result
    }
    return key.elementsEqual(stem) || normal(Array(key)) == normal(stem)
  }

  private func line(_ key: [UInt8], _ value: [UInt8]) -> [UInt8] {
    quoted(key) + Array(" = ".utf8) + quoted(value) + Array(";\n".utf8)
  }

  private func quoted(_ text: [UInt8]) -> [UInt8] {
    let quote = UInt8(ascii: "\"")
    return [quote]
      + text.flatMap { byte -> [UInt8] in
        switch byte {
        case quote, UInt8(ascii: "\\"): [UInt8(ascii: "\\"), byte]
        case 0x0A: Array("\\n".utf8)
        case 0x0D: Array("\\r".utf8)
        default: [byte]
        }
      } + [quote]
  }

  /// Puts a file in the place of another one in one step.
  private func replace(
    _ name: [UInt8], in folder: borrowing Descriptor, by content: [UInt8]
  ) throws(Errno) {
    let temporary = Array(".varve-\(CurrentProcess.identifier).strings".utf8)
    try FileName.with(temporary) { new throws(Errno) in
      let file = try folder.createFile(new, mode: 0o644)
      do throws(Errno) {
        try file.writeAll(content, at: 0)
        try FileName.with(name) { name throws(Errno) in try folder.rename(new, to: folder, as: name) }
      } catch {
        // The first error is the one to tell.
        try? folder.removeFile(new)
        throw error
      }
    }
  }

  // MARK: - The end

  /// Gives the directory the end of the name that makes views look for translations, if it has to have it.
  consuming func renamed() throws(Refusal) -> Localization {
    guard isToBeRenamed else { return self }
    do throws(Errno) {
      try FileName.with(name) { name throws(Errno) in
        try FileName.with(self.name + Localization.suffix) { newName throws(Errno) in
          try parent.descriptor.rename(name, to: parent.descriptor, as: newName, .noReplace)
        }
      }
    } catch {
      let reason = Refusal.change(error, path, held.descriptor, needs: "delete").sentence
      throw Refusal("the translations are written, but it cannot be renamed: \(reason)")
    }
    return self
  }

  /// Why a view will not show what was written; nil if it will.
  func problem(_ translations: [Translation]) throws(Refusal) -> String? {
    for translation in translations {
      let shown: [UInt8]?
      do throws(Errno) {
        shown = try AttributeName.with(displayNameAttribute(LanguageList([translation.language]))) {
          name throws(Errno) in
          try held.descriptor.attribute(name)
        }
      } catch {
        throw Refusal("what views show of it cannot be asked: \(error)")
      }
      if shown != translation.shown.bytes {
        return
          "views do not show this name: the owner of the directory may not read "
          + ".localized/\(PathText.escaped(translation.file)), or, where root owns it, a stranger may not"
      }
    }
    return nil
  }
}
