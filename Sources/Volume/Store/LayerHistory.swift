// What has become of a volume's layers since it was mounted for writing the last time.

import LayerRules
import LinuxFiles

/// What the volume file says of layers.
struct StoredLayers: Sendable {
  let isLayered: Bool
  /// The lowers of the last mount for writing.
  let lowers: String?
  /// The directories that they were, in the same order; versions before did not write them down.
  let lowerRoots: [InodeMark]?
  /// The upper directory.
  let root: InodeMark?

  /// Whether it is known that these are not the directories that were the lowers then.
  func isOver(othersThan present: [LowerRoot]) -> Bool {
    guard isLayered else { return false }
    guard let lowerRoots else {
      return lowers.map { $0 != StoredPath.text(ofAll: present.map(\.path)) } ?? false
    }
    return Set(lowerRoots) != Set(present.map(\.mark))
  }

  /// Those of these lowers in whose place another directory was then.
  func replaced(_ present: [LowerRoot]) -> [LowerRoot] {
    guard let lowerRoots, lowerRoots.count == present.count,
      lowers == StoredPath.text(ofAll: present.map(\.path))
    else { return [] }
    return zip(lowerRoots, present).filter { former, lower in
      ![former, lower.mark].contains(.unknown) && former != lower.mark
    }.map(\.1)
  }
}

/// How the layers of a mount differ from those that the volume file tells of.
struct LayerHistory: Sendable {
  /// The lowers of the last mount for writing, as `lower=` names them, where they are not those of now.
  let formerLowers: String?
  /// Lowers whose path led to another directory then, as `lower=` names them.
  let replacedLowers: String?
  /// The upper directory is another one than it was: the tree was copied or restored.
  let isRestored: Bool

  /// `stored`: what the volume file says.
  init(_ stored: StoredLayers, root: InodeMark, _ lowers: [LowerRoot]) {
    let present = StoredPath.text(ofAll: lowers.map(\.path))
    formerLowers = stored.isLayered && stored.lowers != present ? stored.lowers : nil
    let replaced = stored.replaced(lowers).map(\.path)
    replacedLowers = replaced.isEmpty ? nil : StoredPath.text(ofAll: replaced)
    isRestored = stored.root.map { $0 != root } ?? false
    if let formerLowers {
      Log.notice(
        "mounted over other lowers than the last time, which were 'lower=\(formerLowers)'")
    }
    if let replacedLowers {
      Log.warning(
        "mounted over another directory than the last time at the path of a lower: \(replacedLowers); if it was moved or "
          + "restored, unmount the volume and run 'varve check --repair --lower'")
    }
    if isRestored { Log.warning("the upper directory \(LayerHistory.restored)") }
  }

  static let restored =
    "was copied or restored, so some numbers of files have changed; unmount it and run 'varve check --repair'"
}
