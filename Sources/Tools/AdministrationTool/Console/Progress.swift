// How far long work is, for the user who watches.

import LinuxFiles
import LinuxPrograms
import TextForms

/// Counts items, and shows the count on a terminal a few times a second.
final class Progress {
  private let console: Console
  private(set) var items = 0
  /// Of the files whose bytes are what takes long.
  private var bytes: UInt64 = 0
  private var shownAt = Clock.monotonicNanoseconds

  init(_ console: Console) {
    self.console = console
  }

  func count() {
    items += 1
    // The clock is asked rarely: most items take microseconds.
    guard items & 0xFF == 0 else { return }
    show()
  }

  /// Counts the bytes of a file that was written anew.
  func add(bytes count: UInt64) {
    bytes += count
    show()
  }

  /// A file is begun that takes a while.
  func begin(_ path: [UInt8], bytes count: UInt64) {
    guard count >= 64 << 20 else { return }
    show(", now \(sizeText(count)) of \(PathText.escaped(path))", atOnce: true)
  }

  private func show(_ rest: String = "", atOnce: Bool = false) {
    let now = Clock.monotonicNanoseconds
    guard atOnce || now &- shownAt > 200_000_000 else { return }
    shownAt = now
    let size = bytes > 0 ? ", \(sizeText(bytes))" : ""
    console.showProgress("\(console.name): \(counted(items))\(size)\(rest)")
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
