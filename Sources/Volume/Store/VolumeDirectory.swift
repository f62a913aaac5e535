// The hidden directory `.varve` in the upper directory: the lock, the volume file, the workshop.

import LayerRules
import LinuxFiles
import Synchronization

/// A volume cannot be opened, said in words for the user who mounts it.
package struct VolumeFailure: Error, Sendable {
  package let problem: String
  /// What to do, where that is not said with the problem.
  package let remedy: String?

  package var message: String { remedy.map { "\(problem); \($0)" } ?? problem }

  init(_ problem: String, remedy: String? = nil) {
    self.problem = problem
    self.remedy = remedy
  }
}

/// The bookkeeping of a volume.
///
/// Holds the lock for as long as it lives. A volume mounted read-only goes without it: any number of them may
/// stand beside each other and beside one that writes. It shares the directory itself instead, which a repair
/// takes alone.
final class VolumeDirectory: Sendable {
  /// What is open of it; a volume mounted read-only has less, until it becomes writable.
  struct Opened {
    var directory: SharedDescriptor?
    var lock: WriterLock?
    var lease: WriterLease?
    var workshop: SharedDescriptor?
    /// Whether it was made for this mount, and tells of nothing yet that was kept since.
    var isFresh = false
    /// An item with a record that does not count, found where there was no bookkeeping.
    var unheeded: [UInt8]?
  }

  let namespace: MetadataStore.Namespace
  let uuid: String
  let root: SharedDescriptor
  let opened: Mutex<Opened>
  /// How the lock is kept where it may get lost; nil where it cannot.
  let leaseTimes: LeaseTimes?
  private let space: RecordSpace
  private let header: Mutex<VolumeHeader>
  // One at a time replaces the volume file. Taken before `header`.
  private let isStoring = Mutex(())

  init(
    root: SharedDescriptor, _ opened: Opened, header: VolumeHeader, lease: LeaseTimes? = nil,
    space: RecordSpace = RecordSpace()
  ) {
    self.root = root
    leaseTimes = lease
    self.space = space
    self.opened = Mutex(opened)
    namespace = header.namespace
    uuid = header.uuid
    self.header = Mutex(header)
  }

  /// Nil where it was mounted read-only without one.
  var descriptor: SharedDescriptor? { opened.withLock { $0.directory } }

  /// Where objects are finished before they get their name.
  ///
  /// Emptied at every mount, but for replacements of content.
  var workshop: SharedDescriptor? { opened.withLock { $0.workshop } }

  /// Whether setting an attribute moves the change time here, and a new name, as they should.
  var movesChangeTimes: Bool {
    guard let workshop else { return false }
    return Workshop.movesChangeTimes(in: workshop.descriptor, namespace: namespace)
  }

  /// The lock of who writes to the volume; nil where it is mounted read-only.
  var lock: WriterLock? { opened.withLock { $0.lock } }

  /// Whether nobody else can write to the volume, as far as that is confirmed.
  var isLocked: Bool {
    opened.withLock { $0.lock != nil && (leaseTimes == nil || $0.lease?.isConfirmed ?? false) }
  }

  /// What the volume file says; without the lock it may say something else by now.
  var recordsExist: Bool { header.withLock { $0.recordsExist } }

  /// Writes down that records exist, and waits until the disk has it.
  func announceRecords() throws(Errno) {
    try store { $0.withRecords }
  }

  /// Writes down that there is protected content, and waits until the disk has it: versions that do not know it mount
  /// this volume read-only from then on.
  func announceProtectedContent() throws(Errno) {
    try store { $0.withProtectedContent }
  }

  /// Writes down over which layers the volume is mounted, and waits until the disk has it.
  func announceLayers(_ layers: AnnouncedLayers) throws {
    let present = header.withLock { $0 }
    guard present.fileSystems == layers.known || present.fileSystems == layers.fileSystems else {
      throw VolumeFailure("its layers are others by now; unmount and mount again")
    }
    let next = layers.written(to: present)
    if next != present { try store { layers.written(to: $0) } }
  }

