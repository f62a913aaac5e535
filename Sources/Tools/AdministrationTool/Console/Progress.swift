// How far long work is, for somebody who watches.

import LinuxFiles
import LinuxPrograms

/// Counts items, and shows the count on a terminal a few times a second.
final class Progress {
  private let console: Console
  private(set) var items = 0
  private var shownAt = Clock.monotonicNanoseconds

  init(_ console: Console) {
    self.console = console
  }

  func count() {
    items += 1
    // The clock is asked rarely: most items take microseconds.
    guard items & 0xFF == 0 else { return }
    let now = Clock.monotonicNanoseconds
    guard now &- shownAt > 200_000_000 else { return }
    shownAt = now
    console.showProgress("\(console.name): \(counted(items))")
  }
}

/// A number of items: `1 item`, `12,345 items`.
func counted(_ items: Int) -> String { "\(grouped(items)) item\(items == 1 ? "" : "s")" }

/// A number with commas: `12,345`.
func grouped(_ number: Int) -> String {
  var text = ""
  for (position, digit) in String(number).reversed().enumerated() {
    if position > 0, position % 3 == 0 { text.append(",") }
    text.append(digit)
  }
  return String(text.reversed())
}
