import CLinux

// One word that a thread leaves for itself, from deep in a request to its end.

/// A number of the calling thread.
///
/// Between two calls of one request it travels without being an argument of everything in between.
package enum ThreadNote {
  package static func leave(_ note: UInt64) { lv_leave_note(note) }

  /// The number that was left last, which is then gone; 0 if there is none.
  package static func take() -> UInt64 { lv_take_note() }
}
