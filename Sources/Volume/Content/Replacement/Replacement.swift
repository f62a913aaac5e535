// The bytes of a file are replaced by the same content in another stored form: inode, links, mode, owner, list, flags,
// capability and modification time stay. A plain file becomes an encrypted or a compressed one, or the other way round.
//
// A file of a living inode cannot be replaced by rename, and bytes cannot be replaced in one step. So the new bytes are
// made beside it, in a work file, and are on the disk before the first old one is touched; from then on the change can
// only go forward, without a key, whatever happens.
//
//   step                                                              undone by        who
//   1  the new bytes, and a trailer, in a file that is swept          the next sweep   `prepare`: no lock; may take long,
//      fsync; renamed to r-INODE-GENERATION; fsync of work/                            may be interrupted
//   2  nobody has the file, and it is unchanged since 1 began;        `undo`           `begin`: with the lock of the node,
//      a lease; the record gets b10 "replacing"; fsync;                                exclusive
//      room reserved
//   3  the bytes copied over the file; cut to size; mode, capability  nothing          `copyOver`: no lock; who opens the
//      and mtime given back; fsync                                                     file, or changes what is given
//                                                                                      back, waits for it (`settling`)
//   4  the form's part of the final record, b10 off; fsync            nothing          `settle`: with the lock again
//   5  the work file is removed; fsync of work/                       nothing          (`takeAway`)
//
// What a crash, or an error, leaves:
//
//   where            the file                      the work file      then
//   in 1             as it was                     t-N                swept by the next mount
//   after 1          as it was                     r-, whole          no b10: removed by the next mount
//   2, before b10    as it was                     r-, whole          the same
//   2, from b10 on   old bytes, perhaps without    r-, whole          a crash: redone from 3. An error: undone, and if
//                    capability and set-id bits                       that fails, redone
//   in 3             a mixture, b10                r-, whole          redone from 3
//   after 3          new bytes, b10                r-, whole          the same, with the same result
//   after 4          new bytes, no b10             r-, whole          removed by the next mount
//
// From b10 on the record says which size and time of modification programs saw; they go on seeing those.
//
// "Redone" is at the next mount (`ReplacementSite.recover`), in a repair (`VolumeInspection.finishReplacement`), or when somebody
// opens the file, or changes what 3 gives back (`halfReplaced`). No room, or EIO, in 3 or 4: the caller hears of it, and b10 stays. A record that says protected stands over
// plaintext only with b10, which keeps everybody away. Bytes that are written over are not erased: where they were on the
// disk, and where a file system puts new bytes elsewhere, old plaintext can be found until that room is used again.
//
// Room is reserved after b10, not before: fallocate(2) takes away capability and set-id bits, and moves mtime, as a write
// does. The lease is taken because a mapping outlives its descriptor and would see garbage, or SIGBUS. One at
// the beginning of 1, given up at once, makes sure that nobody has a mapping then: the pages of one that was there before
// could change without moving the change time. A compressed file that is expanded needs none: nobody but us has its bytes,
// and who reads it through the volume is sent to the work file before the first byte changes (`CompressedFile`).
//
// For `varve protect` and `varve compress`, and for what expands a compressed file: it is killed, and its disk fills up, in each
// of these steps (`ReplacementTests`, SEMANTICS 17 and 21).

import LinuxFiles
import RecordFormat
import Synchronization

/// Where work files are made, and how records are read and written; one for each mounted volume.
final class ReplacementSite: Sendable {
  private let directory: VolumeDirectory
  let store: MetadataStore
  /// The work files of this process: two replacements of one file would take each other's away.
  private let underWay = Mutex<Set<[UInt8]>>([])
  /// How many files are written over at this moment.
  let writing = Atomic(0)

  /// Whether the volume may be written to at this moment.
  let mayWrite: @Sendable () -> Bool
  /// Whether the lock for writing is not confirmed at this moment; also asked while the volume becomes writable.
  let lacksLock: @Sendable () -> Bool
  /// Whether bytes are written with the ids of the file's owner, so that they take no room that is kept for root.
  private let writesAsOwner: Bool

  init(
    of directory: VolumeDirectory, store: MetadataStore, writesAsOwner: Bool = false,
    lacksLock: @escaping @Sendable () -> Bool = { false },
    mayWrite: @escaping @Sendable () -> Bool = { true }
  ) {
    (self.directory, self.store, self.mayWrite, self.lacksLock) = (directory, store, mayWrite, lacksLock)
    self.writesAsOwner = writesAsOwner
  }

