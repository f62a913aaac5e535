// The reserve reader, which reads the device only when it is needed.
//
// It is one more than `threads` says, because one user may keep all the others busy. It sleeps most of the time, because
// the kernel wakes readers in turn: with one reader too many, a single program that opens and reads small files took
// 1.1 times as long, with twice as many context switches.

import LinuxFiles
import Synchronization

extension RequestQueues {
  /// Sleeps until more readers are needed than are at the device; only the reserve reader may call this.
  func restWhileNotNeeded() {
    let rests = state.withLock { state in
      let now = Clock.monotonicNanoseconds
      guard !state.isOver, state.queued == 0, state.awakeReaders > 1, !state.othersCame(before: now) else {
        return false
      }
      state.reserveRests = true
      return true
    }
    if rests { bellOfReserve.wait() }
  }

  /// Whether the reserve reader must be woken.
  ///
  /// So it is when no other reader is at the device, and either another user sends requests or requests take long.
  func callsReserve(_ state: inout State) -> Bool {
    guard state.reserveRests, state.awakeReaders == 0 else { return false }
    let now = Clock.monotonicNanoseconds
    guard state.othersCame(before: now) || now &- state.endedAt >= RequestQueues.shortTime else {
      return false
    }
    state.reserveRests = false
    return true
  }
}

extension RequestQueues.State {
  /// How many readers wait at the device.
  var awakeReaders: Int { readers - busyReaders - (reserveRests ? 1 : 0) }

  /// Whether another user has sent a request lately.
  func othersCame(before now: UInt64) -> Bool {
    now &- ownerChangedAt <= RequestQueues.memoryOfOthers
  }
}
