import CPrograms

// The calendar of the local time zone.

/// The parts of a moment in the local time zone; nil for a year no calendar reaches.
package func localTime(
  _ seconds: Int64
) -> (year: Int, month: Int, day: Int, hour: Int, minute: Int, second: Int)? {
  var parts = lv_calendar()
  guard unsafe lv_local_time(seconds, &parts) >= 0 else { return nil }
  return (
    Int(parts.year), Int(parts.month), Int(parts.day), Int(parts.hour), Int(parts.minute), Int(parts.second)
  )
}
