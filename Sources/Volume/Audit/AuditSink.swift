// Where the lines of the audit log go.

import LinuxFiles
import Synchronization

/// A file that only grows, or the system's log.
final class AuditSink: Sendable {
  private struct State {
    /// `nil`: the system's log.
    var file: AuditFile?
    var hasComplained = false
  }

  private let state: Mutex<State>

  init(_ target: AuditLog.Target) throws(Errno) {
    switch target {
    case .journal:
      try AuditSink.requireSystemLog()
      state = Mutex(State())
    case .file(let path): state = Mutex(State(file: try AuditFile(path)))
    }
  }

  static func check(_ target: AuditLog.Target) throws(Errno) {
    switch target {
    case .journal: try requireSystemLog()
    case .file(let path): try AuditFile.check(path)
    }
  }

  /// Takes a file away that was made for a mount which did not come about.
  func takeBack() {
    // The mount has failed for another reason, which is told.
    try? state.withLock { state throws(Errno) in try state.file?.takeBack() }
  }

  /// A message to a log that is not there is lost without an error.
  private static func requireSystemLog() throws(Errno) {
    guard try Descriptor.open(path: "/dev/log", .path).status().kind == .socket else { throw .noSuchFile }
  }

  /// Writes lines, each with its end; false if they are lost.
  func write(_ lines: String) -> Bool {
    state.withLock { state in
      guard let path = state.file?.path else {
        for line in lines.split(separator: "\n") { SystemLog.write(priority: 6, String(line)) }
        return true
      }
      do throws(Errno) {
        try state.file?.append(lines)
        state.hasComplained = false
        return true
      } catch {
        if !state.hasComplained { Log.error("the audit log '\(shown(path))' cannot be written: \(error)") }
        state.hasComplained = true
        return false
      }
    }
  }
}

/// A path in a line of the log, which cannot hold bytes that are not text.
private func shown(_ path: [UInt8]) -> String { String(decoding: path, as: UTF8.self) }

/// A log file, found again under its name when it was moved away.
struct AuditFile: Sendable {
  let path: [UInt8]
  /// Held, so that no directory on the way can be swapped for a link later.
  private let directory: SharedDescriptor
  private let name: [UInt8]
  private var file: SharedDescriptor
  /// Whether it was not there before.
  private let isFresh: Bool
  /// Whether a line may end in the middle, because the disk was full or the like.
  private var isTorn = false

  init(_ path: [UInt8]) throws(Errno) {
    self.path = path
    (directory, name) = try AuditFile.directory(of: path)
    (file, isFresh) = try AuditFile.open(name, in: directory)
  }

  private static func directory(of path: [UInt8]) throws(Errno) -> (SharedDescriptor, name: [UInt8]) {
    let slash = UInt8(ascii: "/")
    guard path.first == slash, let end = path.lastIndex(of: slash) else { throw .invalid }
    let directory = try Descriptor.directory(atPath: end == 0 ? [slash] : Array(path[..<end]))
    // Named with a slash behind it.
    guard end + 1 < path.count else { throw .isDirectory }
    return (SharedDescriptor(directory), Array(path[(end + 1)...]))
  }

  /// What is there, a link itself; ENOENT if nothing is.
  static func kind(at path: [UInt8]) throws(Errno) -> FileKind {
    do throws(Errno) {
      let (directory, name) = try directory(of: path)
      return try FileName.with(name) { name throws(Errno) in try directory.descriptor.status(of: name).kind }
    } catch .isDirectory {
      return .directory
    }
  }

  /// Fails where the file could not be opened or made, and makes none.
  static func check(_ path: [UInt8]) throws(Errno) {
    let (directory, name) = try directory(of: path)
    try FileName.with(name) { name throws(Errno) in
      do throws(Errno) {
        _ = try directory.descriptor.status(of: name)
      } catch .noSuchFile {
        return try directory.descriptor.requireChangeable()
      }
      _ = try openSound(name, in: directory)
    }
  }

  /// Opens what is there, or makes it for its owner alone; never through a link, and nothing but a plain file.
  ///
  /// EPERM for one that another user owns, can open or has under another name: they could read what nobody else may
  /// know, or rewrite it.
  private static func open(
    _ name: [UInt8], in directory: SharedDescriptor
  ) throws(Errno) -> (SharedDescriptor, isFresh: Bool) {
    try FileName.with(name) { name throws(Errno) in
      let made: SharedDescriptor
      do throws(Errno) {
        made = SharedDescriptor(try directory.descriptor.createFile(name, mode: 0o600))
      } catch .exists {
        // From an earlier mount.
        return (try openSound(name, in: directory), isFresh: false)
      }
      do throws(Errno) {
        return (try openSound(name, in: directory), isFresh: true)
      } catch {
        // Some file systems give every file a mode of their own. The failure is the one to tell.
        try? remove(name, ifEmpty: made, in: directory)
        throw error
      }
    }
  }

  /// Removes the file if it was made here and nothing was written to it.
  func takeBack() throws(Errno) {
    guard isFresh else { return }
    try FileName.with(name) { name throws(Errno) in try AuditFile.remove(name, ifEmpty: file, in: directory) }
  }

  /// Removes `file`, if it still has that name.
  private static func remove(
    _ name: borrowing FileName, ifEmpty file: SharedDescriptor, in directory: SharedDescriptor
  ) throws(Errno) {
    let status = try file.descriptor.status()
    guard status.size == 0,
      ObjectIdentity(status) == ObjectIdentity(try directory.descriptor.status(of: name))
    else { return }
    try directory.descriptor.removeFile(name)
  }

  private static func openSound(
    _ name: borrowing FileName, in directory: SharedDescriptor
  ) throws(Errno) -> SharedDescriptor {
    // Looked at first: what is no file may act when it is opened.
    switch try directory.descriptor.status(of: name).kind {
    case .regular: break
    case .symbolicLink: throw .tooManySymbolicLinks
    case .directory: throw .isDirectory
    case .fifo, .socket, .characterDevice, .blockDevice: throw .invalid
    }
    // Without waiting: by now it may be a FIFO that nobody reads.
    let file = try directory.descriptor.open(name, [.writeOnly, .append, .nonBlocking])
    let status = try file.status()
    guard status.kind == .regular else { throw .invalid }
    guard status.user == CurrentProcess.user, status.mode & 0o077 == 0, status.linkCount == 1 else {
      throw .notPermitted
    }
    return SharedDescriptor(file)
  }

  mutating func append(_ text: String) throws(Errno) {
    if try !isInPlace() {
      file = try AuditFile.open(name, in: directory).0
      isTorn = false
    }
    let size = try file.descriptor.status().size
    do throws(Errno) {
      // Half a line stays alone: what follows it can be read.
      try file.descriptor.writeToStream(Array(((isTorn ? "\n" : "") + text).utf8))
      isTorn = false
    } catch {
      // Where the size cannot be had, rather an empty line than a lost one.
      if (try? file.descriptor.status().size) != size { isTorn = true }
      throw error
    }
  }

  private func isInPlace() throws(Errno) -> Bool {
    let own = ObjectIdentity(try file.descriptor.status())
    do throws(Errno) {
      return try FileName.with(name) { name throws(Errno) in
        ObjectIdentity(try directory.descriptor.status(of: name)) == own
      }
    } catch .noSuchFile {
      return false
    }
  }
}
