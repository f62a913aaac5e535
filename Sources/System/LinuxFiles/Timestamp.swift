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

extension Timestamp {
  /// Universal time to the millisecond, as in "2026-11-21T19:05:19.042Z".
  package var text: String {
    // Days from 1 March of the year 0, so that the leap day comes last (Howard Hinnant, "chrono-compatible
    // low-level date algorithms").
    let (dayNumber, second) = seconds.flooredDivision(by: 86_400)
    let (era, dayOfEra) = (dayNumber + 719_468).flooredDivision(by: 146_097)
    let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let shifted = (5 * dayOfYear + 2) / 153
    let day = dayOfYear - (153 * shifted + 2) / 5 + 1
    let month = shifted < 10 ? shifted + 3 : shifted - 9
    let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
    func padded(_ value: Int64, _ width: Int) -> String {
      let digits = String(value)
      return String(repeating: "0", count: max(0, width - digits.count)) + digits
    }
    return "\(padded(year, 4))-\(padded(month, 2))-\(padded(day, 2))T\(padded(second / 3_600, 2)):"
      + "\(padded(second / 60 % 60, 2)):\(padded(second % 60, 2))."
      + "\(padded(Int64(nanoseconds / 1_000_000), 3))Z"
  }
}

extension Int64 {
  /// Quotient and remainder, the remainder never negative.
  fileprivate func flooredDivision(by divisor: Int64) -> (Int64, Int64) {
    let remainder = self % divisor
    return remainder < 0 ? (self / divisor - 1, remainder + divisor) : (self / divisor, remainder)
  }
}
