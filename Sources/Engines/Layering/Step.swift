// Changes of several steps, as data. Each step is one atomic call on the backing file system, or happens in `work/`,
// which nobody sees. The runner of a plan takes its steps in turn and stops at the first that fails: what is
// there then shows the view of before or that of after.

/// Where in the upper a step acts.
package enum Position: Hashable, Sendable {
  /// The name the request is about, in its parent's upper part.
  case name
  /// The second name of a rename.
  case newName
  /// A fresh name in `work/`; one plan uses one.
  case work
  /// The entry of the object in `index/`.
  case index
}

/// What a step expects to find.
package enum Occupant: Hashable, Sendable {
  case whiteout
  case directory
}

/// One step of a plan.
package enum Step: Hashable, Sendable {
  // MARK: New objects

  /// Makes the new object with everything it is born with; EEXIST if the name is there.
  case make(Position)
  /// In `work/`: an empty closed directory with the metadata of the one at the second name.
  case makeTwin

  // MARK: Marks

  /// Sets `overlay.opaque`.
  case close(Position)
  /// Sets `overlay.redirect` to the path of the directory in the layers below.
  ///
  /// ENOSPC, ERANGE and E2BIG mean EXDEV to the caller: programs copy instead.
  case setRedirect(Position)
  /// b6 in the record of the directory this name is in: some children have an origin.
  case markImpure(Position)

  // MARK: Names

  /// Gives the object of the request, or the file without a name, a name.
  case link(Position)
  /// Links `work/wh`.
  case linkWhiteout(Position)
  /// Replaces what has the second name, if anything has.
  case rename(Position, Position, RenameCall)
  case exchange(Position, Position)
  /// Exchanges them, and back again with ESTALE unless the second had `for`: what came to be there behind the mount is
  /// neither replaced nor tidied away.
  case trade(Position, for: Occupant, at: Position)
  /// unlinkat of something that is not a directory.
  case remove(Position)
  case removeDirectory(Position)
  /// Empties and removes the directory in `work/`.
  ///
  /// It has whiteouts only; anything else that appeared in it is set aside.
  case sweep

  // MARK: Copies

  /// In `work/`: an empty directory, link or special file like the one in the lower.
  case makeCopy
  /// A file without a name in the upper part of its directory.
  case makeUnnamedCopy
  case copyData
  /// fdatasync: without it a power cut shows an empty file that hides the old data.
  case syncData
  /// Owner, attributes, record with origin, mode and times of the source.
  case describe
  case restoreParentTimes
  /// Gives the object's entry in the index the name.
  case linkFromIndex(Position)
  /// The copy has the difference b7 to begin with that keeps the count as it is.
  case startCount
  /// b7 of the entry of the object at this name changes by so much.
  ///
  /// Makes the entry if a name in a lower was lost and there is none; removes it if the count is 0.
  case settleCount(Position, Int32)
}

extension [Step] {
  /// How many steps it takes until the change is made.
  ///
  /// Those behind them tidy up: if one fails, the change is done nevertheless, and what is left hides and shows nothing.
  package var untilChanged: Int {
    var count = count
    while count > 0, tidiesUp(at: count - 1) { count -= 1 }
    return count
  }

  private func tidiesUp(at index: Int) -> Bool {
    switch self[index] {
    case .sweep, .restoreParentTimes, .settleCount, .remove(.work): true
    // A whiteout that was exchanged for what has moved; alone it is the change itself.
    case .remove: index > 0
    default: false
    }
  }
}

/// What renameat2 is told.
package struct RenameCall: Hashable, Sendable {
  package var noReplace: Bool
  /// RENAME_WHITEOUT: a whiteout takes the old name in the same moment.
  package var leavesWhiteout: Bool

  package init(noReplace: Bool = false, leavesWhiteout: Bool = false) {
    self.noReplace = noReplace
    self.leavesWhiteout = leavesWhiteout
  }

  static let replacing = RenameCall()
  static let toFreeName = RenameCall(noReplace: true)
}

/// Why an operation is refused that has been decided about: by what only its plan looks at.
package enum Refusal: Error, Hashable, Sendable {
  /// ENOTEMPTY.
  case notEmpty
  /// EIO: a mark cannot be followed, so it is not known what would be moved or removed.
  case unusable
}

/// What has to be in the upper before a plan can be made.
package struct BringUp: OptionSet, Hashable, Sendable {
  package let rawValue: UInt8

  package init(rawValue: UInt8) {
    self.rawValue = rawValue
  }

  package static let parent = BringUp(rawValue: 1 << 0)
  package static let newParent = BringUp(rawValue: 1 << 1)
  /// What the request is about.
  package static let object = BringUp(rawValue: 1 << 2)
  /// What stands under the second name of an exchange.
  package static let other = BringUp(rawValue: 1 << 3)
}

/// What is to be done about an operation that nobody forbids.
///
/// Names are free, taken, or of the kind that was decided about: whoever asks has made sure of that. The refusals come
/// first, so that a refused operation has brought nothing up.
package enum Answer: Hashable, Sendable {
  case refused(Refusal)
  /// Let go of the locks, bring these up, and ask again.
  case bringUp(BringUp)
  case plan([Step])

  /// Nil unless it is a plan.
  package var steps: [Step]? {
    if case .plan(let steps) = self { steps } else { nil }
  }

  /// Nil unless it is refused.
  package var refusal: Refusal? {
    if case .refused(let refusal) = self { refusal } else { nil }
  }

  init(_ needed: BringUp, _ steps: @autoclosure () -> [Step]) {
    self = needed.isEmpty ? .plan(steps()) : .bringUp(needed)
  }
}
