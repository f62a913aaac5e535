// What is said of an item that a volume stores and that was named where it is stored: in a source or a backup, where nothing
// is decrypted and no rule counts. For `varve verify` and `varve protect`.

import LinuxFiles
import LinuxPrograms
import TextForms

/// What was to be done with an item.
enum StoredItemUse {
  case verifying
  case changing
}

extension Refusal {
  /// The sentence about an item in an upper directory; nil for anything else.
  static func stored(_ item: VisitedItem, for use: StoredItemUse) -> Refusal? {
    let held = item.held
    guard !held.descriptor.isOnVolume(), let path = try? held.descriptor.heldPath() else { return nil }
    if let table = try? volumeTable(), let volume = (try? TypedPath(path, table))?.volumeOfSource {
      return Refusal(
        "not on a Varve volume, but in the source of the one that is mounted on \(shellWord(volume.mountPoint)); name "
          + "that", isAboutVolume: true)
    }
    guard let upper = (try? FollowedPath(path))?.upper else { return nil }
    let advice =
      switch use {
      case .verifying: "'varve fsck \(shellWord(upper.path))' looks at its encrypted files"
      case .changing: "mount it, and name the file there"
      }
    return Refusal(
      "in the upper directory of a volume that is not mounted here; \(advice)", isAboutVolume: true)
  }
}
