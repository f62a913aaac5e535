// New names: create, mknod, symlink, mkdir, link, and the publishing of a file made by O_TMPFILE.

/// Plans of what gives something a new name.
package enum MakingPlan {
  /// Where a new object is made.
  package enum Site: Hashable, Sendable {
    /// Under its name, by one call that gets everything right.
    case inPlace
    /// In `work/`, because it needs completing before anybody may see it.
    case inWork
  }

  /// create, mknod, symlink.
  package static func object(_ name: NameFacts, _ site: Site, in parent: ParentFacts) -> Answer {
    guard name.shown == .nothing else { return .refused(.exists) }
    return Answer(parent.isUp ? [] : .parent, object(over: name.upper == .whiteout, site))
  }

  private static func object(over isWhiteout: Bool, _ site: Site) -> [Step] {
    // The whiteout is replaced, not removed first: in between the lower's object would show.
    if isWhiteout { return [.make(.work), .rename(.work, .name, .replacing)] }
    switch site {
    case .inPlace: return [.make(.name)]
    case .inWork: return [.make(.work), .rename(.work, .name, .toFreeName)]
    }
  }

  package static func directory(_ name: NameFacts, _ site: Site, in parent: ParentFacts) -> Answer {
    guard name.shown == .nothing else { return .refused(.exists) }
    return Answer(parent.isUp ? [] : .parent, directory(over: name.upper == .whiteout, site))
  }

  private static func directory(over isWhiteout: Bool, _ site: Site) -> [Step] {
    if isWhiteout {
      // A directory cannot replace a device. Closed, because the name was removed with all that was below it.
      return [.make(.work), .close(.work), .exchange(.work, .name), .remove(.work)]
    }
    return object(over: false, site)
  }

  /// link; and a file made by O_TMPFILE, which is ``LinkedObject/new``, gets its name.
  package static func link(_ object: LinkedObject, to name: NameFacts, in parent: ParentFacts) -> Answer {
    guard name.shown == .nothing else { return .refused(.exists) }
    var needed: BringUp = parent.isUp ? [] : .parent
    if !object.isUp { needed.insert(.object) }
    return Answer(
      needed,
      parent.marks(for: object.hasOrigin, at: .name)
        + (name.upper == .whiteout
          ? [.link(.work), .rename(.work, .name, .replacing)] : [.link(.name)]))
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
