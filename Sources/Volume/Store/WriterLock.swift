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

  let note: HolderNote
  private let directory: SharedDescriptor
  private let inode: UInt64
  // Held while the store is asked, which may take for ever.
  private let file: Mutex<SharedDescriptor>

  fileprivate init(_ file: SharedDescriptor, in directory: SharedDescriptor, _ note: HolderNote) throws(Errno)
  {
    self.directory = directory
    self.note = note
    inode = try file.descriptor.knownStatus().inode
    self.file = Mutex(file)
  }

  /// Looks whether the lock is still ours, and takes it again.
  func confirm() -> Finding {
    file.withLock { file in
      do throws(Errno) { return try confirm(&file) } catch { return .unanswered(error) }
    }
  }

  private func confirm(_ file: inout SharedDescriptor) throws(Errno) -> Finding {
    let name = try FileName("lock")
    let present: SharedDescriptor
    do throws(Errno) {
      // Opened anew: so the store shows what others have written.
      present = SharedDescriptor(try directory.descriptor.open(name, .readWrite))
    } catch .noSuchFile {
      return .lost("the lock file was removed")
    }
    let text = try present.descriptor.read(upTo: HolderNote.longest)
    guard text == note.text else {
      let other = HolderNote(text)?.holder()
      return .lost("\(VolumeUse.name(of: other)) has taken the lock")
    }
    guard try present.descriptor.status().inode == inode else { return .lost("the lock file was replaced") }
    let isOurs: Bool
    do throws(Errno) {
      isOurs = try file.descriptor.tryLockWhole(exclusive: true) == .locked
    } catch {
      // After a restart of its servers a store may know the open file no longer. To close it drops what is left of the
      // lock, and a mount that gets in between finds our note and waits.
      file = present
      isOurs = try present.descriptor.tryLockWhole(exclusive: true) == .locked
    }
    return isOurs ? .confirmed : .taken
  }

  /// Says that nobody writes under the present note any more: the next holder need not wait.
  func end() throws(Errno) {
    var ended = note
    ended.end = .ended
    try write(ended)
  }

  fileprivate func write(_ note: HolderNote) throws(Errno) {
    try file.withLock { file throws(Errno) in try WriterLock.write(note, to: file.descriptor) }
  }

  fileprivate static func write(_ note: HolderNote, to file: borrowing Descriptor) throws(Errno) {
    try file.recordHolder(note.text)
    // Other machines are to see it.
    if note.lease != nil { try file.sync() }
  }
}

extension VolumeDirectory {
  enum Locking {
    /// `unsettled`: a former holder who may not know yet that the lock is gone.
    case taken(WriterLock, unsettled: LockHolder?)
    case held(by: LockHolder)
  }

  enum LockPurpose {
    case mounting
    case repairing
    case looking
  }

  /// Takes the lock of a volume to write to it; where a former holder may still write, waits until it does not.
  static func takeLock(in directory: SharedDescriptor, lease: LeaseTimes?) throws -> WriterLock {
    let taken = try saying(unwritable) { () throws(Errno) in try tryLock(in: directory, lease: lease) }
    switch taken {
    case .held(let holder): throw mountedAlready(by: holder)
    case .taken(let lock, unsettled: nil): return lock
    case .taken(let lock, unsettled: let former?):
      try settle(lock, after: former, lease)
      return lock
    }
  }

  private static func settle(_ lock: WriterLock, after former: LockHolder, _ lease: LeaseTimes?) throws {
    let times = lease ?? LeaseTimes()
    Log.notice(
      "the volume was not unmounted by \(VolumeUse.name(of: former)), which had it for writing; waiting "
        + "\(times.waiting / 1_000) s, in which it gives up if it still runs")
    let end = Clock.nanosecondsSinceBoot + UInt64(times.waiting) * 1_000_000
    while Clock.nanosecondsSinceBoot < end { Clock.pause(milliseconds: 50) }
    try saying("the lock cannot be kept") { () throws(Errno) in try lock.write(lock.note) }
    if lease != nil, lock.confirm() != .confirmed {
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
    in directory: SharedDescriptor, lease: LeaseTimes? = nil, for purpose: LockPurpose = .mounting
  ) throws(Errno) -> Locking {
    while true {
      let (file, isNew) = try openOrCreateLock(in: directory)
      guard try file.descriptor.tryLockWhole(exclusive: true) == .locked else {
        return .held(by: LockHolder(readFrom: file.descriptor))
      }
      var note = HolderNote(lease: lease.map { max(1, $0.validity / 1_000) })
      let unsettled: LockHolder?
      do throws(Errno) {
        // A mount that failed may have taken it away since it was opened.
        guard try file.descriptor.status().linkCount > 0 else { continue }
        unsettled = try VolumeDirectory.unsettled(file, in: directory, isMissing: isNew && lease != nil)
        if unsettled == nil || purpose == .mounting {
          if unsettled != nil { note.end = .waits }
          try WriterLock.write(note, to: file.descriptor)
        }
      } catch {
        guard purpose != .looking || (error != .noSpace && error != .quotaExceeded) else {
          return .taken(try WriterLock(file, in: directory, note), unsettled: nil)
        }
        if isNew { try? directory.descriptor.removeFile(try FileName("lock")) }
        throw error
      }
      note.end = .none
      return .taken(try WriterLock(file, in: directory, note), unsettled: unsettled)
    }
  }

  /// Who may still write without the lock, which is ours by now.
  ///
  /// `isMissing`: the lock file was not there. In a volume it was removed then, perhaps while a mount used it.
  private static func unsettled(
    _ file: SharedDescriptor, in directory: SharedDescriptor, isMissing: Bool
  ) throws(Errno) -> LockHolder? {
    if isMissing { return try storedHeader(in: directory) == nil ? nil : LockHolder() }
    guard let former = HolderNote(try file.descriptor.read(upTo: HolderNote.longest)),
      former.mayStillWrite()
    else { return nil }
    return former.holder()
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
