// What the daemon says: one line, to standard error or to the system's log. The tool, which looks at volumes with the same
// code, says it to people.

import LinuxFiles
import Synchronization

/// Lines for the administrator.
///
/// Never a file's content, never a key.
package enum Log {
  private static let speaksToSystem = Atomic<Bool>(false)
  private static let speaksToPeople = Atomic<Bool>(false)

  /// From now on lines go to the system's log: nobody reads the standard error of a daemon.
  package static func goToSystem() {
    speaksToSystem.store(true, ordering: .releasing)
  }

  /// From now on lines are those of the tool, on a terminal.
  package static func goToPeople() {
    speaksToPeople.store(true, ordering: .releasing)
  }

  /// `1 file`, `2 files`.
  static func files(_ count: Int) -> String { "\(count) file\(count == 1 ? "" : "s")" }

  /// Damage found on disk.
  ///
  /// Anybody can make the daemon find it again and again, so only so many lines are said in a minute.
  static func damage(_ text: @autoclosure () -> String) {
    let now = Clock.monotonicNanoseconds
    let mayBeSaid = spoken.withLock { spoken in
      if now &- spoken.since > 60_000_000_000 { spoken = Spoken(since: now, lines: 0) }
      spoken.lines += 1
      return spoken.lines <= Spoken.most
    }
    if mayBeSaid { write(priority: 3, text()) }
  }

  /// The lines about damage in the present minute.
  private struct Spoken {
    static let most = 20

    var since: UInt64
    var lines: Int
  }

  private static let spoken = Mutex(Spoken(since: 0, lines: 0))

  package static func error(_ text: @autoclosure () -> String) {
    write(priority: 3, text())
  }

  package static func warning(_ text: @autoclosure () -> String) {
    write(priority: 4, text())
  }

  package static func notice(_ text: @autoclosure () -> String) {
    write(priority: 5, text())
  }

  /// The number in front is what journald understands.
  private static func write(priority: CInt, _ text: String) {
    if speaksToSystem.load(ordering: .acquiring) {
      SystemLog.write(priority: priority, text)
    } else if speaksToPeople.load(ordering: .acquiring) {
      StandardError.write("varve: \(text)\n")
    } else {
      StandardError.write("<\(priority)>varved: \(text)\n")
    }
  }
}
