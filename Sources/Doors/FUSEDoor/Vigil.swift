// Whether it is worth staying awake for the next request.

import LinuxFiles
import Synchronization

/// The right to listen without sleeping, of which a session has one, and what tells whether it is worth using.
///
/// A program that works asks again soon after it has its answer, and to wake a sleeping worker on another
/// processor takes longer than most requests. So one worker at a time stays awake for a moment after an answer,
/// while a single thread asks. Several keep the workers awake by themselves, and want the processors.
///
/// All but the right itself is a guess from numbers that workers may change at the same time; a wrong guess costs
/// a moment.
final class Vigil: Sendable {
  /// How long it lasts.
  ///
  /// Most of what it can save is had after a third of this.
  static let nanoseconds: UInt64 = 30_000
  /// A request that came this soon after an answer would have been heard, waking up included.
  static let nearlyHeard: UInt64 = 60_000
  /// So many requests of one thread in a row mean that no other asks.
  static let streak = 16
  /// After one in vain one is left out, after the next two, then four: no more than this.
  static let mostLeftOut = 64

  private let isKept = Atomic(false)
  /// False on a single processor, where whoever listens keeps everybody else from asking.
  let isWanted: Bool
  /// Whose request was answered last.
  private let lastCaller = Atomic<Int32>(0)
  private let repeats = Atomic(0)
  private let lastAnswer = Atomic<UInt64>(0)
  private let cameSoon = Atomic(false)
  /// How many vigils are to be left out, and how many after the next one in vain.
  private let leftOut = Atomic(0)
  private let penalty = Atomic(1)

  init(processors: Int = CurrentProcess.usableProcessors) {
    isWanted = processors > 1
  }

  /// A request is dealt with; 0 stands for the kernel itself, and for every thread this process cannot number.
  func answered(_ caller: Int32, at now: @autoclosure () -> UInt64 = Clock.monotonicNanoseconds) {
    guard isWanted else { return }
    let count = repeats.load(ordering: .relaxed)
    if caller != 0 {
      guard lastCaller.load(ordering: .relaxed) == caller else {
        lastCaller.store(caller, ordering: .relaxed)
        if count > 0 { repeats.store(0, ordering: .relaxed) }
        return
      }
      if count < Vigil.streak { repeats.store(count + 1, ordering: .relaxed) }
    }
    if count > 0 { lastAnswer.store(now(), ordering: .relaxed) }
  }

  /// A request came to somebody who slept.
  func came(at now: @autoclosure () -> UInt64 = Clock.monotonicNanoseconds) {
    guard isWanted, repeats.load(ordering: .relaxed) > 1 else { return }
    let isSoon = now() &- lastAnswer.load(ordering: .relaxed) < Vigil.nearlyHeard
    if cameSoon.load(ordering: .relaxed) != isSoon { cameSoon.store(isSoon, ordering: .relaxed) }
  }

  /// Takes the right; false when it is not worth it, or another has it.
  func begin() -> Bool {
    guard isWanted, cameSoon.load(ordering: .relaxed), repeats.load(ordering: .relaxed) >= Vigil.streak,
      !isKept.load(ordering: .relaxed)
    else { return false }
    let left = leftOut.load(ordering: .relaxed)
    guard left == 0 else {
      leftOut.store(left - 1, ordering: .relaxed)
      return false
    }
    return !isKept.exchange(true, ordering: .acquiring)
  }

  /// Lets the right go.
  func end(heard: Bool) {
    if heard {
      penalty.store(1, ordering: .relaxed)
    } else {
      let number = penalty.load(ordering: .relaxed)
      leftOut.store(number, ordering: .relaxed)
      penalty.store(min(2 * number, Vigil.mostLeftOut), ordering: .relaxed)
    }
    isKept.store(false, ordering: .releasing)
  }
}
