// The reader that is at the device only when it is needed there.
//
// As one user may keep all the others busy, there is one reader more than a volume was mounted with. But the kernel
// wakes the readers in turn: with one that has nothing to do, a single program that opens and reads small files took
// 1.1 times as long, and there were twice as many switches of threads.

import LinuxFiles
import Synchronization

extension RequestQueues {
  /// Sleeps until more readers are needed than are at the device; only one reader may do so.
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

  /// Whether the reader that rests is to be called: nobody else is at the device, and others may have come for
  /// whom requests of one user take too long.
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
  /// How many readers serve nothing and do not rest.
  var awakeReaders: Int { readers - busyReaders - (reserveRests ? 1 : 0) }

  /// Whether another user has sent a request not long ago.
  func othersCame(before now: UInt64) -> Bool {
    now &- ownerChangedAt <= RequestQueues.memoryOfOthers
  }
}
