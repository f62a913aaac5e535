// Work files of replacements of content, and notes of changes of class, by name, and the files they belong to, by path.
//
// What is being made has a name that the next mount sweeps. Only when all of it is on the disk does it get the name that
// is spared: so whatever has that name is whole, unless the disk damaged it.

import LinuxFiles
import RecordFormat

enum ReplacementFiles {
  /// Whether a mount sweeps a name in the workshop: also a link or a FIFO that only has such a name.
  static func isSwept(_ name: [UInt8], in workshop: SharedDescriptor) -> Bool {
    guard ReplacementTrailer.isName(name) || ReplacementTrailer.isNote(name) else { return true }
    // What cannot be looked at is told where it is needed.
    let status = try? FileName.with(name) { name throws(Errno) in try workshop.descriptor.status(of: name) }
    return status.map { $0.kind != .regular } ?? false
  }

  /// A file under a name that is swept; for the daemon alone, whichever user it makes files for otherwise.
  ///
  /// It is locked as long as somebody is at work on it.
  static func make(
    in workshop: SharedDescriptor
  ) throws(Errno) -> (name: [UInt8], file: SharedDescriptor) {
    if CurrentProcess.isRoot { try ThreadIdentity.become(user: 0, group: 0) }
    let bytes = Workshop.nextName()
    let file = try FileName.with(bytes) { name throws(Errno) in
      try workshop.descriptor.createFile(name, mode: 0o600)
    }
    lock(file)
    return (bytes, SharedDescriptor(file))
  }

  /// Tells other mounts that somebody is at work; where files cannot be locked they do not wait for it.
  static func lock(_ work: borrowing Descriptor) { _ = try? work.tryLockWhole(exclusive: true) }

  /// Puts a file on the disk, and lets it be spared.
  ///
  /// One that is there under that name is of a file that is gone, or of a replacement that nobody had begun.
  static func publish(
    _ file: SharedDescriptor, _ present: [UInt8], as wanted: [UInt8], in workshop: SharedDescriptor
  ) throws(Errno) {
    try file.descriptor.sync()
    try FileName.with(present) { present throws(Errno) in
      try FileName.with(wanted) { wanted throws(Errno) in
        try workshop.descriptor.rename(present, to: workshop.descriptor, as: wanted)
      }
    }
    try workshop.descriptor.sync()
  }

  static func names(in workshop: SharedDescriptor) throws(Errno) -> [[UInt8]] {
    try workshop.descriptor.names().filter { ReplacementTrailer.isName($0) && !isSwept($0, in: workshop) }
  }

  static func notes(in workshop: SharedDescriptor) throws(Errno) -> [[UInt8]] {
    try workshop.descriptor.names().filter(ReplacementTrailer.isNote)
  }

  /// A work file, open for reading if nothing else is said; nil if there is none.
  static func find(
    _ name: [UInt8], in workshop: SharedDescriptor, _ flags: OpenFlags = [.readOnly, .nonBlocking]
  ) throws(Errno) -> SharedDescriptor? {
    do throws(Errno) {
      let file = try FileName.with(name) { name throws(Errno) in
        try workshop.descriptor.open(name, flags)
      }
      guard try file.status().kind == .regular else { return nil }
      return SharedDescriptor(file)
    } catch .noSuchFile, .tooManySymbolicLinks {
      return nil
    }
  }

  static func remove(_ name: [UInt8], from workshop: SharedDescriptor) throws(Errno) {
    try FileName.with(name) { name throws(Errno) in try workshop.descriptor.removeFile(name) }
  }

  /// What has a path below the upper directory; nil if nothing has it, or something that is not of this volume.
  static func object(
    at path: [UInt8], beneath root: SharedDescriptor
  ) throws(Errno) -> SharedDescriptor? {
    do throws(Errno) {
      guard let end = path.lastIndex(of: UInt8(ascii: "/")) else {
        return SharedDescriptor(try hold(path, in: root.descriptor))
      }
      let directory = try root.descriptor.openDirectoryPath(beneath: path.span.extracting(0..<end))
      return SharedDescriptor(try hold(Array(path[(end + 1)...]), in: directory))
    } catch .noSuchFile, .notDirectory, .tooManySymbolicLinks, .crossDevice, .invalid, .nameTooLong {
      // The last two: names that no file has.
      return nil
    }
  }

  private static func hold(
    _ name: [UInt8], in directory: borrowing Descriptor
  ) throws(Errno) -> Descriptor {
    let text = name
    return try FileName.with(text) { name throws(Errno) in try directory.openPath(name) }
  }
}