  /// Runs what takes room for the content of a file, as all that is written through the mount (`Volume.actAsOwner`).
  func asOwner<R>(user: UInt32, group: UInt32, _ work: () throws(Errno) -> R) throws(Errno) -> R {
    guard writesAsOwner else { return try work() }
    // What comes next is for the daemon itself; and so is this, where an id has no meaning for it.
    defer { try? ThreadIdentity.become(user: 0, group: 0) }
    do throws(Errno) { try ThreadIdentity.become(user: user, group: group) } catch {
      // The thread may still act for somebody else.
      try? ThreadIdentity.become(user: 0, group: 0)
    }
    return try work()
  }

  /// Before each part of what takes long: EROFS when the lock was lost meanwhile, and another mount may be at work.
  func requireLock() throws(Errno) {
    if lacksLock() { throw .readOnly }
  }

  /// Removes work files that came to nothing; without the lock they may be another mount's by now.
  func discard(_ names: [[UInt8]], in workshop: SharedDescriptor) {
    guard !lacksLock() else { return }
    for name in names {
      do throws(Errno) {
        try ReplacementFiles.remove(name, from: workshop)
      } catch .noSuchFile {
        // The other name, then.
      } catch {
        Log.error("a work file stays until the next mount: \(error)")
      }
    }
  }

  /// Whether another mount may replace content at any moment, which this one may not.
  var mayBeAtWorkElsewhere: Bool { !mayWrite() && directory.mayHaveWriter(lackingLock: lacksLock()) }

  /// Whether another mount replaces the content of a file just now: it has the work file locked.
  func isAtWorkElsewhere(on object: SharedDescriptor) -> Bool {
    guard mayBeAtWorkElsewhere else { return false }
    do throws(Errno) {
      guard let workshop = try directory.workshopOfWriter() else { return false }
      let work = try ReplacementFiles.find(try object.descriptor.status().workName, in: workshop)
      return try work?.descriptor.isLockedExclusively() ?? false
    } catch {
      return false
    }
  }

  /// Whether there is such a mount now.
  var hasWriterElsewhere: Bool { mayBeAtWorkElsewhere && directory.hasWriter }

  /// Not while the volume is mounted read-only.
  var hasWorkshop: Bool { directory.workshop != nil }

  /// EROFS while the volume is mounted read-only.
  func workshop() throws(Errno) -> SharedDescriptor {
    guard let workshop = directory.workshop else { throw .readOnly }
    return workshop
  }

  /// For one recovery.
  var indexedFiles: IndexedFiles { IndexedFiles(of: directory) }

  /// Whether this process makes or copies the new content of a work file just now.
  func isAtWork(on name: [UInt8]) -> Bool { underWay.withLock { $0.contains(name) } }

  fileprivate func enter(_ name: [UInt8]) -> Bool { underWay.withLock { $0.insert(name).inserted } }
  fileprivate func leave(_ name: [UInt8]) { _ = underWay.withLock { $0.remove(name) } }
}

/// The file whose content is to be replaced.
struct ReplacedFile: Sendable {
  /// Leads to the file (O_PATH).
  ///
  /// A descriptor that is open would be in the way of the lease, and so would one that the daemon keeps of a file that was
  /// closed.
  let object: SharedDescriptor
  /// From the root of the volume; where the file is looked for after a crash.
  let path: [UInt8]
  let present: StoredRecord
  /// The record afterwards, of which the form of the content is taken over and nothing else.
  let final: CoreRecord
}

/// Who follows a replacement, and may stop it while it has changed nothing.
struct ReplacementWatch {
  var isInterrupted: () -> Bool = { false }
  /// Bytes of content that are done, of all of them.
  var progress: (_ done: UInt64, _ total: UInt64) -> Void = { _, _ in }
  /// Where the work file is made.
  var site: ReplacementSite?

  func report(_ done: UInt64, of total: UInt64) throws(Errno) {
    try site?.requireLock()
    progress(done, total)
    if isInterrupted() { throw .interrupted }
  }
}

/// One replacement under way.
///
/// Let go of before `begin` has succeeded it leaves nothing behind.
struct Replacement: ~Copyable {
  enum Phase {
    /// The work file is nobody's.
    case prepared
    /// The file may have b10: the work file stays, whatever happens.
    case begun
    case done
  }

