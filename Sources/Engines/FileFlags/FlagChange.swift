// Who may change which flag.

/// A wanted change of flags, worked out against what is set.
package struct FlagChange: Hashable, Sendable {
  /// Why a change of flags cannot be had, whatever the access list says.
  package enum Obstacle: Hashable, Sendable {
    /// These flags belong to root.
    case needsRoot(FileFlags)
    /// The secure level keeps these flags, and with them the object, as they are.
    case secureLevel(FileFlags)
  }

  package let before: FileFlags
  /// What will be stored.
  package let after: FileFlags
  /// What the caller wants to differ, even where nothing of it would be stored.
  private let asked: FileFlags

  /// Works out the change from `before` to the complete set `wanted`.
  ///
  /// Synthetic flags are ignored. A differing `compressed` is ignored too: it says how the bytes are
  /// stored, which `chflags` does not change.
  package init(from before: FileFlags, to wanted: FileFlags) {
    let kept: FileFlags = FileFlags.synthetic.union(.compressed)
    let stored = FileFlags.ownerSettable.union(.storedSystem)
    self.before = before
    after = wanted.subtracting(kept).intersection(stored).union(before.intersection(kept))
    asked = before.symmetricDifference(wanted).subtracting(kept)
  }

  package var changed: FileFlags { before.symmetricDifference(after) }

  /// Whether nothing is asked for; dropping a flag only root may name still takes root.
  package var isNothing: Bool { asked.isEmpty }

  /// What stands in the way before the right `writesecurity` is even asked for.
  package func obstacle(isSuperuser: Bool, secureLevel: Int) -> Obstacle? {
    guard !isNothing else { return nil }
    let foreign = asked.subtracting(.ownerSettable)
    if !isSuperuser, !foreign.isEmpty { return .needsRoot(foreign) }
    let pinned = before.intersection([.systemImmutable, .systemAppendOnly])
    if secureLevel > 0, !pinned.isEmpty { return .secureLevel(pinned) }
    // Above level 0 nobody clears sunlnk either.
    let cleared = before.subtracting(after).intersection(.systemNoUnlink)
    if secureLevel > 0, !cleared.isEmpty { return .secureLevel(cleared) }
    return nil
  }
}
