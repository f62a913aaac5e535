// What the daemon says: one line to standard error, with the priority journald understands.

import LinuxFiles

/// Lines for the administrator. Never a file's content, never a key.
package enum Log {
  /// Damage found on disk; always said.
  static func damage(_ text: @autoclosure () -> String) {
    write(priority: 3, text())
  }

  package static func error(_ text: @autoclosure () -> String) {
    write(priority: 3, text())
  }

  package static func notice(_ text: @autoclosure () -> String) {
    write(priority: 5, text())
  }

  private static func write(priority: Int, _ text: String) {
    StandardError.write("<\(priority)>varved: \(text)\n")
  }
}
