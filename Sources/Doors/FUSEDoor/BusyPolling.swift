// Whether a worker polls for the next request instead of sleeping.
//
// For a single program that works on a volume: 1.46 times as fast as two workers that sleep, 1.11 with two clients, 0.97 with four
// (docs/performance.md, "Who waits, and how", where a part of it is compiler settings).

import LinuxFiles
import Synchronization

/// Lets at most one worker of a session poll, while polling is likely to catch the next request.
///
/// A busy program sends its next request soon after it has an answer, and waking a worker that sleeps on another
/// processor takes longer than most requests. So after an answer one worker polls for a moment, as long as all
/// requests come from one thread. Several threads keep the workers awake anyway, and need the processors.
///
/// All state but `isPolling` is a guess that workers update without a lock. A wrong guess costs one polling time.
final class BusyPolling: Sendable {
  /// Polling time.
  ///
  /// Two thirds of the benefit come in the first 10 µs.
  static let nanoseconds: UInt64 = 30_000
  /// Polling would have caught a request that arrives this soon after an answer: the time to wake a worker included.
  static let nearMiss: UInt64 = 60_000
  /// This many requests in a row from one thread count as "no other thread sends requests".
  static let streak = 16
  /// The number of skipped turns doubles with each failure, up to this.
  static let longestSkip = 64

  private let isPolling = Atomic(false)
  /// False on a single processor, where polling keeps the program from running.
  let isUseful: Bool
  /// The thread whose request was answered last.
  private let lastCaller = Atomic<Int32>(0)
  private let repeats = Atomic(0)
  private let lastAnswer = Atomic<UInt64>(0)
  private let arrivedSoon = Atomic(false)
  /// How many turns are still to be skipped, and how many after the next failure.
  private let turnsToSkip = Atomic(0)
  private let nextSkip = Atomic(1)

  init(processors: Int = CurrentProcess.usableProcessors) {
    isUseful = processors > 1
  }

  /// Notes that a request was answered.
  ///
  /// `caller` is 0 for requests of the kernel itself and of threads outside the daemon's process namespace.
  func answered(_ caller: Int32, at now: @autoclosure () -> UInt64 = Clock.monotonicNanoseconds) {
    guard isUseful else { return }
    let count = repeats.load(ordering: .relaxed)
    if caller != 0 {
      guard lastCaller.load(ordering: .relaxed) == caller else {
        lastCaller.store(caller, ordering: .relaxed)
        if count > 0 { repeats.store(0, ordering: .relaxed) }
        return
      }
      if count < BusyPolling.streak { repeats.store(count + 1, ordering: .relaxed) }
    }
    if count > 0 { lastAnswer.store(now(), ordering: .relaxed) }
  }

  /// Notes that a request woke a sleeping worker.
  func wokeWorker(at now: @autoclosure () -> UInt64 = Clock.monotonicNanoseconds) {
    guard isUseful, repeats.load(ordering: .relaxed) > 1 else { return }
    let isSoon = now() &- lastAnswer.load(ordering: .relaxed) < BusyPolling.nearMiss
    if arrivedSoon.load(ordering: .relaxed) != isSoon { arrivedSoon.store(isSoon, ordering: .relaxed) }
  }

  /// Whether the calling worker polls now; it then calls ``end(caught:)``.
  func begin() -> Bool {
    guard isUseful, arrivedSoon.load(ordering: .relaxed),
      repeats.load(ordering: .relaxed) >= BusyPolling.streak, !isPolling.load(ordering: .relaxed)
    else { return false }
    let skips = turnsToSkip.load(ordering: .relaxed)
    guard skips == 0 else {
      turnsToSkip.store(skips - 1, ordering: .relaxed)
      return false
    }
    return !isPolling.exchange(true, ordering: .acquiring)
  }

  /// Ends polling; `caught`: whether it received anything.
  func end(caught: Bool) {
    if caught {
      nextSkip.store(1, ordering: .relaxed)
    } else {
      let number = nextSkip.load(ordering: .relaxed)
      turnsToSkip.store(number, ordering: .relaxed)
      nextSkip.store(min(2 * number, BusyPolling.longestSkip), ordering: .relaxed)
    }
    isPolling.store(false, ordering: .releasing)
  }
}
