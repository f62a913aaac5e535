// The lock of the mount that writes to a volume: how it is taken, and how it is seen that it is still there.
//
// On a file system of this machine the kernel keeps the lock as long as the file is open, and nothing else takes it away.
// On any other a server keeps it, and may lose it without a word: GlusterFS does when its bricks are restarted one by
// one. There the lock is a lease (`WriterLease`).

import LinuxFiles
import Synchronization

/// The lock file, open and locked, with our note in it.
final class WriterLock: Sendable {
  /// What a look at the lock came to.
  enum Finding: Equatable, Sendable {
    case confirmed
    /// The store does not answer, or not to the point.
    case unanswered(Errno)
    /// Another process has it at this moment, and has not said who it is.
    case taken
    /// Another process has it, or had it; it does not come back.
    case lost(String)
  }

  private struct State {
    var file: SharedDescriptor
    /// What we have written into it.
    var note: HolderNote
  }

  /// The upper directory, in which the directory of the lock has to have its name still.
  private let root: SharedDescriptor
  private let directoryInode: UInt64
  private let inode: UInt64
  // Held while the store is asked, which may take for ever.
  private let state: Mutex<State>
  /// For how long a confirmation is believed, in nanoseconds; nil where the lock cannot get lost.
  private let validity: UInt64?
  /// When the last confirmation was begun; 0: there was none.
  private let confirmedAt = Atomic<UInt64>(0)

  /// `note`: what the file says; `lease`: after how many seconds we stop without a confirmation.
  fileprivate init(
    _ file: SharedDescriptor, in directory: SharedDescriptor, of root: SharedDescriptor,
    _ note: HolderNote, lease: Int?
  ) throws(Errno) {
    self.root = root
    directoryInode = try directory.descriptor.knownStatus().inode
    inode = try file.descriptor.knownStatus().inode
    validity = lease.map { UInt64($0) * 1_000_000_000 }
    state = Mutex(State(file: file, note: note))
  }

  /// Looks whether the lock is still ours, and takes it again.
  func confirm() -> Finding {
    state.withLock { confirm(&$0) }
  }

  /// Confirms it anew where that was long ago, EBUSY where it cannot be: for what is changed before there is a lease.
  func keep() throws(Errno) {
    guard let validity else { return }
    let last = confirmedAt.load(ordering: .acquiring)
    guard last == 0 || Clock.nanosecondsSinceBoot >= last + validity / 2 else { return }
    switch confirm() {
    case .confirmed: return
    case .unanswered(let error): throw error
    case .taken, .lost: throw .busy
    }
  }

  private func confirm(_ state: inout State) -> Finding {
    let start = Clock.nanosecondsSinceBoot
    let finding: Finding
    do throws(Errno) { finding = try look(&state) } catch { finding = .unanswered(error) }
    if finding == .confirmed { confirmedAt.store(start, ordering: .releasing) }
    return finding
  }

  private func look(_ state: inout State) throws(Errno) -> Finding {
    guard let directory = try presentDirectory() else { return .lost("'.varve' was removed or replaced") }
    let name = try FileName("lock")
    let present: SharedDescriptor
    do throws(Errno) {
      // Opened anew: so the store shows what others have written.
      present = SharedDescriptor(try directory.descriptor.open(name, .readWrite))
    } catch .noSuchFile {
      return .lost("the lock file was removed")
    }
    let text = try present.descriptor.read(upTo: HolderNote.longest)
    guard text == state.note.text else {
      let other = HolderNote(text)?.holder()
      return .lost("\(VolumeUse.name(of: other)) has taken the lock")
    }
    guard try present.descriptor.status().inode == inode else { return .lost("the lock file was replaced") }
    let isOurs: Bool
    do throws(Errno) {
      isOurs = try state.file.descriptor.tryLockWhole(exclusive: true) == .locked
    } catch {
      // After a restart of its servers a store may know the open file no longer. To close it drops what is left of the
      // lock, and a mount that gets in between finds our note and waits.
      state.file = present
      isOurs = try present.descriptor.tryLockWhole(exclusive: true) == .locked
    }
    return isOurs ? .confirmed : .taken
  }

  /// The directory of the lock, found by its name: another one there is another volume, with a lock of its own.
  private func presentDirectory() throws(Errno) -> SharedDescriptor? {
    do throws(Errno) {
      let found = SharedDescriptor(try root.descriptor.openDirectoryPath(try FileName(OwnDirectory.name)))
      return try found.descriptor.status().inode == directoryInode ? found : nil
    } catch .noSuchFile, .notDirectory, .tooManySymbolicLinks {
      return nil
    }
  }

  /// Says that nobody writes under the present note any more: the next holder need not wait.
  ///
  /// Only of a note that is still there; false if it is not.
  func end() throws(Errno) -> Bool {
    try state.withLock { state throws(Errno) in
      guard confirm(&state) == .confirmed else { return false }
      state.note.end = .ended
      try WriterLock.write(state.note, to: state.file.descriptor)
      return true
    }
  }

  /// Says that its waiting is over; false if somebody else has taken the lock meanwhile.
  fileprivate func begin(lease: Int?) throws(Errno) -> Bool {
    try state.withLock { state throws(Errno) in
      guard lease == nil || confirm(&state) == .confirmed else { return false }
      (state.note.end, state.note.lease) = (.none, lease)
      try WriterLock.write(state.note, to: state.file.descriptor)
      return lease == nil || confirm(&state) == .confirmed
    }
  }

  fileprivate static func write(_ note: HolderNote, to file: borrowing Descriptor) throws(Errno) {
    guard note.lease != nil else { return try file.recordHolder(note.text) }
    // First: of a text that was written over in part, the rest could say that somebody has ended.
    try file.truncate(to: 0)
    try file.recordHolder(note.text)
    // Other machines are to see it.
    try file.sync()
  }
}

