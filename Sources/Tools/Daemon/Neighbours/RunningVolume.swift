// The volumes that are mounted for writing, as their daemons write them down: a file for each in /run/varve/volumes, or in
// a user's own runtime directory, that is locked as long as the daemon runs.

import ControlDoor
import JSONForm
import LinuxFiles
import LinuxPrograms
import TextForms

/// Which directory it is, by whatever path it is reached.
struct DirectoryIdentity: Hashable, Sendable {
  let device: UInt64
  let inode: UInt64

  init(_ status: FileStatus) {
    (device, inode) = (status.device, status.inode)
  }

  /// Reads what `name` says.
  init?(name: [UInt8]) {
    let numbers = name.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
    guard numbers.count == 2, let device = UInt64(String(decoding: numbers[0], as: UTF8.self)),
      let inode = UInt64(String(decoding: numbers[1], as: UTF8.self))
    else { return nil }
    (self.device, self.inode) = (device, inode)
  }

  /// How a volume's file is called.
  var name: [UInt8] { Array("\(device)-\(inode)".utf8) }
}

/// A volume that a daemon writes to.
struct RunningVolume: Sendable {
  /// Of its upper directory.
  let identity: DirectoryIdentity
  let process: Int32?
  /// The number of the mount namespace it is mounted in.
  let namespace: Int?
  /// The number under which that process holds the upper directory open.
  let descriptor: Int?
  /// Where the upper directory was when it was mounted: in its file system, and for whoever mounted it.
  let place: PlaceInFileSystem?
  let path: [UInt8]

  init(
    _ identity: DirectoryIdentity, process: Int32?, namespace: Int?, descriptor: Int?,
    place: PlaceInFileSystem?, path: [UInt8]
  ) {
    (self.identity, self.process, self.namespace) = (identity, process, namespace)
    (self.descriptor, self.place, self.path) = (descriptor, place, path)
  }

  /// Where the upper directory is now, if we may see that: it may have been moved.
  func presentPlace(in table: [MountedVolume]) -> PlaceInFileSystem? {
    guard let process, let descriptor else { return nil }
    let link = try? Descriptor.place(Array("/proc/\(process)/fd/\(descriptor)".utf8), .held).readLink()
    return link.flatMap { $0.first == UInt8(ascii: "/") ? MountedVolume.place(of: $0, in: table) : nil }
  }

  /// The number of the process first, as in the lock of a volume.
  fileprivate var text: [UInt8] {
    var members = JSON.nameMembers("path", path)
    if let namespace { members.add("namespace", namespace) }
    if let descriptor { members.add("descriptor", descriptor) }
    if let place {
      members.add("device", place.device)
      members.add("place", bytes: place.path)
    }
    return Array("\(process ?? 0)\n\(JSON.object(members).text)\n".utf8)
  }

  fileprivate init(_ identity: DirectoryIdentity, text: [UInt8], process: Int32?) {
    let lines = text.split(separator: UInt8(ascii: "\n"), maxSplits: 1)
    let facts = lines.count > 1 ? JSON(Array(lines[1])) : nil
    var place: PlaceInFileSystem?
    if let device = facts?["device"]?.string, let path = facts?.nameBytes("place") {
      place = PlaceInFileSystem(device: device, path: path)
    }
    self.init(
      identity, process: process, namespace: facts?["namespace"]?.integer,
      descriptor: facts?["descriptor"]?.integer, place: place,
      path: facts?.nameBytes("path") ?? [])
  }

  /// Those of root's daemons, and of our own.
  static func all() -> [RunningVolume] {
    var volumes: [RunningVolume] = []
    for directory in RuntimeDirectory.existing("volumes", runtime: environment("XDG_RUNTIME_DIR")) {
      // A directory that cannot be read says nothing.
      for name in (try? directory.descriptor.names()) ?? [] {
        if let volume = try? living(name, in: directory) { volumes.append(volume) }
      }
    }
    return volumes
  }

