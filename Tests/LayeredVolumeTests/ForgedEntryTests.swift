// Entries of `.varve` that are not of the type a mount makes: nothing is opened, followed or waited for.

import Foundation
import Glibc
import LinuxFiles
import Testing

@testable import LayeredVolume

@Suite("Entries of the bookkeeping of another type", .timeLimit(.minutes(1))) struct ForgedEntryTests {
  private static let files =
    ["volume", "lock", "damaged", "keybag", "keybag.copy", "sessions"]
    + ["volume.new", "keybag.new", "keybag.copy.new", "sessions.new"]
  private static let directories = ["work", "index", "trash"]

  /// Makes something at a path, and how it is called; nil for what only root can make.
  private struct Kind: Sendable {
    let words: String
    let make: @Sendable (_ path: String, _ elsewhere: String) -> CInt
  }

  private static let special = [
    Kind(words: "a FIFO") { path, _ in mkfifo(path, 0o600) },
    Kind(words: "a socket") { path, _ in mknod(path, S_IFSOCK | 0o600, 0) },
    Kind(words: "a symbolic link") { path, elsewhere in symlink(elsewhere, path) },
    Kind(words: "a symbolic link") { path, _ in symlink("nowhere", path) },
    Kind(words: "a symbolic link") { path, _ in symlink(path, path) },
  ]
  // The null device: whatever is done to it does no harm.
  private static let devices = [
    Kind(words: "a device") { path, _ in mknod(path, S_IFCHR | 0o600, 0x103) },
    Kind(words: "a device") { path, _ in mknod(path, S_IFBLK | 0o600, 0x700) },
  ]
  private static let regular = Kind(words: "a regular file") { path, _ in
    close(creat(path, 0o600))
  }
  private static let directory = Kind(words: "a directory") { path, _ in mkdir(path, 0o700) }

  /// Every kind in the place of every entry, one after the other, in a volume that was mounted for writing before.
  private func everywhere(
    _ body: (_ root: SharedDescriptor, _ path: String, _ name: String, _ sentence: String) throws -> Void
  ) throws {
    var count = 0
    for name in Self.files + Self.directories {
      let isFile = Self.files.contains(name)
      let kinds =
        Self.special + (geteuid() == 0 ? Self.devices : []) + [isFile ? Self.directory : Self.regular]
      for kind in kinds {
        var template = Array("/tmp/varve-forged.XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw Errno.current }
        let path = String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
        defer { try? FileManager.default.removeItem(atPath: path) }
        let root = SharedDescriptor(try Descriptor.directory(atPath: path))
        _ = try VolumeDirectory.open(root: root, readOnly: false)
        // What would be believed, if the link were followed.
        let elsewhere = "\(path)/elsewhere"
        let entry = "\(path)/.varve/\(name)"
        if access(entry, F_OK) == 0 {
          try #require(rename(entry, elsewhere) == 0)
        } else if isFile {
          try "text".write(toFile: elsewhere, atomically: false, encoding: .utf8)
        } else {
          try #require(mkdir(elsewhere, 0o700) == 0)
        }
        if !isFile { close(creat("\(elsewhere)/kept", 0o600)) }
        try #require(kind.make(entry, elsewhere) == 0, "\(kind.words)")
        let type = isFile ? "a regular file" : "a directory"
        let before = try look(path, entry)
        try body(
          root, path, name,
          "'.varve/\(name)' is \(kind.words), not \(type); put back what was there, or move it away")
        #expect(try look(path, entry) == before, "\(name), \(kind.words)")
        count += 1
      }
    }
    #expect(count == (Self.files.count + Self.directories.count) * (geteuid() == 0 ? 8 : 6))
  }

  /// All that could have been changed: the names, the forged entry, and where it leads.
  private func look(_ path: String, _ entry: String) throws -> [String] {
    var status = stat()
    try #require(lstat(entry, &status) == 0)
    let elsewhere = "\(path)/elsewhere"
    let content = FileManager.default.contents(atPath: elsewhere).map { "\($0)" } ?? ""
    return try FileManager.default.subpathsOfDirectory(atPath: path).sorted()
      + ["\(status.st_ino) \(status.st_mode)", content]
  }

  private func refusal(_ body: () throws -> Void) -> String {
    do { try body() } catch { return (error as? VolumeFailure)?.message ?? "\(error)" }
    return "it was not refused"
  }

  @Test("Whatever has the place of a file or directory of the bookkeeping is named, and no mount touches it")
  func mounts() throws {
    try everywhere { root, path, name, sentence in
      for readOnly in [false, true] {
        #expect(refusal { _ = try VolumeDirectory.open(root: root, readOnly: readOnly) } == sentence)
        // A mount that is only tried says the same.
        #expect(refusal { try VolumeDirectory.check(root: root, readOnly: readOnly) } == sentence)
      }
    }
  }

  @Test("A volume that was mounted for reading becomes writable only without it") func becomingWritable()
    throws
  {
    try everywhere { root, path, name, sentence in
      let entry = "\(path)/.varve/\(name)"
      let aside = "\(path)/aside"
      try #require(rename(entry, aside) == 0)
      let reader = try VolumeDirectory.open(root: root, readOnly: true)
      try #require(rename(aside, entry) == 0)
      #expect(refusal { _ = try reader.becomeWritable() } == sentence)
      #expect(reader.lock == nil && reader.workshop == nil)
    }
  }

  @Test("A lower that is a volume is refused for those of its entries that are used") func lowers() throws {
    try everywhere { _, path, name, sentence in
      guard ["index", "lock", "volume"].contains(name) else { return }
      #expect(refusal { _ = try LowerRoot(Array(path.utf8)) } == sentence)
    }
  }

  @Test("A check waits for none of them, lists them, and takes no lock that is none") func checks() throws {
    try everywhere { root, _, name, sentence in
      guard name != "lock" else {
        #expect(refusal { _ = try VolumeInspection(of: root, for: .looking) } == sentence)
        return
      }
      let found = try VolumeInspection(of: root, for: .looking).misplaced()
      #expect(found.map { String(decoding: $0.name, as: UTF8.self) } == [name])
      let areOfWrongType = found.allSatisfy(\.isOfWrongType)
      #expect(areOfWrongType)
    }
  }
}
