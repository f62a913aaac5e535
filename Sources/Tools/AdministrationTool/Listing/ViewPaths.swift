// From a path as it was typed to the same place in a view, and back to the path by real names.

import Arguments
import DisplayNames
import LinuxFiles
import LinuxPrograms
import TextForms

/// Where an item on a volume is, by real names.
struct RealPath {
  /// Where all of the volume is mounted.
  let mountPoint: Word
  /// From there on; as typed, but for what was typed through a view.
  let names: [[UInt8]]
  /// The view that the path was typed through.
  let view: [UInt8]?

  init(_ typed: Word) throws(Refusal) {
    let path = try VolumePath(typed, try volumeTable())
    mountPoint = path.mount.mountPoint
    let walked = path.path.split(separator: slash).map { Array($0) }
    guard walked.count > 2, Array(walked[..<2]) == VolumePath.views else {
      // A name that a view shows is no name here.
      do throws(Errno) { _ = try Descriptor.item(atPath: typed, .held) } catch {
        throw Refusal(error, at: typed)
      }
      (names, view) = (walked, nil)
      return
    }
    guard ViewName(walked[2]) != nil else { throw Refusal(.noSuchFile, at: typed) }
    view = walked[2]
    names = try RealPath.realNames(walked, from: mountPoint)
  }

  /// Finds the real name of each item on the way.
  private static func realNames(_ typed: [[UInt8]], from mountPoint: Word) throws(Refusal) -> [[UInt8]] {
    var path = typed[..<3].reduce(mountPoint) { joined($0, $1) }
    var (parent, names): (Word, [[UInt8]]) = (mountPoint, [])
    for name in typed[3...] where name != [UInt8(ascii: ".")] {
      guard name != Array("..".utf8) else {
        throw Refusal("'..' cannot be used in a path through a view", status: 2)
      }
      path = joined(path, name)
      let real: [UInt8]?
      do throws(Errno) { real = try realName(of: name, at: path, in: parent) } catch {
        throw Refusal(error, at: path)
      }
      guard let real else {
        throw Refusal(
          "\(shown(path)) has several names in its directory, or got another one just now; name it by its real name"
        )
      }
      names.append(real)
      parent = joined(parent, real)
    }
    return names
  }

  /// Nil where it cannot be told.
  ///
  /// An item says by which name it was found last. Where it has several, that may be another one than the name that was
  /// typed, and in this directory something else may have it.
  private static func realName(of name: [UInt8], at path: Word, in parent: Word) throws(Errno) -> [UInt8]? {
    let held = try Descriptor.item(atPath: path, .held)
    let status = try held.status()
    func isItem(_ name: [UInt8]) throws(Errno) -> Bool {
      do throws(Errno) {
        return try Descriptor.item(atPath: joined(parent, name), .held).status().isSame(as: status)
      } catch .noSuchFile {
        return false
      }
    }
    // Real names lead to their items first.
    if try isItem(name) { return name }
    guard status.kind != .directory, status.linkCount > 1 else {
      let real = try held.attribute(AttributeName("system.varve.realname"))
      guard let real, try isItem(real) else { return nil }
      return real
    }
    let listing = try Descriptor.item(atPath: parent, .followed).listing()
    var page = EntryBuffer()
    var found: [[UInt8]] = []
    while try listing.readEntries(into: &page) > 0 {
      while let entry = try page.next() {
        guard entry.role == .child, entry.inode == status.inode else { continue }
        found.append(try page.nameBytes(of: entry))
      }
    }
    guard found.count == 1, try isItem(found[0]) else { return nil }
    return found[0]
  }

  /// The path in the ordinary tree.
  var path: Word { names.reduce(mountPoint) { joined($0, $1) } }

  /// The path in a view, where real names lead to their items as well.
  func path(in view: ViewName) -> Word {
    let root = (VolumePath.views + [Array(view.description.utf8)]).reduce(mountPoint) { joined($0, $1) }
    return names.reduce(root) { joined($0, $1) }
  }

  /// What was typed, with the name that the view shows in place of the last one.
  ///
  /// Where a view cannot show the name that the item has alone, and where it leaves the item out, that is the real name:
  /// it leads to the item in the view as well.
  func shownPath(typed: Word, in view: ViewName) -> Word {
    guard let real = names.last, let word = typed.split(separator: slash).last,
      word.elementsEqual(real) || self.view != nil && !word.elementsEqual(".".utf8)
    else { return typed }
    // Whatever is wrong with the item, it shows where it is read.
    let name = (try? nameAlone(in: view)) ?? real
    return typed[..<word.startIndex] + name + typed[word.endIndex...]
  }

  /// Nil where the view shows something else by it.
  private func nameAlone(in view: ViewName) throws(Errno) -> [UInt8]? {
    let place = path(in: view)
    let held = try Descriptor.item(atPath: place, .held)
    let name = try displayName(of: held, view.languages)
    let found = try Descriptor.item(atPath: joined(place.withoutLastName, name), .held)
    return try found.status().isSame(as: held.status()) ? name : nil
  }
}

/// The path in the ordinary tree of what was typed through a view; others are as they were typed.
func ordinaryPath(_ typed: Word) -> Word {
  // What cannot be translated is told of as it was typed.
  guard let real = try? RealPath(typed), real.view != nil else { return typed }
  return real.path
}

/// The view that a path was typed through, unless the command line names languages.
func ownView(of path: RealPath, _ invocation: Invocation) -> ViewName? {
  invocation.values(.languages).isEmpty ? path.view.flatMap { ViewName($0) } : nil
}

/// The languages that the command line names, or else the environment, for paths in no view; nil: those of the volume.
func wantedLanguages(_ invocation: Invocation) throws(UsageError) -> LanguageList? {
  if let given = invocation.values(.languages).last {
    let text = String(decoding: given, as: UTF8.self)
    if text == "default" { return nil }
    guard let list = LanguageList(option: text) else {
      throw invocation.mistake("'\(text)' is not \(LanguageList.words(insteadOf: text))")
    }
    return list
  }
  func text(_ name: StaticString) -> String? { environment(name).map { String(decoding: $0, as: UTF8.self) } }
  return LanguageList(
    language: text("LANGUAGE"), all: text("LC_ALL"), messages: text("LC_MESSAGES"), lang: text("LANG"))
}

/// The name of the attribute that has an item's display name in these languages.
func displayNameAttribute(_ languages: LanguageList?) -> [UInt8] {
  let name = "system.varve.displayname"
  guard let languages, !languages.languages.isEmpty else { return Array(name.utf8) }
  return Array("\(name).\(languages.languages.map(\.description).joined(separator: "+"))".utf8)
}
