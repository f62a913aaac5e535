// The hidden directory `.varve` in the upper directory: the lock, the volume file, the workshop.

import LinuxFiles
import Synchronization

/// A volume cannot be opened, said in words for whoever mounts it.
package struct VolumeFailure: Error, Sendable {
  package let message: String

  init(_ message: String) {
    self.message = message
  }
}

/// The bookkeeping of a volume. Holds the lock for as long as it lives.
final class VolumeDirectory: Sendable {
  static let name = Array(".varve".utf8)

  /// Where objects are finished before they get their name. Emptied at every mount.
  let workshop: SharedDescriptor?
  let namespace: MetadataStore.Namespace
  let uuid: String
  private let directory: SharedDescriptor?
  private let lock: SharedDescriptor?
  private let header: Mutex<VolumeHeader>

  private init(
    directory: SharedDescriptor?, lock: SharedDescriptor?, workshop: SharedDescriptor?, header: VolumeHeader
  ) {
    self.directory = directory
    self.lock = lock
    self.workshop = workshop
    namespace = header.namespace
    uuid = header.uuid
    self.header = Mutex(header)
  }

  var recordsExist: Bool { header.withLock { $0.recordsExist } }

  /// Writes down that records exist, and waits until the disk has it.
  func announceRecords() throws(Errno) {
    guard let directory else { throw .readOnly }
    var next = header.withLock { $0 }
    guard !next.recordsExist else { return }
    next.recordsExist = true
    try VolumeDirectory.store(next, in: directory.descriptor)
    header.withLock { $0 = next }
  }

  /// Opens the volume of an upper directory, making it one if it is none.
  static func open(root: borrowing Descriptor, readOnly: Bool) throws -> VolumeDirectory {
    let rootStatus = try root.status()
    do throws(Errno) {
      let status = try FileName.with(name) { name throws(Errno) in try root.status(of: name) }
      guard status.kind == .directory else { throw Errno.notDirectory }
      guard status.device == rootStatus.device else { throw Errno.crossDevice }
    } catch .noSuchFile {
      guard !readOnly else { return try implicit(root) }
      try FileName.with(name) { name throws(Errno) in try root.makeDirectory(name, mode: 0o700) }
    } catch .notDirectory {
      throw VolumeFailure("'.varve' in the upper directory is not a directory")
    } catch .crossDevice {
      throw VolumeFailure("'.varve' in the upper directory is a mount point")
    }
    let directory = SharedDescriptor(
      try FileName.with(name) { name throws(Errno) in try root.open(name, [.readOnly, .directory]) })
    let lock = readOnly ? nil : try takeLock(in: directory.descriptor)
    let header = try readHeader(in: directory.descriptor, readOnly: readOnly)
    let workshop = readOnly ? nil : try openWorkshop(in: directory.descriptor)
    return VolumeDirectory(directory: directory, lock: lock, workshop: workshop, header: header)
  }

  /// A plain directory mounted read-only: a volume without bookkeeping, whose records are still believed.
  private static func implicit(_ root: borrowing Descriptor) throws -> VolumeDirectory {
    var header = VolumeHeader.fresh()
    header.recordsExist = true
    return VolumeDirectory(directory: nil, lock: nil, workshop: nil, header: header)
  }

  private static func takeLock(in directory: borrowing Descriptor) throws -> SharedDescriptor {
    let file: SharedDescriptor
    do throws(Errno) {
      file = SharedDescriptor(
        try FileName.with(Array("lock".utf8)) { name throws(Errno) in
          try directory.createFile(name, mode: 0o600)
        })
    } catch .exists {
      file = SharedDescriptor(
        try FileName.with(Array("lock".utf8)) { name throws(Errno) in try directory.open(name, .readWrite) })
    }
    switch try file.descriptor.tryLockWhole(exclusive: true) {
    case .locked:
      try file.descriptor.recordHolder(process: CurrentProcess.identifier)
      return file
    case .held(let holder):
      let who = holder.map { "process \($0)" } ?? "another process"
      throw VolumeFailure("the volume is mounted already, by \(who)")
    }
  }

  private static func readHeader(in directory: borrowing Descriptor, readOnly: Bool) throws -> VolumeHeader {
    let text: [UInt8]
    do throws(Errno) {
      let file = try FileName.with(Array("volume".utf8)) { name throws(Errno) in
        try directory.open(name, .readOnly)
      }
      text = try file.read(upTo: VolumeHeader.longest)
    } catch .noSuchFile {
      let header = VolumeHeader.fresh()
      if !readOnly { try store(header, in: directory) }
      return header
    }
    let header = try VolumeHeader(parsing: text)
    try header.checkFeatures(readOnly: readOnly)
    return header
  }

  /// Replaces the volume file so that a crash leaves the old one or the new one.
  private static func store(_ header: VolumeHeader, in directory: borrowing Descriptor) throws(Errno) {
    let temporary = Array("volume.new".utf8)
    do throws(Errno) {
      try FileName.with(temporary) { name throws(Errno) in try directory.removeFile(name) }
    } catch .noSuchFile {}
    let file = try FileName.with(temporary) { name throws(Errno) in
      try directory.createFile(name, mode: 0o600)
    }
    try file.writeAll(header.text, at: 0)
    try file.sync()
    try FileName.with(temporary) { old throws(Errno) in
      try FileName.with(Array("volume".utf8)) { new throws(Errno) in
        try directory.rename(old, to: directory, as: new)
      }
    }
    try directory.sync()
  }

  /// The workshop, empty: whatever a crash left there never got a name and is nobody's.
  private static func openWorkshop(in directory: borrowing Descriptor) throws -> SharedDescriptor {
    let name = Array("work".utf8)
    do throws(Errno) {
      try FileName.with(name) { name throws(Errno) in try directory.makeDirectory(name, mode: 0o700) }
    } catch .exists {}
    let workshop = SharedDescriptor(
      try FileName.with(name) { name throws(Errno) in try directory.open(name, [.readOnly, .directory]) })
    try Sweeper.empty(workshop.descriptor)
    return workshop
  }
}
