// Which answers are the same for everybody, so that the kernel may remember them.
//
// By whatever options: the kernel may be about to take over an answer in the very moment in which options change, and a
// listing's names cannot be called back then. So a list counts here even while it is not evaluated.

import AccessControl
import DirectoryModes

extension Item {
  /// Whether every caller may search this directory.
  ///
  /// All three classes have the x bit and nobody is told no. Allow entries never take anything away.
  package var isSearchableByAnyone: Bool {
    guard kind == .directory, record == .sound, content != .foreign, mode.bits & 0o111 == 0o111 else {
      return false
    }
    guard let list else { return true }
    return !list.deniesAnybody(.search)
  }

  /// Whether every caller may list this directory.
  package var isListableByAnyone: Bool {
    guard kind == .directory, record == .sound, content != .foreign, mode.bits & 0o444 == 0o444 else {
      return false
    }
    guard let list else { return true }
    return !list.deniesAnybody(.list)
  }

  /// Whether every caller may look at this object's attributes.
  package var isVisibleToAnyone: Bool {
    guard record == .sound else { return false }
    guard let list else { return true }
    return !list.deniesAnybody(.looking)
  }
}
