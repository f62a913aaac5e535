import CLinux
import Glibc

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

extension Timestamp {
  /// Universal time to the millisecond, as in "2026-11-21T19:05:19.042Z".
  package var text: String {
    var moment = time_t(seconds)
    var parts = unsafe tm()
    // A year that no calendar reaches: as date(1) takes it.
    guard unsafe gmtime_r(&moment, &parts) != nil else { return "@\(seconds)" }
    func padded(_ value: Int, _ width: Int) -> String {
      let digits = String(value)
      return String(repeating: "0", count: max(0, width - digits.count)) + digits
    }
    func padded(_ value: CInt) -> String { padded(Int(value), 2) }
    return
      unsafe "\(padded(Int(parts.tm_year) + 1_900, 4))-\(padded(parts.tm_mon + 1))-\(padded(parts.tm_mday))T"
      + "\(padded(parts.tm_hour)):\(padded(parts.tm_min)):\(padded(parts.tm_sec))."
      + "\(padded(Int(nanoseconds / 1_000_000), 3))Z"
  }
}
