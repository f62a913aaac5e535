// The order of writes, as data: `SealedFile` keeps to it, and a model of the engine carries it out and cuts the power after
// every step and inside each. What a step writes comes from `CommitState` and `Recovery` at that moment.

/// One step of a change to a backing file.
package enum Step: Hashable, Sendable {
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

/// The plans.
package enum Plan {
  /// Writing, punching, and the first bytes of a new file; the slot if the size grew or the file is new.
  ///
  /// Killed in between, the daemon leaves the old entries. A power cut keeps any part of it; the pair still has the
  /// committed version, and its page is not used again.
  package static let write: [Step] = [.writePages, .writeEntries, .writeSlot]

  /// The slot goes before the entry of the last block: killed in between, recovery zeroes what is behind the size;
  /// the other way round, synced bytes would be zeros in a file of the old size.
  package static let truncate: [Step] = [.writePages, .writeSlot, .writeEntries]

  /// The first change of a file whose last session ended.
  package static let announce: [Step] = [.writeSlot, .sync, .commit]

  /// The first change of a file of this session whose state was dropped: it may have been let go unsynced.
  package static let resume: [Step] = [.sync, .commit]

  /// The first change of a doubtful file, after `Recovery` has looked at all of its index.
  ///
  /// The first sync makes durable what stays, which may so far be in the page cache only, before anything is cleared.
  /// Entries are the settled pairs; pages and the entries after them are the last block with zeros behind the size.
  package static let recover: [Step] = [
    .sync, .writeEntries, .writeHeader, .writeHeaderCopy, .writePages, .writeEntries, .writeSlot, .sync,
    .commit,
  ]

  package static let lastClose: [Step] = [.writeSlot]

  /// The slot with fewer pages is durable before the backing file is shorter.
  package static let cut: [Step] = [.writeSlot, .sync, .commit, .cut]
}