extension VolumeDirectory {
  enum Locking {
    /// `unsettled`: a former holder who may not know yet that the lock is gone.
    case taken(WriterLock, unsettled: FormerHolder?)
    case held(by: LockHolder)
  }

  enum LockPurpose {
    /// Also to repair.
    case mounting
    case looking
  }

  /// Takes the lock of a volume to write to it; where a former holder may still write, waits until it does not.
  static func takeLock(
    in directory: SharedDescriptor, of root: SharedDescriptor, lease: LeaseTimes?
  ) throws -> WriterLock {
    let taken = try saying(unwritable) { () throws(Errno) in
      try tryLock(in: directory, of: root, lease: lease)
    }
    switch taken {
    case .held(let holder): throw mountedAlready(by: holder)
    case .taken(let lock, unsettled: nil): return lock
    case .taken(let lock, unsettled: let former?):
      try settle(lock, after: former, lease)
      return lock
    }
  }

  static func settle(
    _ lock: WriterLock, after former: FormerHolder, _ lease: LeaseTimes?, usual: LeaseTimes = LeaseTimes()
  ) throws {
    let waiting = former.waiting(atLeast: (lease ?? usual).waiting)
    let reason =
      former.holder.process == nil
      ? "nothing says who had the volume for writing last, and that it was unmounted"
      : "the volume was not unmounted by \(VolumeUse.name(of: former.holder)), which had it for writing"
    Log.notice("\(reason); waiting \(waiting / 1_000) s, in which a mount that still has it gives up")
    let end = Clock.nanosecondsSinceBoot + UInt64(waiting) * 1_000_000
    while Clock.nanosecondsSinceBoot < end {
      guard !StopSignals.isPending else { throw VolumeFailure("it was asked to stop while it waited") }
      Clock.pause(milliseconds: 50)
    }
    let isOurs = try saying("the lock cannot be kept") { () throws(Errno) in
      try lock.begin(lease: lease.map(\.seconds))
    }
    guard isOurs else {
      throw VolumeFailure("another process has taken the lock meanwhile; try again")
    }
  }

  static func mountedAlready(by holder: LockHolder) -> VolumeFailure {
    VolumeFailure("the volume is mounted already, by \(VolumeUse.name(of: holder))")
  }

  /// Takes the lock of the volume, if nobody has it.
  ///
  /// For looking it is taken on a full disk without saying who has it. Only who mounts takes the place of a former holder
  /// who may still write.
  static func tryLock(
    in directory: SharedDescriptor, of root: SharedDescriptor, lease: LeaseTimes? = nil,
    for purpose: LockPurpose = .mounting
  ) throws(Errno) -> Locking {
    while true {
      let (file, isNew) = try openOrCreateLock(in: directory)
      guard try file.descriptor.tryLockWhole(exclusive: true) == .locked else {
        return .held(by: LockHolder(readFrom: file.descriptor))
      }
      let seconds = lease.map(\.seconds)
      var note = HolderNote(lease: seconds)
      let unsettled: FormerHolder?
      do throws(Errno) {
        // A mount that failed may have taken it away since it was opened.
        guard try file.descriptor.status().linkCount > 0 else { continue }
        unsettled = try VolumeDirectory.unsettled(
          file, in: directory, of: root, isNew: isNew, isLeased: lease != nil)
        if unsettled == nil || purpose == .mounting {
          if let unsettled {
            note.end = .waits
            // Whoever comes when this one is gone waits for both.
            if let former = unsettled.lease { note.lease = max(former, seconds ?? 0) }
          }
          try WriterLock.write(note, to: file.descriptor)
        }
      } catch {
        guard purpose != .looking || (error != .noSpace && error != .quotaExceeded) else {
          return .taken(
            try WriterLock(file, in: directory, of: root, note, lease: seconds), unsettled: nil)
        }
        if isNew { try? directory.descriptor.removeFile(try FileName("lock")) }
        throw error
      }
      return .taken(
        try WriterLock(file, in: directory, of: root, note, lease: seconds), unsettled: unsettled)
    }
  }

  /// Who may still write without the lock, which is ours by now.
  ///
  /// `isNew`: there was no lock file. Where a lock can get lost, it or all of '.varve' was removed then, perhaps while a mount
  /// used it; and a text that is no note was one once.
  private static func unsettled(
    _ file: SharedDescriptor, in directory: SharedDescriptor, of root: SharedDescriptor, isNew: Bool,
    isLeased: Bool
  ) throws(Errno) -> FormerHolder? {
    if isNew {
      guard isLeased else { return nil }
      if try storedHeader(in: directory) != nil { return FormerHolder() }
      return try root.descriptor.reopen([.readOnly, .directory]).holdsName(otherThan: OwnDirectory.bytes)
        ? FormerHolder() : nil
    }
    guard let former = HolderNote(try file.descriptor.read(upTo: HolderNote.longest)) else {
      return isLeased ? FormerHolder() : nil
    }
    return former.mayStillWrite(inStore: isLeased)
      ? FormerHolder(holder: former.holder(), lease: former.lease) : nil
  }

  private static func openOrCreateLock(
    in directory: SharedDescriptor
  ) throws(Errno) -> (SharedDescriptor, isNew: Bool) {
    let name = try FileName("lock")
    do throws(Errno) {
      return (SharedDescriptor(try directory.descriptor.createFile(name, mode: 0o600)), true)
    } catch .exists {
      return (SharedDescriptor(try directory.descriptor.open(name, .readWrite)), false)
    }
  }
}
