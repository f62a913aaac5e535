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

  /// EINVAL for nanoseconds beyond a second, two values of which mean "now" and "omit" to the kernel.
  func forKernel() throws(Errno) -> lv_time {
    switch self {
    case .set(let time):
      guard time.nanoseconds < 1_000_000_000 else { throw .invalid }
      return lv_time(seconds: time.seconds, nanoseconds: Int64(time.nanoseconds))
    case .now: return lv_time(seconds: 0, nanoseconds: Int64(LV_TIME_NOW))
    case .omit: return lv_time(seconds: 0, nanoseconds: Int64(LV_TIME_OMIT))
    }
  }
}
