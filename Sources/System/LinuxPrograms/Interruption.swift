import CPrograms

// Being asked to stop in the middle of long work.

/// A signal that asks this program to stop: it finishes what it is at, and stops.
package enum Interruption {
  /// From now on a signal is noted instead of ending the program; the second one ends it.
  package static func watch() {
    lv_watch_interruption()
  }

  package static var isRequested: Bool { lv_interruption() != 0 }

  /// Ends the program as the signal would have, so that a shell's loop ends, too.
  package static func end() -> Never {
    lv_end_by_signal(lv_interruption())
  }

  /// Waits for a program that has the terminal: Ctrl-C is meant for it.
  package static func leave<Value, Failure>(
    toChild wait: () throws(Failure) -> Value
  ) throws(Failure) -> Value {
    lv_leave_interruption_to_child(1)
    defer { lv_leave_interruption_to_child(0) }
    return try wait()
  }
}
