import CLinux
import Glibc

// What time it is.

/// The clocks of the machine.
package enum Clock {
  /// Nanoseconds since an arbitrary start; never goes back.
  package static var monotonicNanoseconds: UInt64 {
    nanoseconds(read(lv_awake))
  }

  /// The same with the time in which the machine was suspended.
  package static var nanosecondsSinceBoot: UInt64 { nanoseconds(read(lv_since_boot)) }

  /// The time of day; jumps when the clock is set.
  package static var realtime: Timestamp { read(lv_time_of_day) }

  /// Lets the calling thread sleep.
  package static func pause(milliseconds: UInt32) {
    _ = usleep(milliseconds * 1_000)
  }

  private static func nanoseconds(_ time: Timestamp) -> UInt64 {
    UInt64(clamping: time.seconds) &* 1_000_000_000 &+ UInt64(time.nanoseconds)
  }

  private static func read(_ clock: lv_clock_kind) -> Timestamp {
    var now = lv_time(seconds: 0, nanoseconds: 0)
    // These clocks exist on every Linux; there is no error to report.
    _ = unsafe lv_clock(clock, &now)
    return Timestamp(seconds: now.seconds, nanoseconds: UInt32(truncatingIfNeeded: now.nanoseconds))
  }
}