  let site: ReplacementSite
  private let workshop: SharedDescriptor
  let file: ReplacedFile
  /// As it was before the first byte was read.
  let before: FileStatus
  let trailer: ReplacementTrailer
  /// Has the new bytes; what is behind them is the trailer.
  let workFile: SharedDescriptor
  private let needsFileAlone: Bool
  private(set) var phase = Phase.prepared
  /// From `begin` on.
  private var half: HalfReplaced?

  /// Step 1: makes the new bytes; changes nothing of the file.
  ///
  /// EBUSY while anybody has it open or mapped, or while it changes; EINTR if `watch` says so; whatever reading it in its
  /// present form says.
  static func prepare(
    _ file: ReplacedFile, as body: NewBody, at site: ReplacementSite,
    watch: ReplacementWatch = ReplacementWatch()
  ) throws(Errno) -> Replacement {
    let workshop = try site.workshop()
    var watch = watch
    watch.site = site
    let status = try file.object.descriptor.status()
    guard status.kind == .regular else { throw .invalid }
    let name = status.workName
    guard site.enter(name) else { throw .busy }
    do throws(Errno) {
      guard body.replaces(file.present.core) else { throw .invalid }
      let before = try settledStatus(of: file.object, watch)
      // What is written into its place later must be what it was: whatever changed it after it was read, and before this
      // status, does not move the change time any more.
      guard try site.record(of: file.object).core == file.present.core else { throw .busy }
      // In this order: whoever maps it from now on, and changes it, moves the change time.
      if body.needsFileAlone { _ = try openForReading(file.object, alone: true) }
      let source = try openForReading(file.object, alone: false)
      let made = try ReplacementFiles.make(in: workshop)
      let trailer: ReplacementTrailer
      do throws(Errno) {
        trailer = try site.asOwner(user: before.user, group: before.group) { () throws(Errno) in
          try write(body, of: file, from: source, before, to: made.file, watch)
        }
        try site.requireLock()
      } catch {
        // It is swept in any case.
        site.discard([made.name], in: workshop)
        throw error
      }
      do throws(Errno) {
        try ReplacementFiles.publish(made.file, made.name, as: name, in: workshop)
      } catch {
        // Whichever name it has by now.
        site.takeAway(workFile: made.file, [name, made.name], from: workshop)
        throw error
      }
      return Replacement(
        site: site, workshop: workshop, file: file, before: before, trailer: trailer, workFile: made.file,
        needsFileAlone: body.needsFileAlone)
    } catch {
      site.leave(name)
      throw error
    }
  }

  private init(
    site: ReplacementSite, workshop: SharedDescriptor, file: ReplacedFile, before: FileStatus,
    trailer: ReplacementTrailer, workFile: SharedDescriptor, needsFileAlone: Bool
  ) {
    self.needsFileAlone = needsFileAlone
    (self.site, self.workshop, self.file) = (site, workshop, file)
    (self.before, self.trailer, self.workFile) = (before, trailer, workFile)
  }

  deinit {
    if case .prepared = phase { site.takeAway(workFile: workFile, [trailer.name], from: workshop) }
    site.leave(trailer.name)
  }

  /// Fills the work file.
  private static func write(
    _ body: NewBody, of file: ReplacedFile, from source: SharedDescriptor, _ before: FileStatus,
    to work: SharedDescriptor, _ watch: ReplacementWatch
  ) throws(Errno) -> ReplacementTrailer {
    let capability = try capability(of: source.descriptor)
    // Only root could give it back.
    guard capability.isEmpty || CurrentProcess.isRoot else { throw .notPermitted }
    let sizes = try body.write(from: source, size: before.size, to: work, watch)
    guard isUnchanged(try file.object.descriptor.status(), since: before) else { throw .busy }
    var record = file.present.core.withForm(of: file.final)
    if case .compressing = body { record.noteCompressed(size: sizes.seen) }
    let trailer = ReplacementTrailer(
      body.form, inode: before.inode, generation: before.workGeneration, mode: before.mode,
      user: before.user, group: before.group,
      modified: .init(
        seconds: before.modification.seconds, nanoseconds: before.modification.nanoseconds),
      storedSize: sizes.stored, size: sizes.seen, record: record,
      capability: capability,
      path: file.path.count <= ReplacementTrailer.longestPath ? file.path : [])
    // A final record that does not go with the body, for one.
    guard let bytes = trailer.encoded() else { throw .invalid }
    try work.descriptor.writeAll(bytes, at: try Int64(checking: sizes.stored))
    return trailer
  }

