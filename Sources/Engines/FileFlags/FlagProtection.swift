// What a flag forbids. Root is bound by all of it.

package import AccessControl

extension FileFlags {
  /// Whether any change of the object is forbidden by a flag; what `varve find -locked` finds.
  package var areLocking: Bool { forbidding(.modifying, onDirectory: false) != nil }

  /// The flag that forbids a request for `rights`, if one does.
  ///
  /// An immutable object refuses every change. An append-only one still takes data at its end (a directory:
  /// new entries) and extended attributes. Reading is never touched.
  package func forbidding(_ rights: Rights, onDirectory isDirectory: Bool) -> FileFlags? {
    guard !rights.contains(.ignoringFlags) else { return nil }
    let changes = rights.intersection(.modifying)
    guard !changes.isEmpty else { return nil }
    if isImmutable { return intersection(.immutable) }
    if isAppendOnly {
      let kept: Rights =
        isDirectory ? [.addFile, .addSubdirectory, .writeExtended] : [.append, .writeExtended]
      if !changes.isSubset(of: kept) { return intersection(.appendOnly) }
    }
    if changes.contains(.delete), contains(.systemNoUnlink) { return .systemNoUnlink }
    return nil
  }
}
