// The bookkeeping of a volume as a check needs it: looked at without being believed, changed only when asked to.

package import LinuxFiles

/// The directory `.varve` of a volume that is looked at from below.
///
/// Holds the volume's lock for as long as it lives, if nobody else has it: nothing is mounted for writing
/// meanwhile, and nothing at all during a repair.
package final class VolumeInspection: Sendable {
  /// What the volume file says, or why it cannot be believed.
  package enum Header: Sendable {
    case sound(recordsExist: Bool)
    /// Written by a later version, or for more privilege than the caller has.
    case notForUs(String)
    case missing
    case damaged(String, [UInt8])
  }

  package enum Use: Sendable {
    case nobody
    case mounted(by: LockHolder)
    /// Mounted read-only, which only a repair must know.
    case mountedForReading
  }

  package enum Purpose: Sendable {
    case looking
    case repairing
  }

  package let header: Header
  package let use: Use
  /// The attributes of the records, without `.m` and `.acl`.
  package let recordPrefix: String
  /// The upper directory.
  let root: SharedDescriptor
  let directory: SharedDescriptor
  let lock: WriterLock?
  let namespace: MetadataStore.Namespace
  private let isRepair: Bool
  private let isLeased: Bool

  /// Looks at the bookkeeping in `root`.
  ///
  /// Refuses what a mount would refuse: bookkeeping that belongs to another user. `leaseTimes` count where the lock may get
  /// lost, or always if `isStore`.
  package init(
    of root: SharedDescriptor, for purpose: Purpose, leaseTimes: LeaseTimes = LeaseTimes(),
    isStore: Bool = false
  ) throws(VolumeFailure) {
    self.root = root
    do {
      directory = try VolumeDirectory.openOwn(in: root)
      // Everything else is listed (`misplaced`).
      try VolumeDirectory.requireTypes(in: directory, of: ["lock"])
      let device = DeviceNumber(packed: try root.descriptor.status().device)
      isLeased = try isStore || !root.descriptor.fileSystemStatus().isOfThisMachine(on: device)
      (lock, use) = try VolumeInspection.look(
        into: directory, of: root, for: purpose, lease: isLeased ? leaseTimes : nil, usual: leaseTimes)
      header = try VolumeInspection.header(in: directory)
    } catch let failure as VolumeFailure {
      throw failure
    } catch {
      throw VolumeFailure("\(error)")
    }
    let stored = try? VolumeDirectory.storedHeader(in: directory).map { try VolumeHeader(parsing: $0) }
    isRepair = purpose == .repairing
    namespace =
      if let stored { stored.namespace } else { try VolumeDirectory.findNamespace(in: root) }
    recordPrefix = "\(namespace.rawValue).varve"
  }

  deinit {
    // The next mount need not wait; where it is not said, it does.
    if isLeased { _ = try? lock?.end() }
  }

  /// Before each change of a repair: EBUSY where the store has lost the lock, and a mount may be at work.
  package func requireLock() throws(Errno) {
    guard let lock else { throw .busy }
    try lock.keep()
  }

  /// The directory `.varve` itself.
  package func directoryStatus() throws(Errno) -> FileStatus { try directory.descriptor.knownStatus() }

  /// The bookkeeping as a mount has it; it can be written to only in a repair.
  func volumeDirectory(of root: SharedDescriptor) throws(VolumeFailure) -> VolumeDirectory {
    let stored: [UInt8]?
    do throws(Errno) {
      stored = try VolumeDirectory.storedHeader(in: directory)
    } catch {
      throw VolumeFailure("the volume file cannot be read: \(error)")
    }
    let header = try stored.map { (text) throws(VolumeFailure) in try VolumeHeader(parsing: text) }
    let opened = VolumeDirectory.Opened(directory: directory, lock: isRepair ? lock : nil)
    return VolumeDirectory(root: root, opened, header: header ?? .fresh(recordsIn: namespace).withRecords)
  }

  private static func look(
    into directory: SharedDescriptor, of root: SharedDescriptor, for purpose: Purpose, lease: LeaseTimes?,
    usual: LeaseTimes
  ) throws -> (WriterLock?, Use) {
    // A repair waits as a mount does.
    let waits = purpose == .repairing
    do {
      let taken = try VolumeDirectory.tryLock(
        in: directory, of: root, lease: lease,
        for: waits ? .mounting : .looking)
      switch taken {
      case .held(let holder): return (nil, .mounted(by: holder))
      case .taken(let lock, unsettled: let unsettled):
        if let unsettled, waits { try VolumeDirectory.settle(lock, after: unsettled, lease, usual: usual) }
        // What a mount for reading remembers must not change below it.
        if waits, try !directory.descriptor.tryLockOpen(exclusive: true) {
          _ = try? lock.end()
          return (nil, .mountedForReading)
        }
        return (lock, .nobody)
      }
    } catch let error as Errno {
      // Where nobody can make the lock, or nobody has and there is no room for it, nobody has the volume for writing.
      let isFull = error == .noSpace || error == .quotaExceeded
      guard error == .readOnly || (isFull && purpose == .looking) else { throw error }
      return (nil, .nobody)
    }
  }

  private static func header(in directory: SharedDescriptor) throws -> Header {
    guard let text = try VolumeDirectory.storedHeader(in: directory) else { return .missing }
    let header: VolumeHeader
    do throws(VolumeFailure) {
      header = try VolumeHeader(parsing: text)
    } catch {
      return .damaged(error.problem, text)
    }
    do throws(VolumeFailure) {
      try header.checkFeatures(readOnly: false)
    } catch {
      return .notForUs(error.message)
    }
    return .sound(recordsExist: header.recordsExist)
  }

  /// The names of what a crash left behind: unfinished objects, and half a file of the bookkeeping.
  ///
  /// Not the replacements of content that the next mount continues: they may be the only copy of a file's content. Nor
  /// the notes of what a change of class took away, which it gives back.
  package func leftovers() throws(Errno) -> [[UInt8]] {
    var names: [[UInt8]] = []
    do throws(Errno) {
      let workshop = SharedDescriptor(
        try directory.descriptor.open(try FileName("work"), [.readOnly, .directory]))
      for name in try workshop.descriptor.names() where name != Workshop.whiteout {
        if ReplacementFiles.isSwept(name, in: workshop) { names.append(Array("work/".utf8) + name) }
      }
    } catch .noSuchFile {
      // It is made with the first mount for writing.
    }
    for temporary in BookkeepingFile.temporaries {
      do throws(Errno) {
        let name = try FileName(temporary)
        _ = try directory.descriptor.status(of: name)
        names.append(name.copy())
      } catch .noSuchFile {
        // No crash while this one was replaced.
      }
    }
    return names
  }

  /// The names of replacements of content that a crash interrupted; the next mount continues them.
  package func interruptedReplacements() throws(Errno) -> [[UInt8]] {
    guard let workshop = try workshop() else { return [] }
    return try ReplacementFiles.names(in: workshop).map { Array("work/".utf8) + $0 }
  }

  /// Nil where there was no mount for writing yet.
  func workshop() throws(Errno) -> SharedDescriptor? {
    do throws(Errno) {
      return SharedDescriptor(
        try directory.descriptor.open(try FileName("work"), [.readOnly, .directory]))
    } catch .noSuchFile {
      return nil
    }
  }

  /// Removes what a crash left behind; nothing of it was ever acknowledged.
  package func removeLeftovers() throws(Errno) {
    try requireLock()
    do throws(Errno) {
      let workshop = SharedDescriptor(
        try directory.descriptor.open(try FileName("work"), [.readOnly, .directory]))
      try VolumeDirectory.sweep(workshop, of: directory) { () throws(Errno) in try requireLock() }
    } catch .noSuchFile {
      // Nothing was ever begun.
    }
    try BookkeepingFile.removeTemporaries(in: directory)
  }

  /// Writes a volume file by which every record counts, with what can be read of the present one.
  package func letRecordsCount() throws(Errno) {
    try requireLock()
    // What cannot be read of it is left out.
    let text = try VolumeDirectory.storedHeader(in: directory) ?? []
    var header =
      (try? VolumeHeader(parsing: text)) ?? VolumeHeader.salvaged(from: text, recordsIn: namespace)
    if holdsKeybag { header = header.withProtectedContent }
    try VolumeDirectory.store(header.withRecords, in: directory)
  }

  /// Whether versions that know no keys have to be kept out.
  private var holdsKeybag: Bool {
    let names: [StaticString] = ["keybag", "keybag.copy"]
    return names.contains { (try? directory.descriptor.status(of: FileName($0))) != nil }
  }

  /// Writes into a sound volume file that no item has a record, so that no first look at an item asks for one.
  ///
  /// Only after every item of the volume has been looked at and none had one.
  package func letRecordsBeSkipped() throws(Errno) {
    try requireLock()
    guard let text = try VolumeDirectory.storedHeader(in: directory),
      var header = try? VolumeHeader(parsing: text)
    else { throw .badMessage }
    header.recordsExist = false
    try VolumeDirectory.store(header, in: directory)
  }

  /// Adds a line to the file that keeps damaged bytes, and waits until the disk has it.
  package func keepAside(_ line: [UInt8]) throws(Errno) {
    try requireLock()
    let name = try FileName("damaged")
    let file: Descriptor
    do throws(Errno) {
      file = try directory.descriptor.createFile(name, mode: 0o600)
    } catch .exists {
      file = try directory.descriptor.open(name, .readWrite)
    }
    let status = try file.status()
    guard status.kind == .regular, let end = Int64(exactly: status.size) else { throw .invalid }
    try file.writeAll(line, at: end)
    try file.sync()
    try directory.descriptor.sync()
  }
}