  /// Step 2, with the lock of the node: from here on the file has new bytes, or will have them; or, on an error, it is as
  /// it was.
  ///
  /// `isInUse`: whether there is a handle, or was one for writing since `prepare` began (on tmpfs what is written through
  /// a mapping need not move the change time). EBUSY if so, if anybody else has the file open or mapped, or if it has changed;
  /// ENOSPC if there is no room for the new bytes beside the work file.
  mutating func begin(isInUse: () -> Bool) throws(Errno) {
    guard case .prepared = phase, !isInUse() else { throw .busy }
    try site.requireLock()
    let opened = try ReplacementSite.open(file.object, alone: needsFileAlone)
    guard try Replacement.isUnchanged(opened.descriptor.status(), since: before) else { throw .busy }
    phase = .begun
    do throws(Errno) {
      try site.store.write(
        file.present.core.whileReplacing(by: trailer), list: .keep, over: file.present,
        to: opened.descriptor)
      try opened.descriptor.sync()
      try site.asOwner(user: trailer.user, group: trailer.group) { () throws(Errno) in
        try SparseCopy.reserve(trailer.storedSize, of: workFile.descriptor, in: opened.descriptor)
      }
    } catch {
      undo(opened)
      throw error
    }
    half = HalfReplaced(opened, from: workFile, trailer, at: site)
  }

  /// Step 3, with no lock; on an error b10 stays.
  func copyOver() throws(Errno) {
    guard let half else { throw .invalid }
    try site.copyOver(half)
  }

  /// Steps 4 and 5, with the lock of the node; on an error b10 stays.
  mutating func settle(whenSettled: () -> Void = {}) throws(Errno) {
    guard case .begun = phase, let half else { throw .invalid }
    // Whatever comes of it, the file is not held any longer.
    defer { self.half = nil }
    try site.settle(half, whenSettled: whenSettled)
    phase = .done
  }

  /// Makes it as if step 2 had not begun; where that cannot be had, the work file stays.
  private mutating func undo(_ opened: SharedDescriptor) {
    do throws(Errno) {
      try site.requireLock()
      // Gives back the room behind the end.
      if trailer.storedSize > before.size { try opened.descriptor.truncate(to: before.size) }
      try site.giveBack(trailer, to: opened.descriptor)
      try site.store.write(file.present.core, list: .keep, over: file.present, to: opened.descriptor)
      try opened.descriptor.sync()
      guard try !site.record(of: opened).core.isReplacing else { return }
      phase = .prepared
    } catch {
      Log.error("the content of inode \(before.inode) will be replaced when it is opened: \(error)")
    }
  }
}

extension Replacement {
  /// `alone`: for as long as the descriptor lives, which cannot give its lease back in another way under every identity.
  private static func openForReading(
    _ object: SharedDescriptor, alone: Bool
  ) throws(Errno) -> SharedDescriptor {
    do throws(Errno) {
      let opened = SharedDescriptor(try object.descriptor.reopen([.readOnly, .nonBlocking]))
      if alone { try ReplacementSite.leaseAlone(opened.descriptor) }
      return opened
    } catch {
      throw error == .again ? .busy : error
    }
  }

  /// The status of a file that was left alone for longer than a tick of the clock: any later change shows in it.
  private static func settledStatus(
    of object: SharedDescriptor, _ watch: ReplacementWatch
  ) throws(Errno) -> FileStatus {
    // File systems that keep whole seconds need up to two.
    for _ in 0..<500 {
      let status = try object.descriptor.status()
      if status.isSettled { return status }
      if watch.isInterrupted() { throw .interrupted }
      Clock.pause(milliseconds: 5)
    }
    throw .busy
  }

  static func isUnchanged(_ status: FileStatus, since before: FileStatus) -> Bool {
    status.change == before.change && status.modification == before.modification
      && status.size == before.size && status.inode == before.inode
  }

  private static func capability(of file: borrowing Descriptor) throws(Errno) -> [UInt8] {
    // Not every file system knows attributes of this kind; those that do name them.
    let name = Array("security.capability".utf8)
    guard try file.attributeNames().contains(name) else { return [] }
    return try file.attribute(try AttributeName("security.capability")) ?? []
  }
}

extension FileStatus {
  var workGeneration: UInt32 { ReplacementTrailer.generation(ofBirth: birthTime) }

  /// The name of the work file of a replacement of this file.
  var workName: [UInt8] { ReplacementTrailer.name(inode: inode, generation: workGeneration) }
}
