// The content of one encrypted file of the volume, for all its handles; it comes and goes with the key.
//
// Every request that wants bytes goes through `using`: it is counted first, and then the class is asked. So a lock that
// has closed the class and waits until nobody is counted knows that no key is in use any more: all four are sequentially
// consistent.

import Decisions
import LinuxFiles
import SealedFormat
import Synchronization

/// The content of an encrypted file.
final class SealedObject: EncryptedContent {
  let context: SealedContext
  let state = Mutex(State())
  /// One request reads the header; held while it does.
  private let loading = Mutex(())
  /// Held by ``arriving(_:)``.
  private let arrivals = Mutex(())
  /// Held by ``ending(_:)``; taken after the lock of the node.
  let endings = Mutex(())
  private let atWork = Atomic(0)

  /// `former`: what was kept of it when it was let go of.
  init(_ context: SealedContext, after former: FormerContent? = nil) {
    self.context = context
    guard let former else { return }
    state.withLock { ($0.seen, $0.wasDoubtful) = (former.seen, former.wasDoubtful) }
  }

  var head: KnownHead? {
    // What was read while another mount could write is asked of the file itself.
    guard let file = state.withLock({ $0.readAt == nil ? $0.file : nil }),
      file.mustStay || !context.mayBeWrittenElsewhere
    else { return nil }
    return KnownHead(protection: context.protection, size: file.size, isMarked: context.isMarked)
  }

  /// Leads to the backing file; nil while nobody uses it.
  var way: SharedDescriptor? { state.withLock { $0.way } }

  var hasUsers: Bool { state.withLock { $0.users > 0 } }

  var isAtRest: Bool { state.withLock { $0.users == 0 && $0.file.map { !$0.mustStay } ?? false } }

  /// What has to be known of it if nobody uses it, nothing of it is in memory, and no lock has to tell of it.
  var left: (seen: Timestamp, wasDoubtful: Bool)? {
    state.withLock { state in
      // Without a way its last close is over.
      guard state.users == 0, state.file == nil, state.way == nil, state.abandoned == nil, !state.owesReport,
        let seen = state.seen
      else { return nil }
      return (seen, state.wasDoubtful)
    }
  }

  /// The content, while its key is in memory.
  var present: SealedFile<BackingStore>? { state.withLock { $0.file } }

  /// Whether a request is at work on it.
  var isBusy: Bool { atWork.load(ordering: .sequentiallyConsistent) > 0 }

  // MARK: Users

  /// Runs what makes somebody a user, and has the kernel drop the pages of a file that is not what it was.
  ///
  /// One at a time, and without a user nobody has pages that the kernel would wait for. Were an opener told to drop them,
  /// another could write meanwhile: the kernel lets go of a page that it is about to send, and keeps what it reads in its
  /// place before that arrives.
  func arriving<R, Failure>(_ work: () throws(Failure) -> R) throws(Failure) -> R {
    try arrivals.withLock { (_) throws(Failure) in try work() }
  }

  /// One more user, who brings a way to the file in case there is none; within ``arriving(_:)``.
  ///
  /// Answers whether nobody has changed the file but by this object, as far as `changed`, its change time now, tells. If
  /// somebody has, its pages have to go.
  func join(
    _ descriptor: SharedDescriptor, changed: Timestamp, now: UInt64 = Clock.monotonicNanoseconds
  ) -> Bool {
    let (isKnown, outdated): (Bool, SealedFile<BackingStore>?) = state.withLock { state in
      // A last close may be on its way that has not taken note of our own changes, or has not written the last slot.
      let isOurs = state.file.map { $0.mustStay || $0.store.wasTouched } ?? false
      let mayBeOutdated = state.users == 0 || context.mayBeWrittenElsewhere && state.file?.mustStay != true
      let isKnown = !mayBeOutdated || state.seen == nil || state.seen == changed || isOurs
      var outdated: SealedFile<BackingStore>?
      // What rested for long may have been synced with all else on the machine: then a sync comes before its next change.
      let isLate = state.users == 0 && now >= state.changedAt &+ LeftStates.lifetime
      let isForgotten = isLate && state.file.map { $0.isChanged && !$0.mustStay && !isOurs } ?? false
      if !isKnown || isForgotten { swap(&outdated, &state.file) }
      if mayBeOutdated { state.seen = changed }
      state.users += 1
      state.isResting = false
      // Who found it open has got the way that was there, whatever they will do.
      if state.way?.isWritable != true, state.way == nil || descriptor.isWritable { state.way = descriptor }
      state.file?.store.wake(by: descriptor)
      return (isKnown, outdated)
    }
    _ = outdated
    return isKnown
  }

  /// A user is gone; whether it was the last.
  func leave() -> Bool {
    state.withLock { state in
      state.users -= 1
      return state.users == 0
    }
  }

