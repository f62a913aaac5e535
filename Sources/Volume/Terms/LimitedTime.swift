// Work that may hang, and a waiter that does not wait for ever.

import LinuxFiles
import Synchronization

enum LimitedTime {
  private final class Ended: Sendable {
    let flag = Atomic<Bool>(false)
  }

  /// Runs `work` in a thread of its own and waits until it ends, but not longer than that; whether it did.
  static func run(atMost nanoseconds: UInt64, _ work: @escaping @Sendable () -> Void) -> Bool {
    let ended = Ended()
    do throws(Errno) {
      _ = try PlainThread(name: "lock") {
        work()
        ended.flag.store(true, ordering: .releasing)
      }
    } catch {
      work()
      return true
    }
    let end = Clock.monotonicNanoseconds + nanoseconds
    var pause: UInt32 = 1
    while !ended.flag.load(ordering: .acquiring) {
      guard Clock.monotonicNanoseconds < end else { return false }
      Clock.pause(milliseconds: pause)
      pause = min(pause * 2, 16)
    }
    return true
  }
}
