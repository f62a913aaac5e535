// Which slot counts, and which version of a block. A version is tried newest first; whether a failure is damage or an
// unsynced write that a crash took is decided here.

/// Why no slot can be trusted: EIO for the content of the file.
package enum FileDamage: Error, Hashable, Sendable {
  case noValidSlot
  /// The last session ended, so it left two valid slots.
  case invalidSlot
  /// A writer never gives a number twice: one slot was copied over the other.
  case equalSequences
}

/// What the slots of a file say when it is opened.
package struct FileView: Hashable, Sendable {
  package let slot: Slot
  package let half: Half
  /// A session that did not end wrote it: what is not committed may be lost.
  package let isDoubtful: Bool

  /// A slot counts only if its seal holds; the caller gives nil for one that does not.
  ///
  /// `hasEnded` answers for sessions, and says yes for the session of this mount.
  package init(
    _ first: Slot?, _ second: Slot?, hasEnded: (UInt64) -> Bool
  ) throws(FileDamage) {
    switch (first, second) {
    case (nil, nil): throw .noValidSlot
    case (let first?, nil): (slot, half) = (first, .first)
    case (nil, let second?): (slot, half) = (second, .second)
    case (let first?, let second?):
      guard first.sequence != second.sequence else { throw .equalSequences }
      (slot, half) = first.sequence > second.sequence ? (first, .first) : (second, .second)
    }
    isDoubtful = !hasEnded(slot.session)
    guard isDoubtful || (first != nil && second != nil) else { throw .invalidSlot }
  }

  /// The pages the backing file must have; an index page missing below is damage.
  package var requiredPages: UInt64 { isDoubtful ? slot.committedPages : slot.pages }

  /// Something cut the backing file.
  ///
  /// Reading continues with what is left; a check of the file says so.
  package func isShortened(pages: UInt64) -> Bool { pages < requiredPages }

  package var readingRules: ReadingRules {
    ReadingRules(
      isDoubtful: isDoubtful, committed: slot.committed, floor: slot.floor,
      blocks: Block.count(slot.fileSize))
  }

  /// What a session does before it changes the file for the first time.
  package enum FirstChange: Hashable, Sendable {
    case nothing
    /// Its last session ended: a slot with the number of this one is written and synced (`CommitState.init(announcing:)`).
    case announce
    /// A crash left it in doubt: what survives is settled, written and synced (`Recovery`).
    case recover
    /// This session changed it, and does not know what of that is on the disk: it is synced (`CommitState.init(resuming:)`).
    case resume
  }

  /// What this mount remembers of a file that it has changed before.
  package enum Memory: Hashable, Sendable {
    case commitState
    /// The state had to be dropped, after the last slot was written.
    case dropped
    /// Nothing, or the last slot could not be written.
    case nothing
  }

  package func firstChange(by session: UInt64, remembering memory: Memory) -> FirstChange {
    if isDoubtful { return .recover }
    guard slot.session == session else { return .announce }
    return switch memory {
    case .commitState: .nothing
    case .dropped: .resume
    case .nothing: .recover
    }
  }
}

/// Decides which version of a block is its content.
package struct ReadingRules: Hashable, Sendable {
  package let isDoubtful: Bool
  package let committed: UInt64
  package let floor: Floor
  /// The blocks the file has.
  package let blocks: UInt64

  package init(isDoubtful: Bool, committed: UInt64, floor: Floor, blocks: UInt64) {
    self.isDoubtful = isDoubtful
    self.committed = committed
    self.floor = floor
    self.blocks = blocks
  }

  package enum Answer: Hashable, Sendable {
    case zeros
    /// Decrypt and verify this one; if it fails, ask `afterFailure`.
    case verify(Version)
    /// EIO, to be logged with file and block.
    case damage
  }

  /// In a doubtful file a sector may be torn: its committed entries are whole and carry their own tags.
  package var acceptsTornSector: Bool { isDoubtful }

  package func isLive(_ version: Version, of block: Block) -> Bool {
    version.exists && block.number < blocks && !floor.hides(version, of: block)
  }

  package func content(of block: Block, _ pair: Pair) -> Answer {
    let (first, second) = (isLive(pair.first, of: block), isLive(pair.second, of: block))
    switch (first, second) {
    case (false, false): return .zeros
    case (true, false): return usable(pair.first, of: block, pair)
    case (false, true): return usable(pair.second, of: block, pair)
    case (true, true):
      guard pair.first.generation != pair.second.generation else { return .damage }
      return usable(
        pair.first.generation > pair.second.generation ? pair.first : pair.second, of: block, pair)
    }
  }

  private func usable(_ version: Version, of block: Block, _ pair: Pair) -> Answer {
    version.target == .invalid ? afterFailure(of: version, of: block, pair) : .verify(version)
  }

  /// The answer when `failed`, which `content` gave, did not verify.
  ///
  /// A committed version that fails is damage, never its predecessor and never zeros. Of two versions one is durable,
  /// whatever the slot knows of that: a writer adds a second one to nothing else.
  package func afterFailure(of failed: Version, of block: Block, _ pair: Pair) -> Answer {
    guard isDoubtful, failed.generation > committed else { return .damage }
    let other = pair.first == failed ? pair.second : pair.first
    guard isLive(other, of: block) else { return .zeros }
    return other.generation < failed.generation ? usable(other, of: block, pair) : .damage
  }
}
