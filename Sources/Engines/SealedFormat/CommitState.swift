// What a writer of one file keeps in memory: which generations are given out, written and durable, which half the next
// slot goes to, and which pages wait for a commit. All changes to it are made by one thread at a time.
//
// The rule behind all of it: whatever a power cut can still need is not overwritten.
//
// For encrypted files: they are written in place, twice for each block, and every cut of the power in between is tried on a
// model of the disk (`SealedFormatTests`).

/// Generations given to one request, one for each block it writes.
package struct Generations: Hashable, Sendable {
  package let first: UInt64
  package let count: UInt64

  package subscript(index: UInt64) -> UInt64 { first + min(index, count - 1) }
  package var last: UInt64 { first + count - 1 }
}

/// The writer's knowledge of one file.
package struct CommitState: Sendable {
  package let session: UInt64
  package internal(set) var fileSize: UInt64
  /// The highest generation given out.
  package private(set) var highest: UInt64
  /// Every version up to this generation is durable; ahead of the slot on the disk.
  package private(set) var committed: UInt64
  /// Ahead of `committed` in a recovery: what its first sync made durable, while the slot must not say so before all that
  /// did not survive is cleared.
  private var durable: UInt64
  package private(set) var committedPages: UInt64
  /// Whole pages of the backing file.
  package var pages: UInt64
  package internal(set) var floor: Floor
  var floorStage: FloorStage
  var clearing = Clearing.durable

  private var lastSlot: Slot
  private var durableHalf: Half
  /// A slot was written since the last commit, into the half that is not durable.
  private var hasNewSlot: Bool
  private var underWay: [UInt64] = []
  /// Pages of committed versions, each with the generation that replaces it.
  private var replaced: [UInt64: UInt64] = [:]
  /// A commit is asked for or under way, of every version up to this one.
  package private(set) var frozen: UInt64?
  private var syncing: Syncing?
  private var failedBlocks: Set<UInt64> = []
  private var mustRewriteSlot = false
  private var lastCommitFailed = false
  private var failedThrough: UInt64 = 0

  /// What an fdatasync under way makes durable beside the versions.
  struct Syncing: Hashable, Sendable {
    let pages: UInt64
    let hasSlot: Bool
    let clearedFloor: Floor?
    let hasClearing: Bool
  }

  private init(view slot: Slot, half: Half, session: UInt64) {
    self.session = session
    fileSize = slot.fileSize
    highest = slot.highest
    committed = slot.committed
    durable = slot.committed
    committedPages = slot.committedPages
    pages = slot.pages
    floor = slot.floor
    floorStage = slot.floor == .none ? .none : .set
    lastSlot = slot
    durableHalf = half
    hasNewSlot = false
  }

  /// A new file: its header has slots of sequence 1 and 2.
  package init(creatingIn session: UInt64) {
    self.init(view: CommitState.firstSlots(session).second, half: .second, session: session)
    mustRewriteSlot = true
  }

  package static func firstSlots(_ session: UInt64) -> (first: Slot, second: Slot) {
    var slot = Slot(
      sequence: 1, fileSize: 0, committed: 0, highest: 0, session: session, committedPages: 0, pages: 1)
    let first = slot
    slot.sequence = 2
    return (first, slot)
  }

  /// A file whose last session ended: all of it is durable.
  ///
  /// A slot with the number of this session is written and synced before anything else changes.
  package init(announcing view: FileView, session: UInt64) {
    self.init(view: view.slot, half: view.half, session: session)
    committed = highest
    durable = highest
    committedPages = pages
    mustRewriteSlot = true
  }

  /// A file of this session whose state had to be dropped; what its slot says stays until the first commit.
  ///
  /// It may have been let go unsynced, so it is synced before anything else changes.
  package init(resuming view: FileView) {
    self.init(view: view.slot, half: view.half, session: view.slot.session)
  }

  /// A file with survivors of a crash, its index read and settled.
  package init(recovering recovery: Recovery, pages: UInt64, session: UInt64) {
    self.init(view: recovery.view.slot, half: recovery.view.half, session: session)
    highest = recovery.highest
    durable = highest
    self.pages = pages
    // The recovery itself clears what the floor hides.
    floorStage = floor == .none ? .none : .cleared
    mustRewriteSlot = true
  }

  // MARK: Generations

  /// Generations for a request; nil when there are no more, which is an error of the file.
  ///
  /// Each is given out once, and 2^64-1 never.
  package mutating func begin(_ count: UInt64) -> Generations? {
    guard count > 0, count < .max - highest else { return nil }
    let generations = Generations(first: highest + 1, count: count)
    highest += count
    underWay.append(generations.first)
    return generations
  }

  /// All entries of the request are written, or it failed and never will.
  package mutating func end(_ generations: Generations) {
    if let index = underWay.firstIndex(of: generations.first) { underWay.remove(at: index) }
  }

  // MARK: Entries

  /// What writing an entry does to the others.
  package enum EntryDestination: Hashable, Sendable {
    /// The block is in a commit under way: wait for its end and ask again.
    case wait
    /// Write the entry into this half. Then `free` may be used again, and `keep` after the commit of the new version.
    case half(Half, free: Page?, keep: Page?)
  }

  /// Where the version `generation` of a block goes.
  ///
  /// Asked while no other entry of the file is written, right before the entry: a commit moves the answer.
  package func destination(of generation: UInt64, in pair: Pair) -> EntryDestination {
    guard let newest = pair.newest else { return .half(.first, free: nil, keep: nil) }
    let replaced = pair[newest].generation
    if let frozen, replaced > durable, replaced <= frozen, generation > frozen { return .wait }
    guard let needed = pair.committed(durable) else {
      return .half(newest, free: pair[newest].page, keep: nil)
    }
    let free = newest == needed ? nil : pair[newest].page
    return .half(needed.other, free: free, keep: pair[needed].page)
  }

  /// Notes an entry that was written.
  ///
  /// A page that is kept waits for the last version written over its own.
  package mutating func wrote(_ generation: UInt64, of block: Block, keeping page: Page?) {
    if let page { replaced[page.number] = generation }
    if generation > failedThrough {
      failedBlocks.remove(block.number)
    } else {
      // Its page was written before a sync that failed.
      failedBlocks.insert(block.number)
    }
  }

  /// The blocks written over since the last commit need this many pages more.
  package var waitingPages: Int { replaced.count }

  // MARK: Slots

  /// The slot to write now and its half; nil while the one written last is in a commit under way.
  ///
  /// A sector rewritten on its way to the disk can be torn, and the half it would fall back to is older than the commit
  /// that is about to succeed.
  package func nextSlot() -> (half: Half, slot: Slot)? {
    if let syncing, syncing.hasSlot { return nil }
    guard lastSlot.sequence < .max else { return nil }
    let slot = Slot(
      sequence: lastSlot.sequence + 1, fileSize: fileSize, committed: committed, highest: highest,
      session: session, committedPages: committedPages, pages: pages, floor: floor)
    return (durableHalf.other, slot)
  }

  /// The slot is written; one whose write failed is asked for again.
  package mutating func wrote(_ slot: Slot) {
    lastSlot = slot
    hasNewSlot = true
    mustRewriteSlot = false
  }

  /// The slot on the disk says less than the last close has to leave.
  package var needsSlot: Bool {
    mustRewriteSlot || lastSlot.fileSize != fileSize || lastSlot.highest != highest || lastSlot.pages != pages
      || lastSlot.floor != floor
  }

  /// Whether this is the slot that was written last.
  package func wroteLast(_ slot: Slot) -> Bool { lastSlot == slot }

  /// The slot does not say the size yet: a commit without one would not make it durable.
  ///
  /// A floor that is needed no more may stay in it: what it hides is not there.
  package var owesSize: Bool {
    mustRewriteSlot || lastSlot.fileSize != fileSize || (floor != .none && lastSlot.floor != floor)
  }

  // MARK: Commits

  package enum Freeze: Hashable, Sendable {
    /// Call fdatasync.
    case ready
    /// Requests that began before are still writing entries: ask `drained` when one has ended.
    case drain
    /// Another commit is under way and may have begun too early: wait for its end and ask again.
    case wait
    /// An earlier one failed and not all it covered is written again: the kernel took the failed pages for written.
    case failed
  }

  /// Begins a commit of everything up to now.
  ///
  /// It waits for what is under way. Were the committed generation to stop short of a request that has not ended, a later one
  /// that has would be in the sync, and reported as durable, and its successor would overwrite it.
  package mutating func freeze() -> Freeze {
    guard frozen == nil else { return .wait }
    frozen = highest
    return drained()
  }

  /// Goes on with the commit that `freeze` began.
  package mutating func drained() -> Freeze {
    guard let frozen, syncing == nil else { return .wait }
    guard !underWay.contains(where: { $0 <= frozen }) else { return .drain }
    guard failedBlocks.isEmpty, !(mustRewriteSlot && lastCommitFailed) else {
      self.frozen = nil
      return .failed
    }
    syncing = Syncing(
      pages: pages, hasSlot: hasNewSlot,
      clearedFloor: floorStage == .cleared && clearing != .lost ? floor : nil,
      hasClearing: clearing == .unsynced)
    return .ready
  }

  /// The fdatasync succeeded; `free` gets the pages that may now be overwritten.
  package mutating func synced(free: (Page) -> Void = { _ in }) {
    guard let frozen, let syncing else { return }
    committed = frozen
    durable = frozen
    committedPages = min(syncing.pages, pages)
    if syncing.hasSlot {
      durableHalf = durableHalf.other
      hasNewSlot = false
    }
    floorStage.commit(&floor, upTo: frozen, cleared: syncing.clearedFloor)
    if syncing.hasClearing, clearing == .unsynced { clearing = .durable }
    for (page, generation) in replaced where generation <= committed {
      if let page = Page(page) { free(page) }
    }
    replaced = replaced.filter { $0.value > committed }
    lastCommitFailed = false
    self.frozen = nil
    self.syncing = nil
  }

  /// The fdatasync failed: nothing of it counts, and all of it has to be written again.
  ///
  /// `blocks` are those whose newest version is not committed, from a walk of the index. What the commit would have made of
  /// a cleared floor is undone: the entries have to be cleared again.
  package mutating func syncFailed(blocks: some Sequence<Block>) {
    guard syncing != nil else { return }
    failedThrough = highest
    failedBlocks.formUnion(blocks.lazy.map(\.number))
    mustRewriteSlot = mustRewriteSlot || hasNewSlot
    lastCommitFailed = true
    if clearing == .unsynced { clearing = .lost }
    self.frozen = nil
    self.syncing = nil
  }

  /// Something of a failed commit is still to be written again.
  ///
  /// Such a state is not dropped: neither the disk nor the page cache tells what was lost.
  package var owesAfterFailure: Bool { !failedBlocks.isEmpty || lastCommitFailed || clearing == .lost }

  package func isUncommitted(_ pair: Pair) -> Bool {
    pair.newest.map { pair[$0].generation > committed } ?? false
  }

  /// The backing file is about to be cut to `pages`: the slot that says so is on the disk before.
  package mutating func lower(to pages: UInt64) {
    self.pages = min(self.pages, pages)
    committedPages = min(committedPages, pages)
  }
}
