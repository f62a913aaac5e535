// A file of a lower that is cut by what brings it up: only what stays is copied.

import Decisions
import LinuxFiles

/// To what size an operation cuts a file, and whether it may.
///
/// The copy is cut already when it takes the place of the file. So that is decided under the locks with which it does, as the
/// operation itself would: in that moment it happens, and when it begins anew it is not refused any more. Rights that are
/// taken away in between were taken away later.
final class CutOnTheWay {
  private let size: UInt64
  private let decide: (Facts) throws(Errno) -> Void
  /// Set when the copy is there.
  var isDone = false

  init(to size: UInt64, deciding decide: @escaping (Facts) throws(Errno) -> Void) {
    (self.size, self.decide) = (size, decide)
  }

  func require(_ facts: Facts) throws(Errno) { try decide(facts) }

  /// How much of the file is copied; nil for all of it.
  ///
  /// What is stored in another form is cut by the operation, in that form.
  func length(of facts: Facts) throws(Errno) -> UInt64? {
    try require(facts)
    return facts.item.content == .plain && size < facts.status.size ? size : nil
  }
}
