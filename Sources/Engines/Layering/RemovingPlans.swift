// unlink and rmdir, of a file and of a directory: which of them the name has is decided before.

/// Plans of what takes a name away.
package enum RemovingPlan {
  package static func file(_ name: NameFacts, in parent: ParentFacts) -> Answer {
    Answer(parent.isUp ? [] : .parent, removal(of: name) + settling(name, at: .name))
  }

  private static func removal(of name: NameFacts) -> [Step] {
    guard name.isUp else { return [.linkWhiteout(.name)] }
    guard name.needsWhiteout else { return [.remove(.name)] }
    // One call replaces the file by the whiteout: with the file gone first, the lower's would show.
    return [.linkWhiteout(.work), .rename(.work, .name, .replacing)]
  }

  /// The names come first: a crash in between leaves the count one too high, never too low.
  static func settling(_ lost: NameFacts, at position: Position) -> [Step] {
    switch lost.links {
    case .single: []
    case .lowerName: [.settleCount(position, -1)]
    case .upperName: [.settleCount(position, 0)]
    }
  }

  package static func directory(_ name: NameFacts, in parent: ParentFacts) -> Answer {
    if let refusal = refusalToEmpty(name) { return .refused(refusal) }
    return Answer(parent.isUp ? [] : .parent, removal(ofDirectory: name))
  }

  /// Why the directory that shows may not be taken away or replaced.
  static func refusalToEmpty(_ name: NameFacts) -> Refusal? {
    if name.directory?.below == .unusable { return .unusable }
    return name.contents == .names ? .notEmpty : nil
  }

  private static func removal(ofDirectory name: NameFacts) -> [Step] {
    guard name.isUp else { return [.linkWhiteout(.name)] }
    if name.needsWhiteout {
      return [.linkWhiteout(.work), .trade(.work, for: .directory, at: .name), .sweep]
    }
    // Where no lower has the name, a whiteout would be a stray one.
    if name.contents == .whiteouts { return [.rename(.name, .work, .toFreeName), .sweep] }
    return [.removeDirectory(.name)]
  }
}