  /// Nil for one whose daemon is gone; what it left is taken away where we may.
  private static func living(_ name: [UInt8], in directory: SharedDescriptor) throws(Errno) -> RunningVolume?
  {
    guard let identity = DirectoryIdentity(name: name) else { return nil }
    return try FileName.with(name) { name throws(Errno) in
      let file = try directory.descriptor.open(name, [.readOnly, .nonBlocking])
      guard try file.isLockedExclusively() else {
        if try directory.descriptor.status().user == CurrentProcess.user {
          try RegisteredVolume.removeLeft(name, in: directory.descriptor)
        }
        return nil
      }
      return RunningVolume(
        identity, text: try file.read(upTo: 65_536), process: file.recordedHolder())
    }
  }
}

/// The file that tells about our own volume.
final class RegisteredVolume: Sendable {
  private let directory: SharedDescriptor
  /// Locked as long as it is open.
  private let file: SharedDescriptor
  private let name: [UInt8]

  private init(_ directory: SharedDescriptor, _ file: SharedDescriptor, _ name: [UInt8]) {
    (self.directory, self.file, self.name) = (directory, file, name)
  }

  /// Writes a volume down; nil where there is no place for it, or another daemon has it.
  static func add(_ volume: RunningVolume) -> RegisteredVolume? {
    let (closed, open): (UInt16, UInt16) = CurrentProcess.isRoot ? (0o755, 0o644) : (0o700, 0o600)
    for runtime in RuntimeDirectory.own(runtime: environment("XDG_RUNTIME_DIR")) {
      // Whatever is wrong with a place, the next one is tried.
      guard let directory = try? runtime.making("volumes", mode: closed) else { continue }
      if let made = try? add(volume, to: directory, mode: open) { return made }
    }
    return nil
  }

  private static func add(
    _ volume: RunningVolume, to directory: SharedDescriptor, mode: UInt16
  ) throws(Errno) -> RegisteredVolume? {
    let name = volume.identity.name
    // Locked before it has a name or can be opened by others, so that nobody can be first with a lock of his own.
    let file = SharedDescriptor(try directory.descriptor.createUnnamed(mode: 0o600))
    guard try file.descriptor.tryLockWhole(exclusive: true) == .locked else { throw .busy }
    try file.descriptor.writeAll(volume.text, at: 0)
    try file.descriptor.changeMode(mode)
    // What a dead daemon left is taken away first.
    for _ in 0..<16 {
      do throws(Errno) {
        try FileName.with(name) { name throws(Errno) in
          try directory.descriptor.linkUnnamed(file.descriptor, as: name)
        }
        return RegisteredVolume(directory, file, name)
      } catch .exists {
        try FileName.with(name) { name throws(Errno) in
          try RegisteredVolume.removeLeft(name, in: directory.descriptor)
        }
      }
    }
    return nil
  }

  /// Takes away what a dead daemon left; EBUSY for the file of one that runs, which stays.
  ///
  /// Moved aside first: somebody else may do the same, and then begin to run.
  fileprivate static func removeLeft(
    _ name: borrowing FileName, in directory: borrowing Descriptor
  ) throws(Errno) {
    guard try !directory.open(name, [.readOnly, .nonBlocking]).isLockedExclusively() else { throw .busy }
    let aside = Array("gone.\(CurrentProcess.identifier)".utf8)
    let isRunning = try FileName.with(aside) { aside throws(Errno) in
      try directory.rename(name, to: directory, as: aside)
      guard try directory.open(aside, [.readOnly, .nonBlocking]).isLockedExclusively() else {
        try directory.removeFile(aside)
        return false
      }
      try directory.rename(aside, to: directory, as: name, .noReplace)
      return true
    }
    if isRunning { throw .busy }
  }

  /// Takes the file away; at the end of the mount.
  func remove() {
    let (directory, own) = (directory, file)
    // What is left behind is found dead by whoever looks.
    try? FileName.with(name) { name throws(Errno) in
      guard try directory.descriptor.status(of: name).inode == own.descriptor.status().inode else { return }
      try directory.descriptor.removeFile(name)
    }
  }
}
