// The date column and sizes for people.

/// A moment in local time.
package struct LocalTime: Equatable, Sendable {
  package var year: Int
  /// From 1 to 12.
  package var month: Int
  package var day: Int
  package var hour: Int
  package var minute: Int
  package var second: Int

  package init(year: Int, month: Int, day: Int, hour: Int, minute: Int, second: Int) {
    self.year = year
    self.month = month
    self.day = day
    self.hour = hour
    self.minute = minute
    self.second = second
  }

  private static let months = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
  ]

  /// `Jan  2 03:04` if the moment is within half a year, `Jan  2  2023` if not.
  package func listed(isRecent: Bool) -> String {
    monthAndDay + " " + (isRecent ? clock : " \(year)")
  }

  /// All of it: `Jan  2 03:04:05 2023`.
  package var complete: String {
    "\(monthAndDay) \(clock):\(twoDigits(second)) \(year)"
  }

  private var monthAndDay: String {
    let name = LocalTime.months.indices.contains(month - 1) ? LocalTime.months[month - 1] : "???"
    return name + (day < 10 ? "  \(day)" : " \(day)")
  }

  private var clock: String { "\(twoDigits(hour)):\(twoDigits(minute))" }

  private func twoDigits(_ number: Int) -> String { digits(number, width: 2) }
}

/// Whether `ls` shows the time of day: half a year back and half a year ahead, as macOS counts it.
package func isRecent(_ seconds: Int64, now: Int64) -> Bool {
  let halfYear: Int64 = 365 / 2 * 86400
  let (earliest, latest) = (now - halfYear, now + halfYear)
  return seconds > earliest && seconds < latest
}

/// `160B`, `1.5K`, `12M`: at most three digits and a unit.
package func sizeText(_ bytes: UInt64) -> String {
  let units = ["B", "K", "M", "G", "T", "P", "E"]
  var unit = 0
  var scale: UInt64 = 1
  while unit < units.count - 1, bytes / scale >= 1000 {
    scale <<= 10
    unit += 1
  }
  guard unit > 0 else { return "\(bytes)B" }
  // In tenths and rounded; the remainder is below 2^60, so ten times it fits.
  let tenths = bytes / scale * 10 + (bytes % scale * 10 + scale / 2) / scale
  return tenths < 100 ? "\(tenths / 10).\(tenths % 10)\(units[unit])" : "\((tenths + 5) / 10)\(units[unit])"
}
