// Bringing up: an object of a lower gets a copy in the upper, and the view stays the same.

/// What is brought up.
package struct CopyUp: Hashable, Sendable {
  package enum Kind: Hashable, Sendable {
    /// Its metadata only: what is in it stays below and shows through.
    case directory
    case file(Bytes)
    /// Links, devices, sockets and FIFOs.
    case other
  }

  package enum Bytes: Hashable, Sendable {
    /// An empty file, or one that is about to be cut to nothing.
    case none
    /// Or shared with the lower: then they are synced as well.
    case copied
  }

  package enum Names: Hashable, Sendable {
    /// The object has one name.
    case one
    /// It has several, and no inode of the upper yet.
    case firstOfSeveral(entryCounts: Bool)
    /// The inode is in the upper already; this name is not.
    case nextOfSeveral
    /// It has names, and is changed through a handle of one that it lost: the entry alone leads from the others to it.
    case entryAlone(entryCounts: Bool)
    /// It lost its last name and is changed through a handle.
    case none
  }

  package var kind: Kind
  package var names: Names
  package var parentIsImpure: Bool

  package init(_ kind: Kind, names: Names = .one, parentIsImpure: Bool = false) {
    self.kind = kind
    self.names = names
    self.parentIsImpure = parentIsImpure
  }
}

extension CopyUp {
  /// The steps, without those of directories above.
  package var steps: [Step] {
    let impure: [Step] = parentIsImpure ? [] : [.markImpure(.name)]
    switch names {
    case .nextOfSeveral:
      return impure + [.linkFromIndex(.name), .restoreParentTimes, .settleCount(.name, -1)]
    case .none: return copy
    case .entryAlone(let entryCounts): return copy + [.startCount] + enter(over: entryCounts)
    case .one:
      let publish: Step = isUnnamed ? .link(.name) : .rename(.work, .name, .toFreeName)
      return copy + impure + [publish, .restoreParentTimes]
    case .firstOfSeveral(let entryCounts):
      return copy + [.startCount] + impure + enter(over: entryCounts) + [
        .linkFromIndex(.name), .restoreParentTimes, .settleCount(.name, -1),
      ]
    }
  }

  /// The entry that only counts is replaced in one call, so that the count is never lost.
  private func enter(over isTaken: Bool) -> [Step] {
    switch (isUnnamed, isTaken) {
    case (true, true): [.link(.work), .rename(.work, .index, .replacing)]
    case (true, false): [.link(.index)]
    case (false, true): [.rename(.work, .index, .replacing)]
    case (false, false): [.rename(.work, .index, .toFreeName)]
    }
  }

  private var isUnnamed: Bool {
    if case .file = kind { true } else { false }
  }

  private var copy: [Step] {
    switch kind {
    case .directory, .other: [.makeCopy, .describe]
    case .file(.none): [.makeUnnamedCopy, .describe]
    case .file(.copied): [.makeUnnamedCopy, .copyData, .syncData, .describe]
    }
  }
}
