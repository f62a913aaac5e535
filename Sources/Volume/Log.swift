// What the daemon says: one line, to standard error or to the system's log.

import LinuxFiles
import Synchronization

/// Lines for the administrator.
///
/// Never a file's content, never a key.
package enum Log {
  private static let speaksToSystem = Atomic<Bool>(false)

  /// From now on lines go to the system's log: nobody reads the standard error of a daemon.
  package static func goToSystem() {
    speaksToSystem.store(true, ordering: .releasing)
  }

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

  /// The prefix is what journald understands.
  private static func write(priority: CInt, _ text: String) {
    if speaksToSystem.load(ordering: .acquiring) {
      SystemLog.write(priority: priority, text)
    } else {
      StandardError.write("<\(priority)>varved: \(text)\n")
    }
  }
}
