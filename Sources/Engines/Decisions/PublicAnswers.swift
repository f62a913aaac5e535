// Which answers are the same for everybody, so that the kernel may remember them.

import AccessControl
import DirectoryModes

extension Item {
  /// Whether every caller may search this directory.
  ///
  /// All three classes have the x bit and nobody is told no. Allow entries never take anything away.
  package func isSearchableByAnyone(_ rules: VolumeRules) -> Bool {
    guard kind == .directory, record == .sound, mode.bits & 0o111 == 0o111 else { return false }
    guard rules.usesLists, let list else { return true }
    return !list.deniesAnybody(.search)
  }

  /// Whether every caller may look at this object's attributes.
  package func isVisibleToAnyone(_ rules: VolumeRules) -> Bool {
    guard rules.usesLists else { return true }
    guard record == .sound else { return false }
    guard let list else { return true }
    return !list.deniesAnybody(.looking)
  }
}
