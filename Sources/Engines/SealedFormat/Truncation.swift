// Truncation: the floor in the slot hides the entries of dead blocks at once, and they are cleared later.

/// How far a floor is on its way out.
enum FloorStage: Hashable, Sendable {
  case none
  /// In the slot, not known to be durable.
  case set
  /// Durable: the entries it hides may be cleared.
  case committed
  /// They are cleared; after the next commit it is needed no more.
  case cleared

  mutating func commit(_ floor: inout Floor, upTo generation: UInt64, cleared: Floor?) {
    switch self {
    case .none, .committed: break
    case .set: if floor.generation <= generation { self = .committed }
    case .cleared:
      guard cleared == floor else { return }
      floor = .none
      self = .none
    }
  }
}

/// Whether entries that were cleared are cleared on the disk, whatever floor there is by now.
enum Clearing: Hashable, Sendable {
  case durable
  case unsynced
  /// The sync failed: they are there again, and the page cache does not show it.
  case lost
}

extension CommitState {
  /// Whether a floor for `size` would hide all that the present one hides.
  ///
  /// If not, commit, clear and commit first.
  package func mayTruncate(to size: UInt64) -> Bool {
    floorStage == .none || Block.count(size) <= floor.block
  }

  /// Makes the file `size` bytes long.
  ///
  /// The first of `generations` is the floor's; it stays under way until the slot is written, so no commit counts the floor
  /// before. A second one is for the last block, to be written again with zeros behind the size.
  ///
  /// The page of that block is written first, then the slot, then the entry of the block. Killed in between, recovery
  /// zeroes what is behind the size; with the entry before the slot, synced bytes would be zeros in a file of the old size.
  package mutating func truncate(to size: UInt64, _ generations: Generations) {
    fileSize = size
    floor = Floor(block: Block.count(size), generation: generations.first)
    floorStage = .set
  }

  /// The slot that was to say so could not be written: size and floor are again what they were.
  ///
  /// A commit that ended meanwhile covered no floor of this truncation.
  package mutating func takeBackTruncation(to before: CommitState) {
    (fileSize, floor, floorStage) = (before.fileSize, before.floor, before.floorStage)
  }

  /// Makes the file longer; there is nothing but zeros behind its size.
  package mutating func grow(to size: UInt64) {
    fileSize = max(fileSize, size)
  }

  /// The last block of a file of `size` bytes, if it has bytes behind the size.
  package static func tail(of size: UInt64) -> (block: Block, used: Int)? {
    let used = Int(size % UInt64(Block.size))
    guard used != 0, let block = Block(size / UInt64(Block.size)) else { return nil }
    return (block, used)
  }

  /// The floor is durable, and its entries have to be cleared.
  package var mayClearFloor: Bool {
    floorStage == .committed || (floorStage == .cleared && clearing == .lost)
  }

  /// A sync after a clearing failed: write each index sector from the floor's block on, changed or not.
  ///
  /// A later floor is never at a higher block, so it covers what an earlier one hid.
  package var mustRewriteCleared: Bool { clearing == .lost }

  /// The pair without the entries under the floor, and the page that becomes free.
  ///
  /// Only the newest entry has its page to itself: that of an older one is free already, or waits for the commit of
  /// what replaces it.
  package func clearing(_ pair: Pair, of block: Block) -> (pair: Pair, free: Page?) {
    var left = pair
    var free: Page?
    for half in Half.allCases where pair[half].exists && floor.hides(pair[half], of: block) {
      left[half] = .none
      if pair.newest == half { free = pair[half].page }
    }
    return (left, free)
  }

  /// All of them are cleared, on their way to the disk.
  package mutating func clearedFloor() {
    guard mayClearFloor else { return }
    floorStage = .cleared
    clearing = .unsynced
  }
}
