// The rules once more, as obviously as they can be written: text as lists of characters, every question asked anew, every
// pair of items compared. It shares no code with the engine but the tables of kinds.

package import DisplayNames
import Foundation
import ItemKinds

/// A piece of a name that is shown: a character, or what is written for it.
package struct Glyph: Equatable {
  var text: String
  package var isEscape = false
  var isJoiner = false
  var isMark = false
}

package struct Reference {
  let languages: LanguageList
  package let policy: ExtensionPolicy
  static let known = words(TypeRow.all).union(packages)
  static let packages = words(
    TypeRow.all.filter { TypeTree.ancestors(of: $0.identifier).contains("com.apple.package") }
  )
  .union(
    words("wdgt action component colorpicker docset nib oo3 graffle scptd theater tvlibrary musiclibrary")
  )
  .union(words("aplibrary photolibrary pvm vmwarevm utm bbprojectd key pages numbers pkg download"))
  static let startable = words(
    TypeRow.all.filter { TypeTree.ancestors(of: $0.identifier).contains("public.executable") }
  ).union(words("appimage apk bat cmd com desktop dll exe jar lnk msi pif ps1 run scr vbs wsf"))

  private static func words(_ rows: [TypeRow]) -> Set<String> {
    words(rows.map(\.extensions).joined(separator: " "))
  }
  private static func words(_ text: String) -> Set<String> {
    Set(text.split(separator: " ").map(String.init))
  }

  package init(languages: LanguageList, policy: ExtensionPolicy) {
    self.languages = languages
    self.policy = policy
  }

  // MARK: Characters

  package static func nfc(_ text: String) -> String { text.precomposedStringWithCanonicalMapping }

  /// Characters, and the bytes that are none.
  static func split(_ name: [UInt8]) -> [(scalar: Unicode.Scalar?, byte: UInt8)] {
    var result: [(Unicode.Scalar?, UInt8)] = []
    var index = 0
    next: while index < name.count {
      for length in 1...4 where index + length <= name.count {
        if let text = String(validating: name[index..<index + length], as: UTF8.self),
          text.unicodeScalars.count == 1
        {
          result.append((text.unicodeScalars.first, 0))
          index += length
          continue next
        }
      }
      result.append((nil, name[index]))
      index += 1
    }
    return result
  }

  package static func isMark(_ scalar: Unicode.Scalar) -> Bool {
    [.nonspacingMark, .spacingMark, .enclosingMark].contains(scalar.properties.generalCategory)
  }

  package static func isJoiner(_ value: UInt32) -> Bool {
    [0x34F, 0x61C, 0x180B, 0x180C, 0x180D, 0x180F].contains(value) || (0x200C...0x200F).contains(value)
      || (0xFE00...0xFE0F).contains(value) || (0xE0100...0xE01EF).contains(value)
  }

  package static func mustBeEscaped(_ scalar: Unicode.Scalar) -> Bool {
    let value = scalar.value
    return scalar.properties.generalCategory == .control
      || (0x2028...0x202E).contains(value) && value != 0x202F
      || (0x2066...0x2069).contains(value) || (0xFFF9...0xFFFB).contains(value)
      || scalar.properties.isNoncharacterCodePoint || scalar.properties.isDefaultIgnorableCodePoint
  }

  static func escape(_ scalar: Unicode.Scalar) -> String {
    let digits = String(scalar.value, radix: 16, uppercase: true)
    return scalar.value > 0xFFFF
      ? "\\u{\(digits)}" : "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
  }

  /// What is shown of each character, before NFC.
  package static func glyphs(_ name: [UInt8]) -> [Glyph] {
    let parts = split(name)
    var result: [Glyph] = []
    var index = 0
    var last: Unicode.Scalar?
    while index < parts.count {
      guard let scalar = parts[index].scalar else {
        let digits = String(parts[index].byte, radix: 16, uppercase: true)
        result.append(Glyph(text: "\\x" + (digits.count < 2 ? "0" : "") + digits, isEscape: true))
        (last, index) = (nil, index + 1)
        continue
      }
      let tags = parts[(index + 1)...].prefix { (0xE0020...0xE007E).contains($0.scalar?.value ?? 0) }
      let end = index + 1 + tags.count
      if scalar.value == 0x1F3F4, !tags.isEmpty, end < parts.count, parts[end].scalar?.value == 0xE007F {
        let scalars = parts[index...end].compactMap(\.scalar)
        result.append(Glyph(text: String(String.UnicodeScalarView(scalars))))
        (last, index) = (parts[end].scalar, end + 1)
        continue
      }
      index += 1
      let value = scalar.value
      let isKept: Bool
      if isJoiner(value) {
        let behind = last?.value ?? 0
        let isStyled = value == 0xFE0F && last.map { "0123456789#*©®".unicodeScalars.contains($0) } ?? false
        isKept = behind >= 0x590 || isStyled
      } else {
        isKept = !mustBeEscaped(scalar) && !(isMark(scalar) && last == nil)
      }
      if isKept {
        result.append(Glyph(text: String(scalar), isJoiner: isJoiner(value), isMark: isMark(scalar)))
      } else {
        result.append(Glyph(text: escape(scalar), isEscape: true))
      }
      last = isKept ? scalar : nil
    }
    return result
  }

  /// The same after NFC, with flags and escapes in one piece.
  static func normal(_ glyphs: [Glyph]) -> [Glyph] {
    var result: [Glyph] = []
    var run = ""
    func finish() {
      for scalar in nfc(run).unicodeScalars {
        result.append(Glyph(text: String(scalar), isJoiner: isJoiner(scalar.value), isMark: isMark(scalar)))
      }
      run = ""
    }
    for glyph in glyphs {
      if glyph.isEscape || glyph.text.unicodeScalars.count > 1 {
        finish()
        result.append(glyph)
      } else {
        run.unicodeScalars.append(contentsOf: glyph.text.unicodeScalars)
      }
    }
    finish()
    return result
  }

  static func text(_ glyphs: [Glyph]) -> String { glyphs.map(\.text).joined() }

  package static func isBlank(_ scalar: Unicode.Scalar) -> Bool {
    scalar.properties.isWhitespace || scalar.value == 0x2800
  }

  package static let dots: Set<UInt32> = [
    0x2E, 0x2024, 0x2025, 0x2026, 0x3002, 0xFE52, 0xFF0E, 0xFF61, 0x6D4, 0x701, 0x702, 0xA4F8, 0xA60E,
    0x10A50, 0x1D16D,
  ]

  package static let latin: [ClosedRange<UInt32>] = [
    0xAA...0xAA, 0xB2...0xB3, 0xB5...0xB5, 0xB9...0xBA, 0xC0...0xD6, 0xD8...0xF6, 0xF8...0x2AF, 0x370...0x58F,
    0x13A0...0x13FF, 0x1D00...0x1DBF, 0x1E00...0x1FFF, 0x2070...0x209C, 0x2100...0x218B, 0x2460...0x24FF,
    0x2C60...0x2CFF, 0xA4D0...0xA4F7, 0xA640...0xA69F, 0xA720...0xA7FF, 0xAB30...0xABBF, 0xFF10...0xFF19,
    0xFF21...0xFF3A, 0xFF41...0xFF5A, 0x10400...0x1044F, 0x1D400...0x1D7FF, 0x1F100...0x1F189,
  ]

  package static func passes(_ text: String) -> Bool {
    let scalars = Array(text.unicodeScalars)
    for index in scalars.indices where dots.contains(scalars[index].value) {
      let run = scalars[(index + 1)...].prefix { scalar in
        scalar.isASCII && Character(scalar).isLetter || scalar.isASCII && Character(scalar).isNumber
          || latin.contains { $0.contains(scalar.value) } || isMark(scalar)
      }
      let word = String(String.UnicodeScalarView(run))
      let isLast = run.endIndex == scalars.endIndex
      if known.contains(word.lowercased()), run.allSatisfy(\.isASCII), run.count > 1 || isLast { return true }
      if run.count <= 8, run.contains(where: { !$0.isASCII }) { return true }
    }
    return false
  }

  // MARK: One item

  /// Whether a text ends so, also where the beginning of that is no character of its own: behind U+070F a dot is none.
  static func ends(_ text: String, _ end: String) -> Bool {
    text.utf8.suffix(end.utf8.count).elementsEqual(end.utf8)
  }

  /// The valid extension with its dot, or nothing.
  static func suffix(_ name: [UInt8]) -> String {
    guard let dot = name.lastIndex(of: 0x2E), dot > 0 else { return "" }
    let word = name[(dot + 1)...]
    let letters = Set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_+-".utf8)
    guard (1...32).contains(word.count), word.allSatisfy(letters.contains),
      !name[..<dot].allSatisfy({ $0 == 0x2E || $0 == 0x20 })
    else { return "" }
    return "." + String(decoding: word, as: UTF8.self)
  }

  /// A text of a file as it may be shown.
  static func valid(_ text: String, asDirectory: Bool) -> String? {
    let bytes = Array(text.replacing("/", with: ":").utf8)
    let shown = nfc(String(decoding: bytes, as: UTF8.self))
    let scalars = shown.unicodeScalars
    guard let first = scalars.first, let last = scalars.last, !isBlank(first), !isBlank(last), first != ".",
      !glyphs(bytes).contains(where: \.isEscape), shown.utf8.count <= 255, !(asDirectory && passes(shown))
    else { return nil }
    return shown
  }

  package func isPackage(_ entry: Entry) -> Bool {
    let name = String(decoding: entry.name, as: UTF8.self)
    guard entry.facts.kind == .directory, !name.utf8.starts(with: ".".utf8),
      !entry.name.suffix(10).elementsEqual(".localized".utf8)
    else {
      return false
    }
    let word = Reference.suffix(entry.name).dropFirst().lowercased()
    return entry.facts.hasBundleBit && !entry.facts.isWithheld
      || entry.name.count > 3 && Reference.packages.contains(word)
  }

  /// Whether the extension goes: policy, state and guards.
  func hides(_ entry: Entry, _ plain: String) -> Bool {
    let suffix = Reference.suffix(entry.name)
    let word = suffix.dropFirst().lowercased()
    let isPackage = isPackage(entry)
    guard suffix != "", isPackage || entry.facts.kind == .regular, policy != .never, !entry.facts.isWithheld
    else {
      return false
    }
    let isExecutable = !isPackage && entry.facts.isExecutable
    let isHidden =
      switch (policy, entry.facts.state) {
      case (_, .hide): true
      case (_, .show), (.never, _): false
      case (.bit, .unset): isPackage && word == "app"
      case (.known, .unset): (isPackage || Reference.known.contains(word)) && !isExecutable
      case (.all, .unset): !isExecutable
      }
    let stem = String(plain.dropLast(0).unicodeScalars.dropLast(suffix.unicodeScalars.count))
    let blanks = stem.unicodeScalars.map { Reference.isBlank($0) ? "1" : "0" }.joined()
    return isHidden && !Reference.passes(stem) && !blanks.contains("111") && !blanks.hasSuffix("1")
      && (isPackage || !Reference.startable.contains(word))
  }

  /// The tags of the languages, the best first.
  private var tags: [String] { languages.languages.map(\.description) }

  /// The names that are looked for.
  private var tried: [String] { Reference.tried(tags: tags) }

  /// What an item wishes to be called, and how that is found.
  func wish(_ entry: Entry) -> (String, Character)? {
    let glyphs = Reference.glyphs(entry.name)
    let plain = Reference.nfc(Reference.text(glyphs))
    guard !glyphs.contains(where: \.isEscape), !plain.utf8.starts(with: ".".utf8) else { return nil }
    let suffix = Reference.suffix(entry.name)
    func cut(_ count: Int) -> String {
      String(String.UnicodeScalarView(plain.unicodeScalars.dropLast(count)))
    }
    switch entry.facts.kind {
    case .directory where Reference.ends(plain, ".localized"):
      guard case .localizations(let key, let values) = entry.inside else { return nil }
      let stem = cut(10)
      for tag in tried {
        guard let text = values[tag], Reference.nfc(key).unicodeScalars.elementsEqual(stem.unicodeScalars)
        else {
          continue
        }
        if let value = Reference.valid(text, asDirectory: true) { return (value, "L") }
      }
      return Reference.passes(stem) ? nil : (stem, "L")
    case .directory:
      if case .marker = entry.inside, Reference.isStandard(plain) {
        return Reference.standardName(plain, tried).map { ($0, "S") }
      }
      guard isPackage(entry) else { return nil }
      if case .bundle(let information, let values) = entry.inside,
        let value = translation(information, values, plain, suffix)
      {
        if suffix == "" { return Reference.passes(value) ? nil : (value, "B") }
        let hasOwn = Reference.ends(value.lowercased(), suffix.lowercased())
        let isBare = hasOwn || hides(entry, plain) && !Reference.passes(value)
        return (isBare ? value : value + suffix, "B")
      }
      return hides(entry, plain) ? (cut(suffix.unicodeScalars.count), "E") : nil
    case .regular: return hides(entry, plain) ? (cut(suffix.unicodeScalars.count), "E") : nil
    default: return nil
    }
  }

  private func translation(
    _ information: [String: String], _ values: [String: [String: String]], _ plain: String, _ suffix: String
  ) -> String? {
    let stem = String(String.UnicodeScalarView(plain.unicodeScalars.dropLast(suffix.unicodeScalars.count)))
    let own = ["CFBundleDisplayName", "CFBundleName", "CFBundleExecutable"].compactMap { information[$0] }
    guard own.contains(where: { Reference.nfc($0).unicodeScalars.elementsEqual(stem.unicodeScalars) }) else {
      return nil
    }
    for tag in Reference.tried(tags: tags, region: information["CFBundleDevelopmentRegion"]) {
      for key in ["CFBundleDisplayName", "CFBundleName"] {
        if let text = values[tag]?[key], let value = Reference.valid(text, asDirectory: false) {
          return value
        }
      }
    }
    return nil
  }
}
