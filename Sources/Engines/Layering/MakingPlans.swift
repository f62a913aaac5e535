// New names: create, mknod, symlink, mkdir, link, and the publishing of a file made by O_TMPFILE. Nothing shows under the
// name: that is decided before.

/// Plans of what gives something a new name.
package enum MakingPlan {
  /// create, mknod, symlink: made in `work/`, because it needs completing before anybody may see it.
  ///
  /// A whiteout is traded for it, not removed first: in between the lower's object would show.
  package static func object(_ name: NameFacts, in parent: ParentFacts) -> Answer {
    Answer(
      parent.isUp ? [] : .parent,
      [.make(.work)]
        + (name.upper == .whiteout ? takeWhiteout : [.rename(.work, .name, .toFreeName)]))
  }

  /// Not by a rename that replaces whatever has the name: another program may have put something there by then.
  private static let takeWhiteout: [Step] = [.trade(.work, for: .whiteout, at: .name), .remove(.work)]

  package static func directory(_ name: NameFacts, in parent: ParentFacts) -> Answer {
    guard name.upper == .whiteout else { return object(name, in: parent) }
    // Closed, because the name was removed with all that was below it.
    return Answer(parent.isUp ? [] : .parent, [.make(.work), .close(.work)] + takeWhiteout)
  }

  /// link; and a file made by O_TMPFILE, which is ``LinkedObject/new``, gets its name.
  package static func link(_ object: LinkedObject, to name: NameFacts, in parent: ParentFacts) -> Answer {
    var needed: BringUp = parent.isUp ? [] : .parent
    if !object.isUp { needed.insert(.object) }
    return Answer(
      needed,
      parent.marks(for: object.hasOrigin, at: .name)
        + (name.upper == .whiteout ? [.link(.work)] + takeWhiteout : [.link(.name)]))
  }

  /// What gets a further name.
  package struct LinkedObject: Hashable, Sendable {
    package var isUp: Bool
    package var hasOrigin: Bool

    package init(isUp: Bool, hasOrigin: Bool) {
      self.isUp = isUp
      self.hasOrigin = hasOrigin
    }

    package static let new = LinkedObject(isUp: true, hasOrigin: false)
  }
}