  /// Writes down that the volume is mounted without the lowers that it had.
  func announceNoLowers() throws(Errno) {
    guard storedLayers.lowers != "" else { return }
    try store { header in
      var next = header
      (next.lowers, next.lowerRoots) = ("", nil)
      return next
    }
  }

  /// Writes down the tags of file systems, before anything is called after them.
  func announceTags(_ fileSystems: FileSystemTable) throws(Errno) {
    guard self.fileSystems != fileSystems else { return }
    try store { header in
      var next = header
      next.fileSystems = fileSystems
      return next
    }
  }

  /// Writes down which directory the upper is, after a repair of a tree that was restored.
  func announceRoot(_ root: InodeMark) throws(Errno) {
    try store { header in
      var next = header
      next.root = root
      return next
    }
  }

  /// What is known of file systems that held lowers.
  var fileSystems: FileSystemTable { header.withLock { $0.fileSystems } }

  /// Whether the volume was ever mounted for writing over lowers.
  var isLayered: Bool { header.withLock { $0.isLayered } }

  /// What the volume file says of layers.
  var storedLayers: StoredLayers { header.withLock(\.storedLayers) }

  func checkLayers(areSaid: Bool, readOnly: Bool) throws(VolumeFailure) {
    try header.withLock { $0 }.checkLayers(areSaid: areSaid, readOnly: readOnly)
  }

  private func store(_ change: (VolumeHeader) -> VolumeHeader) throws(Errno) {
    guard let directory = descriptor else { throw .readOnly }
    // Without it what is announced would count no longer.
    opened.withLock { $0.isFresh = false }
    try isStoring.withLock { _ throws(Errno) in
      let next = change(header.withLock { $0 })
      try VolumeDirectory.store(next, in: directory)
      header.withLock { $0 = next }
    }
  }

  /// Opens the volume of an upper directory, making it one if it is none.
  ///
  /// `header`: what the volume file says then, if not that it is a new volume.
  static func open(
    root: SharedDescriptor, readOnly: Bool, making header: VolumeHeader? = nil, lease: LeaseTimes? = nil,
    space: RecordSpace = RecordSpace()
  ) throws -> VolumeDirectory {
    let present = try find(in: root)
    // Refused before anything is made.
    let likely = try header ?? .fresh(recordsIn: space.choose(for: root))
    if let present {
      try requireTypes(in: present)
      if try storedHeader(in: present) == nil { try refuseUnknown(likely.namespace, in: root) }
      // Where the file was lost, the records were not: no lock goes with it.
      return try open(
        present, of: root, readOnly: readOnly, making: likely.withRecords, lease: lease, space: space)
    }
    // A plain directory mounted read-only: a volume without bookkeeping, whose records are still believed.
    if readOnly {
      try refusePlanted(likely.namespace, in: root)
      let opened = Opened(unheeded: try findUnheeded(likely.namespace, in: root))
      return VolumeDirectory(
        root: root, opened, header: likely.withRecords, lease: lease, space: space)
    }
    try makeBookkeeping(in: root)
    let directory = try openOwn(in: root)
    var lock: WriterLock?
    var isFresh = true
    do {
      // Before anybody waits for a former holder.
      try Workshop.requireSafeNames(in: directory)
      lock = try takeLock(in: directory, of: root, lease: lease)
      // The bookkeeping may have been moved away, or not been restored with the rest. Looked at with the lock held:
      // from here on records are written by this mount alone.
      var made = likely
      made.namespace = try space.choose(writingTo: directory)
      try refusePlanted(made.namespace, in: root)
      let mayHoldRecords = try holdsItems(root) || holdsRecord(root)
      if mayHoldRecords { made = made.withRecords }
      let unheeded = mayHoldRecords ? try findUnheeded(made.namespace, in: root) : nil
      // Unless another mount was faster, and has ended again.
      isFresh = try storedHeader(in: directory) == nil
      let volume = try open(
        directory, of: root, readOnly: false, making: made, lock: lock, lease: lease, space: space)
      volume.opened.withLock { ($0.isFresh, $0.unheeded) = (isFresh, unheeded) }
      return volume
    } catch {
      // The first failure is the one to tell.
      if isFresh { try? takeBack(directory, from: root, isLocked: lock != nil) }
      throw error
    }
  }

