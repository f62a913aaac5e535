import CLinux
import Glibc

// What time it is.

/// The clocks of the machine.
package enum Clock {
  /// Nanoseconds since an arbitrary start; never goes back.
  package static var monotonicNanoseconds: UInt64 {
    let now = read(realtime: false)
    return UInt64(clamping: now.seconds) &* 1_000_000_000 &+ UInt64(now.nanoseconds)
  }

  /// The time of day; jumps when somebody sets the clock.
  package static var realtime: Timestamp { read(realtime: true) }

  /// Lets the calling thread sleep.
  package static func pause(milliseconds: UInt32) {
    _ = usleep(milliseconds * 1_000)
  }

  private static func read(realtime: Bool) -> Timestamp {
    var now = lv_time(seconds: 0, nanoseconds: 0)
    // These two clocks exist on every Linux; there is no error to report.
    _ = unsafe lv_clock(realtime ? 1 : 0, &now)
    return Timestamp(seconds: now.seconds, nanoseconds: UInt32(truncatingIfNeeded: now.nanoseconds))
  }
}
