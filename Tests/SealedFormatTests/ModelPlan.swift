// The order of writes of the model, as data, so that a test can break it. `SealedFile` has the same order in its code; that
// one is cut and broken by `SealedContentTests`.

/// One step of a change to a backing file; what it writes comes from `CommitState` and `Recovery` at that moment.
enum ModelStep: Hashable {
  /// Pages nothing points to yet: the header of a new file, and ciphertext in free pages.
  case writePages
  /// Index sectors with the entries of the change.
  case writeEntries
  /// The slot that `CommitState.nextSlot` gives, if the plan's change needs one.
  case writeSlot
  /// The static sector, or the copy of it.
  case writeHeader
  case writeHeaderCopy
  /// fdatasync of the backing file; nothing goes on before it has succeeded.
  case sync
  /// Replaced pages may be used again, and the committed generation moves on.
  case commit
  /// ftruncate of the backing file.
  case cut
}

/// The steps of each change.
enum ModelPlan {
  /// Writing, punching, and the first bytes of a new file; the slot if the size grew or the file is new.
  static let write: [ModelStep] = [.writePages, .writeEntries, .writeSlot]
  static let truncate: [ModelStep] = [.writePages, .writeSlot, .writeEntries]
  static let announce: [ModelStep] = [.writeSlot, .sync, .commit]
  static let resume: [ModelStep] = [.sync, .commit]
  /// Entries are the settled pairs; pages and the entries after them are the last block with zeros behind the size.
  static let recover: [ModelStep] = [
    .sync, .writeEntries, .writeHeader, .writeHeaderCopy, .writePages, .writeEntries, .writeSlot, .sync,
    .commit,
  ]
  static let lastClose: [ModelStep] = [.writeSlot]
  static let cut: [ModelStep] = [.writeSlot, .sync, .commit, .cut]
}