  private static func open(
    _ directory: SharedDescriptor, of root: SharedDescriptor, readOnly: Bool, making header: VolumeHeader,
    lock: WriterLock? = nil, lease: LeaseTimes?, space: RecordSpace
  ) throws -> VolumeDirectory {
    var opened = Opened(directory: directory, lock: lock)
    if readOnly {
      try refuseRepair(of: directory)
    } else if lock == nil {
      opened.lock = try takeLock(in: directory, of: root, lease: lease)
    }
    do {
      return try open(opened, of: root, readOnly: readOnly, making: header, lease: lease, space: space)
    } catch {
      // The next mount need not wait for one that did not come about.
      if lease != nil { _ = try? opened.lock?.end() }
      throw error
    }
  }

  private static func open(
    _ found: Opened, of root: SharedDescriptor, readOnly: Bool, making header: VolumeHeader,
    lease: LeaseTimes?, space: RecordSpace
  ) throws -> VolumeDirectory {
    var opened = found
    guard let directory = opened.directory else { throw Errno.stale }
    // There is no lease yet, and to look at the items may have taken long.
    let keep = { [lock = opened.lock] () throws(Errno) in _ = try lock?.keep() }
    try saying("the lock for writing cannot be kept") { () throws(Errno) in try keep() }
    let header = try readHeader(in: directory, readOnly: readOnly, making: header)
    try space.require(header.namespace, in: root)
    if !readOnly {
      try Workshop.requireSafeNames(in: directory)
      opened.workshop = try openWorkshop(in: directory, holdsLayers: header.isLayered, before: keep)
    }
    return VolumeDirectory(root: root, opened, header: header, lease: lease, space: space)
  }

  /// Refuses what `open` would refuse, in the same words, and changes nothing.
  static func check(
    root: SharedDescriptor, readOnly: Bool, saysLowers: Bool = true, space: RecordSpace = RecordSpace()
  ) throws {
    guard let directory = try find(in: root) else {
      try refusePlanted(space.choose(for: root), in: root)
      if !readOnly {
        try saying("'.varve' cannot be made there") { () throws(Errno) in
          try root.descriptor.requireChangeable()
        }
      }
      return
    }
    try requireTypes(in: directory)
    if readOnly {
      try refuseRepair(of: directory)
    } else {
      if case .held(let holder) = try use(of: directory) { throw mountedAlready(by: holder) }
      try saying(unwritable) { () throws(Errno) in try directory.descriptor.requireChangeable() }
    }
    guard let text = try storedHeader(in: directory) else {
      _ = try findNamespace(in: root, space: space)
      return
    }
    let header = try VolumeHeader(parsing: text)
    try header.checkFeatures(readOnly: readOnly)
    try space.require(header.namespace, in: root)
    try header.checkLayers(areSaid: saysLowers, readOnly: readOnly)
  }

  private static func makeBookkeeping(in root: SharedDescriptor) throws(VolumeFailure) {
    try saying("'.varve' cannot be made there") { () throws(Errno) in
      try root.descriptor.makeDirectory(try FileName(OwnDirectory.name), mode: 0o700)
    }
  }

  static let unwritable = "'.varve' cannot be written to"

  /// Puts words before the error of a system call.
  static func saying<Value>(
    _ words: String, _ work: () throws(Errno) -> Value
  ) throws(VolumeFailure) -> Value {
    do throws(Errno) {
      return try work()
    } catch {
      let advice = error == .readOnly ? "; '-o ro' mounts it to look at" : ""
      throw VolumeFailure("\(words): \(error)\(advice)")
    }
  }

