// Puts the items of the tables of names on a disk, and looks at them through a view that is mounted.

import CMountSupport
import DisplayNames
import Glibc
import ItemKinds
import LinuxFiles
import MountSupport
import NameVectors

/// A path of any bytes.
struct BytePath {
  let bytes: [UInt8]

  init(_ text: String) { bytes = Array(text.utf8) }
  init(_ bytes: [UInt8]) { self.bytes = bytes }

  static func / (path: BytePath, name: [UInt8]) -> BytePath {
    BytePath(path.bytes + [UInt8(ascii: "/")] + name)
  }

  static func / (path: BytePath, name: String) -> BytePath { path / Array(name.utf8) }

  func call<Result>(_ body: (UnsafePointer<CChar>) -> Result) -> Result {
    (bytes + [0]).map { CChar(bitPattern: $0) }.withUnsafeBufferPointer { bytes in
      guard let start = bytes.baseAddress else { preconditionFailure("there is one byte at least") }
      return body(start)
    }
  }

  func make(_ text: [UInt8] = [], mode: mode_t = 0o644) -> Bool {
    let file = call { open($0, O_CREAT | O_WRONLY | O_EXCL, 0o600) }
    guard file >= 0 else { return false }
    defer { close(file) }
    return write(file, text, text.count) == text.count && fchmod(file, mode) == 0
  }

  func makeDirectory() -> Bool { call { mkdir($0, 0o755) } == 0 }

  /// Holds the item itself, also a link.
  private func held<Result>(_ body: (borrowing Descriptor) throws(Errno) -> Result) -> Result? {
    guard let slash = bytes.lastIndex(of: UInt8(ascii: "/")) else { return nil }
    do throws(Errno) {
      let directory = try Descriptor.open(path: Array(bytes[..<slash]), [.readOnly, .directory])
      return try body(
        try FileName.with(Array(bytes[(slash + 1)...])) { name throws(Errno) in try directory.openPath(name) }
      )
    } catch {
      return nil
    }
  }

  func set(_ attribute: String, _ value: [UInt8]) -> Bool {
    held { (item) throws(Errno) in
      try AttributeName.with(Array(attribute.utf8)) { name throws(Errno) in
        try item.setAttribute(name, to: value)
      }
      return true
    } ?? false
  }

  func attribute(_ attribute: String) -> [UInt8]? {
    var value = [UInt8](repeating: 0, count: 4096)
    let room = value.count
    let count = call { path in
      value.withUnsafeMutableBytes { lt_attribute(path, attribute, $0.baseAddress, room) }
    }
    return count >= 0 ? Array(value.prefix(count)) : nil
  }

  var inode: ino_t? {
    var status = stat()
    return call { lstat($0, &status) } == 0 ? status.st_ino : nil
  }

  /// The names in a directory, without its own, in the order in which they are read, and whose they are.
  var listing: [(name: [UInt8], inode: ino_t)]? {
    guard let stream = call({ opendir($0) }) else { return nil }
    defer { closedir(stream) }
    var listing: [([UInt8], ino_t)] = []
    while let entry = readdir(stream) {
      let name = withUnsafeBytes(of: entry.pointee.d_name) { Array($0.prefix { $0 != 0 }) }
      if name != [0x2E], name != [0x2E, 0x2E] { listing.append((name, entry.pointee.d_ino)) }
    }
    return listing
  }

  var names: [[UInt8]]? { listing?.map(\.name) }
}

extension Entry {
  /// Makes the item in a directory, where the attributes of the volume can be set; its translations in a form of
  /// `StringsFile`.
  func stage(in directory: BytePath, form: Int = 0) -> Bool {
    let path = directory / name
    let isMade =
      switch facts.kind {
      case .directory: path.makeDirectory() && stageInside(of: path, form)
      case .link: path.call { symlink("nowhere", $0) } == 0
      case .pipe: path.call { mkfifo($0, 0o644) } == 0
      default: path.make(mode: facts.isExecutable ? 0o755 : 0o644)
      }
    guard isMade else { return false }
    var finder = [UInt8](repeating: 0, count: 32)
    if facts.state == .hide { finder[9] |= 0x10 }
    if facts.hasBundleBit { finder[8] |= 0x20 }
    if finder != [UInt8](repeating: 0, count: 32), !path.set("user.com.apple.FinderInfo", finder) {
      return false
    }
    if facts.state == .show, !path.set("system.varve.extension", Array("show".utf8)) { return false }
    if isHidden, name.first != UInt8(ascii: "."), !path.set("system.varve.flags", Array("hidden".utf8)) {
      return false
    }
    // Root looks all the same.
    let list = Array("user:1001 deny readattr".utf8)
    return !facts.isWithheld || path.set("system.varve.acl", list)
  }

  private func stageInside(of path: BytePath, _ form: Int) -> Bool {
    switch inside {
    case .nothing: return true
    case .marker: return (path / ".localized").make()
    case .localizations(let key, let values):
      let folder = path / ".localized"
      return folder.makeDirectory()
        && values.enumerated().allSatisfy { number, value in
          let bytes = StringsFile.bytes([key: value.value], form: form + number)
          return (folder / (value.key + ".strings")).make(bytes)
        }
    case .bundle(let information, let values):
      let contents = path / "Contents"
      let resources = contents / "Resources"
      guard contents.makeDirectory(), resources.makeDirectory(),
        (contents / "Info.plist").make(StringsFile.bytes(information, form: form))
      else { return false }
      return values.allSatisfy { tag, strings in
        let folder = resources / (tag + ".lproj")
        let bytes = StringsFile.bytes(strings, form: form + 1)
        return folder.makeDirectory() && (folder / "InfoPlist.strings").make(bytes)
      }
    }
  }
}
