import CLinux

// Points in time as file systems store them, and what a caller may ask to become of one.

/// Seconds since 1970 and nanoseconds within the second.
package struct Timestamp: Sendable, Hashable, Comparable {
  package var seconds: Int64
  package var nanoseconds: UInt32

  package init(seconds: Int64, nanoseconds: UInt32) {
    self.seconds = seconds
    self.nanoseconds = nanoseconds
  }

  package static func < (left: Timestamp, right: Timestamp) -> Bool {
    (left.seconds, left.nanoseconds) < (right.seconds, right.nanoseconds)
  }
}

/// What `utimensat` does with one of the two times.
package enum TimeChange: Sendable, Hashable {
  case set(Timestamp)
  /// The time of the file system's clock. Needs only the right to write, not ownership.
  case now
  case omit

  var forKernel: lv_time {
    switch self {
    case .set(let time): lv_time(seconds: time.seconds, nanoseconds: Int64(time.nanoseconds))
    case .now: lv_time(seconds: 0, nanoseconds: Int64(LV_TIME_NOW))
    case .omit: lv_time(seconds: 0, nanoseconds: Int64(LV_TIME_OMIT))
    }
  }
}

/// The clocks of the machine.
package enum Clock {
  /// Nanoseconds since an arbitrary start; never goes back.
  package static var monotonicNanoseconds: UInt64 {
    let now = read(realtime: false)
    return UInt64(clamping: now.seconds) &* 1_000_000_000 &+ UInt64(now.nanoseconds)
  }

  /// The time of day. May jump when somebody sets the clock.
  package static var realtime: Timestamp { read(realtime: true) }

  private static func read(realtime: Bool) -> Timestamp {
    var now = lv_time(seconds: 0, nanoseconds: 0)
    // These two clocks exist on every Linux; there is no error to report.
    _ = unsafe lv_clock(realtime ? 1 : 0, &now)
    return Timestamp(seconds: now.seconds, nanoseconds: UInt32(truncatingIfNeeded: now.nanoseconds))
  }
}