  private static func refuseRepair(of directory: SharedDescriptor) throws(VolumeFailure) {
    // A file system without such locks is no reason not to mount.
    if let isShared = try? directory.descriptor.tryLockOpen(exclusive: false), !isShared {
      throw VolumeFailure("the volume is being repaired")
    }
  }

  /// Takes what a volume mounted read-only went without: the lock, the workshop, where there was none a volume file.
  ///
  /// `begin`: what else there is to do before anybody writes; where that fails, nothing was taken.
  ///
  /// - Returns: whether the volume has records, which is sure from now on; nil if there was nothing to take.
  func becomeWritable(_ begin: (_ recordsExist: Bool) throws -> Void = { _ in }) throws -> Bool? {
    guard workshop == nil else { return nil }
    let former = opened.withLock { $0 }
    // Where there is none, it keeps the identity it was mounted under.
    let fresh = try VolumeDirectory.open(
      root: root, readOnly: false, making: header.withLock { $0 }, lease: leaseTimes, space: space)
    // It may have been mounted writable in the meantime, and unmounted again.
    guard fresh.namespace == namespace else {
      throw VolumeFailure("its records are kept elsewhere by now; unmount and mount again")
    }
    let found = fresh.opened.withLock { $0 }
    opened.withLock { $0 = found }
    let next = fresh.header.withLock { $0 }
    header.withLock { $0 = next }
    do {
      try begin(next.recordsExist)
    } catch {
      // A writer without all of it would be none that the next attempt completes.
      let lease = opened.withLock { opened in
        defer { opened = former }
        return opened.lease
      }
      lease?.end()
      throw error
    }
    return next.recordsExist
  }

  private static func readHeader(
    in directory: SharedDescriptor, readOnly: Bool, making header: VolumeHeader
  ) throws -> VolumeHeader {
    guard let text = try storedHeader(in: directory) else {
      if !readOnly { try store(header, in: directory) }
      return header
    }
    let header = try VolumeHeader(parsing: text)
    try header.checkFeatures(readOnly: readOnly)
    if !readOnly, !VolumeHeader.hasChecksum(text), header.text.count <= VolumeHeader.longest {
      // Where there is no room for it, it is mounted as earlier versions mount it.
      try? store(header, in: directory)
    }
    return header
  }

  static func storedHeader(in directory: SharedDescriptor) throws(Errno) -> [UInt8]? {
    try BookkeepingFile.volume.read(in: directory)
  }

  /// Replaces the volume file so that a crash leaves the old one or the new one.
  static func store(_ header: VolumeHeader, in directory: SharedDescriptor) throws(Errno) {
    try BookkeepingFile.volume.replace(with: header.text, in: directory)
  }

  /// The workshop, empty but for replacements of content and changes of class that a crash interrupted.
  ///
  /// `holdsLayers`: whether anything in it may be more than unfinished. `before` each removal it is asked whether the lock is
  /// still there.
  private static func openWorkshop(
    in directory: SharedDescriptor, holdsLayers: Bool, before: () throws(Errno) -> Void
  ) throws(Errno) -> SharedDescriptor {
    let name = try FileName("work")
    do throws(Errno) {
      try directory.descriptor.makeDirectory(name, mode: 0o700)
    } catch .exists {
      // It was made by an earlier mount.
    }
    let workshop = SharedDescriptor(try directory.descriptor.open(name, [.readOnly, .directory]))
    if holdsLayers {
      try sweep(workshop, of: directory, before: before)
    } else {
      try Sweeper.empty(workshop: workshop, before: before)
    }
    try before()
    // What cannot be removed is in nobody's way, and a check names it.
    try? BookkeepingFile.removeTemporaries(in: directory)
    return workshop
  }
}