  /// Runs what is done when the file, or its key, is let go of: by a last close, a lock, or the end of a session.
  ///
  /// One at a time: what one of them still has to write or to sync needs the way that another would take away.
  func ending<R: Sendable, Failure>(_ work: () throws(Failure) -> R) throws(Failure) -> R {
    try endings.withLock { (_) throws(Failure) in try work() }
  }

  /// Whether nobody writes to it, and the file itself says what was written last.
  var isSettled: Bool {
    let (file, isUsed) = state.withLock { ($0.file, $0.users > 0) }
    guard let file else { return true }
    return !file.mustStay && !(isUsed && file.isChanged)
  }

  /// Takes the file for known as it is now, if it was changed here: what others did meanwhile is not.
  ///
  /// Within ``ending(_:)``.
  func noteSeen() {
    guard
      let (file, way) = state.withLock({ state in state.file.flatMap { file in state.way.map { (file, $0) } }
      }),
      file.store.takeTouched()
    else { return }
    let changed = try? way.descriptor.status().change
    let now = Clock.monotonicNanoseconds
    state.withLock {
      ($0.seen, $0.changedAt) = (changed ?? Timestamp(seconds: 0, nanoseconds: 0), now)
    }
  }

  /// Lets go of the backing file, if nobody has come meanwhile.
  ///
  /// Within ``ending(_:)``.
  func rest() {
    let closed: (SharedDescriptor?, SharedDescriptor?)? = state.withLock { state in
      // Another user may have come and gone, who is about to write the last slot.
      guard state.users == 0, !(state.file?.mustStay ?? false) else { return nil }
      defer { state.way = nil }
      return (state.way, state.file?.store.rest())
    }
    _ = closed
  }

  /// The number of a rest that begins, for which the keeper should take it among those that nobody uses.
  func beginRest() -> UInt64? {
    state.withLock { state in
      guard state.users == 0, state.file != nil, !state.isResting else { return nil }
      state.isResting = true
      state.rests += 1
      return state.rests
    }
  }

  /// Forgets the key, unless the file is in use or something of it must not be forgotten.
  ///
  /// `rest`: unless it has been used since that one, too. False if something has to be remembered that the file itself
  /// does not say.
  @discardableResult
  func forgetUnused(ofRest rest: UInt64? = nil) -> Bool {
    let (file, isDone): (SealedFile<BackingStore>?, Bool) = state.withLock { state in
      guard state.users == 0, rest == nil || rest == state.rests, let file = state.file else {
        return (nil, true)
      }
      guard !file.mustStay else { return (nil, false) }
      state.isResting = false
      defer { state.file = nil }
      // Who reads it from now on is no change that anybody has to know of.
      if let seen = state.seen, !file.store.wasTouched, let left = file.leftState {
        context.keeper.left.keep(left, of: context.inode, seen: seen, changed: state.changedAt)
      }
      return (file, true)
    }
    _ = file
    return isDone
  }

  // MARK: Requests

  /// Runs a request about the bytes; ENOKEY where the class is locked.
  func using<R>(
    _ use: ContentUse, _ work: (SealedFile<BackingStore>) throws(Errno) -> R
  ) throws(Errno) -> R {
    atWork.add(1, ordering: .sequentiallyConsistent)
    defer { atWork.subtract(1, ordering: .releasing) }
    guard mayServe(use) else {
      // Pages that a program wrote, and nobody will bring again.
      if use == .writeBack { state.withLock { $0.lose() } }
      throw .noKey
    }
    noteUse()
    return try work(try loaded())
  }

  /// Opens the content for an opener whose rights were decided about, who hears now what is wrong with the file.
  func open() throws(Errno) {
    atWork.add(1, ordering: .sequentiallyConsistent)
    defer { atWork.subtract(1, ordering: .releasing) }
    noteUse()
    // A class that is closed meanwhile gives no key out; a file without bytes needs none.
    _ = try loaded()
  }

  /// Pages that a lock has made the kernel bring could not be written, and nobody will bring them again.
  func noteLostPages() {
    if context.keeper.keyring.state(of: context.format) != .open { state.withLock { $0.lose() } }
  }

  /// How often something that was written could not be brought to the disk.
  var losses: UInt64 { state.withLock { $0.losses } }

  /// Whether there is such a loss that no lock has told of; from now on one has.
  func takeLossReport() -> Bool {
    state.withLock { state in
      defer { state.owesReport = false }
      return state.owesReport
    }
  }

  /// Files of this class that are open when it is locked stay so, and files that are made while it is.
  var isOpenUnlessOpen: Bool {
    context.protection == .completeUnlessOpen && state.withLock { $0.file != nil && $0.users > 0 }
  }

