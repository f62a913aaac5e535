import CPrograms

// The calendar of the local time zone.

/// The parts of a moment in the local time zone.
package struct LocalMoment: Sendable {
  package let year: Int
  package let month: Int
  package let day: Int
  package let hour: Int
  package let minute: Int
  package let second: Int

  /// Nil for a year no calendar reaches.
  package init?(seconds: Int64) {
    var parts = lv_calendar()
    guard unsafe lv_local_time(seconds, &parts) >= 0 else { return nil }
    year = Int(parts.year)
    month = Int(parts.month)
    day = Int(parts.day)
    hour = Int(parts.hour)
    minute = Int(parts.minute)
    second = Int(parts.second)
  }
}
