// The lock of a volume as a lease: it is taken again every few seconds, and while that is not confirmed nothing is changed.
//
// A thread of its own asks the store, and may hang as long as the store does. What counts is the end of the lease, which
// each decision compares with the clock (`LiveOptions`): a daemon or a machine that slept changes nothing when it wakes up,
// whichever of its threads wakes up first.
//
// For upper directories on other machines, where a lock can get lost without a word: a holder that could not confirm it must not
// write beside the next one (docs/design/stores.md).

import LinuxFiles
import Synchronization

/// Keeps the lock of one volume.
final class WriterLease: Sendable {
  private enum Standing: Equatable {
    case held
    case doubtful(String)
    case lost(String)
  }

  private let lock: WriterLock
  private let live: LiveOptions
  private let times: LeaseTimes
  private let standing = Mutex(Standing.held)
  /// Rung to ask the store.
  private let question = Bell()
  private let isAsking = Atomic(false)
  private let hasEnded = Atomic(false)

  /// Begins the lease, and the threads that keep it.
  init(of lock: WriterLock, takenAt start: UInt64, _ live: LiveOptions, _ times: LeaseTimes) throws(Errno) {
    (self.lock, self.live, self.times) = (lock, live, times)
    live.beginLease(until: start + UInt64(times.validity) * 1_000_000)
    let question = question
    _ = try PlainThread(name: "varve-lease") { [weak self] in
      while true {
        question.wait()
        guard let self, !self.hasEnded.load(ordering: .acquiring) else { return }
        self.confirm()
        self.isAsking.store(false, ordering: .releasing)
      }
    }
    _ = try PlainThread(name: "varve-lease-end") { [weak self] in
      while let pause = self?.watch() { Clock.pause(milliseconds: pause) }
      question.ring()
    }
  }

  /// Has the store asked if it is time, says what has changed; how long to sleep, nil at the end.
  private func watch() -> UInt32? {
    guard !hasEnded.load(ordering: .acquiring) else { return nil }
    if !isAsking.exchange(true, ordering: .acquiringAndReleasing) { question.ring() }
    if live.isLeaseOver { tell(standing.withLock { doubt("the store does not answer", &$0, isVague: true) }) }
    return UInt32(times.renewal)
  }

  /// What the log is told.
  private enum Change {
    case confirmed
    case doubted(String)
    case lost(String)
  }

  private func confirm() {
    // Before the store is asked: what it answers was true then at the earliest.
    let start = Clock.nanosecondsSinceBoot
    // Who has lost it once does not know what others have changed since.
    if case .lost = standing.withLock({ $0 }) { return }
    let finding = lock.confirm()
    tell(standing.withLock { follow(finding, start, &$0) })
  }

  /// The lease and what is said of it change together.
  private func follow(_ finding: WriterLock.Finding, _ start: UInt64, _ standing: inout Standing) -> Change? {
    // At the end of the mount we have written something else ourselves.
    guard !hasEnded.load(ordering: .acquiring) else { return nil }
    if case .lost = standing { return nil }
    switch finding {
    case .confirmed:
      live.extendLease(until: start + UInt64(times.validity) * 1_000_000)
      // An answer that took longer than the lease begins none.
      guard !live.isLeaseOver, standing != .held else { return nil }
      standing = .held
      return .confirmed
    case .unanswered(let error):
      // The lease runs on to its end.
      return live.isLeaseOver ? doubt("\(error)", &standing) : nil
    case .taken:
      live.extendLease(until: 0)
      return doubt("another process has locked it", &standing)
    case .lost(let reason):
      live.extendLease(until: 0)
      standing = .lost(reason)
      return .lost(reason)
    }
  }

  /// Said once, whatever further reasons there are; a loss stays one.
  private func doubt(_ reason: String, _ standing: inout Standing, isVague: Bool = false) -> Change? {
    guard live.isLeaseOver, !hasEnded.load(ordering: .acquiring) else { return nil }
    switch standing {
    case .lost: return nil
    case .doubtful:
      if !isVague { standing = .doubtful(reason) }
      return nil
    case .held:
      standing = .doubtful(reason)
      return .doubted(reason)
    }
  }

  private func tell(_ change: Change?) {
    switch change {
    case nil: break
    case .confirmed: Log.notice("the writer's lock is confirmed again; changes are allowed")
    case .doubted(let reason): Log.error("the writer's lock is \(WriterLease.doubt(reason))")
    case .lost(let reason):
      Log.error(
        "the writer's lock is lost: \(reason); nothing is changed any more, unmount and mount again")
    }
  }

  private static func doubt(_ reason: String) -> String {
    "not confirmed: \(reason); nothing is changed until it is"
  }

  /// Whether it may be written to the volume at this moment.
  var isConfirmed: Bool { !live.isLeaseOver }

  /// For `status`.
  var description: String {
    switch standing.withLock({ $0 }) {
    case .held: live.isLeaseOver ? WriterLease.doubt("the store does not answer") : "held"
    case .doubtful(let reason): WriterLease.doubt(reason)
    case .lost(let reason): "lost: \(reason); nothing is changed, unmount and mount again"
    }
  }

  /// Why nothing is changed any more until the volume is mounted anew; nil while that may change.
  var loss: String? {
    if case .lost(let reason) = standing.withLock({ $0 }) { reason } else { nil }
  }

  /// The mount ends: nothing is changed from now on, and the next holder need not wait.
  ///
  /// Not said by whom has no lease: another process may have the file.
  func end() {
    let wasOver = standing.withLock { _ in
      let wasOver = live.isLeaseOver
      hasEnded.store(true, ordering: .releasing)
      live.extendLease(until: 0)
      return wasOver
    }
    guard !wasOver else { return }
    _ = LimitedTime.run(atMost: 2_000_000_000) { [lock] in
      do throws(Errno) {
        guard try !lock.end() else { return }
        Log.warning("the next mount will wait: the lock file is another one by now, or cannot be confirmed")
      } catch {
        Log.warning("the next mount will wait: the lock file does not tell of the end of this one: \(error)")
      }
    }
  }
}

extension VolumeDirectory {
  /// Begins to keep the lock, where there is one that may get lost.
  func beginLease(_ live: LiveOptions) throws {
    guard let leaseTimes, let lock else { return }
    let start = Clock.nanosecondsSinceBoot
    guard lock.confirm() == .confirmed else { throw VolumeFailure("the lock for writing cannot be kept") }
    let lease = try WriterLease(of: lock, takenAt: start, live, leaseTimes)
    opened.withLock { $0.lease = lease }
  }

  /// A volume whose lock was lost stays read-only, whatever options it is given.
  func refuseLostLock() throws(VolumeFailure) {
    guard let loss = opened.withLock({ $0.lease?.loss }) else { return }
    throw VolumeFailure("the lock for writing is lost: \(loss); unmount and mount again")
  }

  /// How the lock is kept, for `status`; nil where there is none.
  var lockDescription: String? {
    let opened = self.opened.withLock { $0 }
    guard opened.lock != nil else { return nil }
    return opened.lease?.description ?? "held, by the kernel of this machine"
  }

  /// The mount ends, in order.
  func endLease() { opened.withLock { $0.lease }?.end() }
}