  /// A mount that only reads may have been overtaken by one that writes: what it knows of a file counts while that is
  /// unchanged, and not for writing.
  private func forgetOutdated() throws(Errno) {
    let mayBeWritten = context.mayBeWrittenElsewhere
    let (readAt, way) = state.withLock { ($0.readAt, $0.way) }
    guard mayBeWritten || readAt != nil else { return }
    var present: Timestamp??
    if mayBeWritten {
      guard let way else { throw .stale }
      let status = try way.descriptor.status()
      if let readAt, readAt == status.change { return }
      present = .some(status.isSettled ? status.change : nil)
    }
    var outdated: SealedFile<BackingStore>?
    state.withLock { state in
      // What this mount wrote itself, and owes, nobody else can have overtaken.
      if state.file?.mustStay != true { (outdated, state.file, state.readAt) = (state.file, nil, present) }
    }
    _ = outdated
  }

  private func loaded() throws(Errno) -> SealedFile<BackingStore> {
    let known = state.withLock { $0.readAt == nil ? $0.file : nil }
    if let known, !context.mayBeWrittenElsewhere { return known }
    try forgetOutdated()
    return try loading.withLock { (_) throws(Errno) in
      let (present, way, seen) = state.withLock { ($0.file, $0.way, $0.seen) }
      if let present { return present }
      let locks = context.keeper.keyring.epoch
      guard let way else { throw .stale }
      try requireAlone()
      let file = try opened(BackingStore(way, live: context.keeper.live), seen)
      // Another mount may have changed it.
      if let found = file.foundClass, found != context.format { context.protection = ProtectionClass(found) }
      let isFound = file.isDoubtful
      let (isLate, isNew) = state.withLock { state -> (Bool, Bool) in
        // A lock that did not wait for the disk has let go of the file already.
        let keyring = context.keeper.keyring
        guard keyring.epoch == locks || keyring.state(of: context.format) == .open else {
          return (true, false)
        }
        state.file = file
        defer { state.wasDoubtful = state.wasDoubtful || isFound }
        return (false, isFound && !state.wasDoubtful)
      }
      guard !isLate else { throw .noKey }
      if isNew { context.keeper.countDoubtful() }
      return file
    }
  }

  /// Refuses to open the file a second time: the request that still has it would write over what is written now.
  private func requireAlone() throws(Errno) {
    guard state.withLock({ $0.abandoned == nil }) else { throw .inputOutput }
  }

  private func opened(
    _ store: BackingStore, _ seen: Timestamp?
  ) throws(Errno) -> SealedFile<BackingStore> {
    let keeper = context.keeper
    let left = keeper.left.take(context.inode, seen: seen)
    do throws(Errno) {
      return try SealedFile(store, in: context, budget: keeper.budget, left: left)
    } catch .noMemory {
      // Keys of files that nobody has open take room that somebody needs.
      keeper.endRest()
      return try SealedFile(store, in: context, budget: keeper.budget, left: left)
    }
  }

  /// Brings to the disk what was written; without a key there is nothing left to bring, and ``losses`` says what was not.
  ///
  /// A lock that has closed the class brings it by itself, and waits for requests: so this one is not counted, and waits
  /// for the lock.
  func synchronize(dataOnly: Bool) throws(Errno) {
    let end = Clock.monotonicNanoseconds + SealedObject.patience
    while let file = state.withLock({ $0.file }) {
      if try synchronize(file, dataOnly: dataOnly) { return }
      guard Clock.monotonicNanoseconds < end else { throw .inputOutput }
      Clock.pause(milliseconds: 1)
    }
  }

  /// Longer than a lock may take to let go of a file.
  private static let patience: UInt64 = 25_000_000_000

  /// Whether it was let.
  private func synchronize(_ file: SealedFile<BackingStore>, dataOnly: Bool) throws(Errno) -> Bool {
    atWork.add(1, ordering: .sequentiallyConsistent)
    defer { atWork.subtract(1, ordering: .releasing) }
    guard mayServe(.writeBack) else { return false }
    try file.synchronize(dataOnly: dataOnly)
    return true
  }

  /// Makes the file empty, also one whose header nobody can read.
  func makeEmpty() throws(Errno) {
    atWork.add(1, ordering: .sequentiallyConsistent)
    defer { atWork.subtract(1, ordering: .releasing) }
    try loading.withLock { (_) throws(Errno) in
      try requireAlone()
      try forgetOutdated()
      let (file, way) = state.withLock { ($0.file, $0.way) }
      if let file {
        do throws(Errno) { return try file.truncate(to: 0) } catch {
          // Damage to what goes is none.
          guard error == .inputOutput, !file.isChanged else { throw error }
          state.withLock { $0.file = nil }
        }
      }
      guard let way else { throw .stale }
      try BackingStore(way, live: context.keeper.live).cut(to: 0)
    }
  }
}
