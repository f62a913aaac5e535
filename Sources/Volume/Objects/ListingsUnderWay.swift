// Whether the kernel may still be taking over names of a listing of the ordinary tree.
//
// It takes listed names over with the epoch from after the answer, for as long as the reader likes: each is copied to the
// reader's memory before the next. Whoever closes the directory by its real path needs the lock under which that is done,
// and waits. By the directory's number in a view it would be closed under another lock, and names taken over later would be
// remembered as if it were open. So such a change is refused while there are any, and no listing begins to hand out
// entries while such a change is made (docs/design/remembering.md).

/// Of one directory.
struct ListingsUnderWay {
  /// Handles of the ordinary tree whose last answer had entries.
  private var answers: UInt32 = 0
  /// Changes that came by a number of a view.
  private var changes: UInt32 = 0

  /// Whether a change that comes by a number of a view would be refused now.
  var areThere: Bool { answers > 0 }

  /// One more handle gives entries; false if it must not.
  mutating func beginAnswer() -> Bool {
    guard changes == 0 else { return false }
    answers += 1
    return true
  }

  /// The handle's next request came, which proves that the former answer was taken over, or the handle is closed.
  mutating func endAnswer() { answers -= 1 }

  /// False if there are names on their way.
  mutating func beginChange() -> Bool {
    guard answers == 0 else { return false }
    changes += 1
    return true
  }

  mutating func endChange() { changes -= 1 }
}
