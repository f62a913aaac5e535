// What a name is, in the upper and in the layers below, as values. Every plan is made from these and from nothing else.

/// One name in one directory of a layered volume.
package struct NameFacts: Hashable, Sendable {
  package var upper: UpperEntry
  package var lower: LowerEntry
  /// Of the directory that shows; asked only where one is removed or replaced.
  package var contents: Contents
  /// Of the file that shows.
  package var links: Links
  /// What shows was brought up, so its number is that of something else.
  package var hasOrigin: Bool

  package init(
    upper: UpperEntry, lower: LowerEntry, contents: Contents = .names, links: Links = .single,
    hasOrigin: Bool = false
  ) {
    self.upper = upper
    self.lower = lower
    self.contents = contents
    self.links = links
    self.hasOrigin = hasOrigin
  }

  /// What users see under the name.
  package var shown: Shown {
    switch upper {
    case .absent:
      switch lower {
      case .nothing: .nothing
      case .file: .file
      case .directory: .directory
      }
    case .whiteout: .nothing
    case .file: .file
    case .directory: .directory
    }
  }

  /// A layer below shows the name, so that taking it away needs a whiteout.
  package var needsWhiteout: Bool { lower != .nothing }

  /// The object that shows lies in the upper.
  package var isUp: Bool {
    switch upper {
    case .file, .directory: true
    case .absent, .whiteout: false
    }
  }

  /// The upper's directory, if it has one under the name.
  var directory: UpperDirectory? {
    if case .directory(let directory) = upper { directory } else { nil }
  }
}

/// The directory a name is in.
package struct ParentFacts: Hashable, Sendable {
  /// It has a part in the upper.
  package var isUp: Bool
  /// Its record says that children have origins, so that listings read their records.
  package var isImpure: Bool

  package init(isUp: Bool, isImpure: Bool) {
    self.isUp = isUp
    self.isImpure = isImpure
  }

  /// What has to be set before something gets a name here.
  func marks(for hasOrigin: Bool, at position: Position) -> [Step] {
    hasOrigin && !isImpure ? [.markImpure(position)] : []
  }
}

/// What the upper itself has under a name.
package enum UpperEntry: Hashable, Sendable {
  case absent
  case whiteout
  /// Anything but a directory.
  case file
  case directory(UpperDirectory)
}

/// A directory of the upper, as far as plans depend on it.
package struct UpperDirectory: Hashable, Sendable {
  package enum Below: Hashable, Sendable {
    /// No layer below adds to it.
    case pure
    case merged
    /// The mark `overlay.opaque`.
    case closedByMark
    /// The flag `opaque` of the record: the user's own switch.
    case closedByFlag
    /// It has marks that cannot be followed.
    case unusable
  }

  /// The form of its redirect.
  package enum Redirection: Hashable, Sendable {
    case none
    /// A path from the root: true wherever the directory goes.
    case absolute
    /// A name beside its own: true only in the same parent.
    case oneName
  }

  package var below: Below
  package var redirection: Redirection

  package init(_ below: Below, _ redirection: Redirection = .none) {
    self.below = below
    self.redirection = redirection
  }
}

/// What the layers below the upper show together under a name.
package enum LowerEntry: Hashable, Sendable {
  /// Nothing, or a whiteout.
  case nothing
  /// Anything but a directory.
  case file
  case directory
}

/// What a directory shows, and what else its upper part has.
package enum Contents: Hashable, Sendable {
  /// Nothing shows, and the upper part, if there is one, is empty.
  case empty
  /// Nothing shows, but the upper part has whiteouts.
  case whiteouts
  /// At least one name shows.
  case names
}

/// How a name takes part in the count of hard links.
package enum Links: Hashable, Sendable {
  /// The count is that of the inode.
  case single
  /// A name in a lower, of an object that has more of them or has an entry in the index.
  case lowerName
  /// A name in the upper, of an inode with an entry in the index.
  case upperName
}

/// What users see under a name.
package enum Shown: Hashable, Sendable {
  case nothing
  case file
  case directory
}
