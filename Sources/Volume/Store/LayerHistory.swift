// What has become of a volume's layers since it was mounted for writing the last time.

import LayerRules
import LinuxFiles

/// How the layers of a mount differ from those that the volume file tells of.
struct LayerHistory: Sendable {
  /// The lowers of the last mount for writing, as `lower=` names them, where they are not those of now.
  let formerLowers: String?
  /// The upper directory is another one than it was: the tree was copied or restored.
  let isRestored: Bool

  /// `stored`: what the volume file says.
  init(
    _ stored: (isLayered: Bool, lowers: String?, root: InodeMark?), root: InodeMark, _ lowers: [LowerRoot]
  ) {
    let present = StoredPath.text(ofAll: lowers.map(\.path))
    formerLowers = stored.isLayered && stored.lowers != present ? stored.lowers : nil
    isRestored = stored.root.map { $0 != root } ?? false
    if let formerLowers {
      Log.notice("mounted over other lowers than the last time, which were 'lower=\(formerLowers)'")
    }
    if isRestored { Log.warning("the upper directory \(LayerHistory.restored)") }
  }

  static let restored =
    "was copied or restored, so some numbers of files have changed; unmount it and run 'varve check --repair'"
}
