// fsync, and what is done when the last user is gone.

import Ciphers
import LinuxFiles
import SealedFormat
import Synchronization

extension SealedFile {
  /// Puts on the disk what was written: one call to the disk, whatever it was.
  ///
  /// Nothing else is written to the backing file: its time of modification stays what a program has set since.
  func synchronize(dataOnly: Bool) throws(Errno) {
    try commits.withLock { (_) throws(Errno) in try synchronizeAlone(dataOnly: dataOnly) }
  }

  /// The same for those who change the file anyway, or give its times back: what a truncation cut off is cleared, too.
  ///
  /// Answers whether anything of it was.
  @discardableResult
  func commit() throws(Errno) -> Bool {
    try commits.withLock { (_) throws(Errno) in
      try synchronizeAlone(dataOnly: true)
      return try turn.withLock { (_) throws(Errno) in try clearFloor() }
    }
  }

  /// Within ``commits``.
  private func synchronizeAlone(dataOnly: Bool) throws(Errno) {
    let isFrozen = try turn.withLock { (_) throws(Errno) in
      if try freeze() { return true }
      // The slot will be durable, and who changed the file by what is remembered would write over it.
      state.withLock { $0.left = nil }
      return false
    }
    guard isFrozen else { return try synchronizeUnchanged(dataOnly: dataOnly) }
    try finishCommit(dataOnly: dataOnly)
  }

  /// Brings to the disk what is frozen; within ``commits``.
  private func finishCommit(dataOnly: Bool) throws(Errno) {
    do throws(Errno) { try store.synchronize(dataOnly: dataOnly) } catch {
      try turn.withLock { (_) throws(Errno) in try syncFailed() }
      throw error
    }
    synced()
  }

  /// A file that nobody has changed since it was opened may have been changed before, and let go of without a sync.
  private func synchronizeUnchanged(dataOnly: Bool) throws(Errno) {
    do throws(Errno) { try store.synchronize(dataOnly: dataOnly) } catch {
      // The kernel takes the pages for written now, and the sync before the next change would succeed.
      if [.inputOutput, .noSpace, .quotaExceeded].contains(error) {
        state.withLock { $0.isBroken = $0.isBroken || $0.pages > 0 }
      }
      throw error
    }
  }

  // MARK: Commits that nobody asked for

  /// Commits when the pages that wait for a commit have become many: a file that is written over and never synced would
  /// take twice its room, and the list of them tens of megabytes.
  ///
  /// Without the turn. One writer does that, and the others go on until there are twice as many.
  func commitOverdue() {
    guard isOverdue(times: 1) else { return }
    if isOverdue(times: 2) {
      commits.withLock { _ in commitIfOverdue() }
    } else {
      _ = commits.withLockIfAvailable { _ in commitIfOverdue() }
    }
  }

  private func isOverdue(times: UInt64) -> Bool {
    state.withLock { state in
      guard let commit = state.commit else { return false }
      return UInt64(commit.waitingPages) > times * SealedLimits.waitingPages(of: state.pages)
    }
  }

  private func commitIfOverdue() {
    guard isOverdue(times: 1) else { return }
    do throws(Errno) {
      guard try turn.withLock({ (_) throws(Errno) in try freeze() }) else { return }
      try finishCommit(dataOnly: true)
    } catch {
      // Whoever asks for a sync hears of it, as long as not all of it is written again.
    }
  }

  /// Whether there is anything to commit; then it is frozen.
  private func freeze() throws(Errno) -> Bool {
    if state.withLock({ $0.isBroken }) { throw .inputOutput }
    guard let commit = state.withLock({ $0.pages > 0 ? $0.commit : nil }) else { return false }
    // A slot that could not be written with the bytes it tells of.
    if commit.owesSize, var cipher = try currentCipher() { try writeSlot(&cipher) }
    try beginCommit()
    return true
  }

  /// Freezes what was written; under the turn, when no other commit is under way.
  func beginCommit() throws(Errno) {
    try state.withLock { (state) throws(Errno) in
      switch state.commit?.freeze() {
      case .ready?: return
      case nil, .failed?: throw .inputOutput
      case .wait?, .drain?:
        // Nobody writes under our turn, so nobody will ever end what it waits for.
        state.isBroken = true
        throw .inputOutput
      }
    }
  }

  /// The disk has what was frozen.
  func synced() {
    state.withLock { state in
      // Not given to the engine as a closure over the state that it belongs to.
      var freed: [Page] = []
      state.commit?.synced { freed.append($0) }
      for page in freed { state.free.free(page) }
      if !freed.isEmpty { state.hasFreed = true }
    }
  }

  /// The kernel takes the pages for written now; they are not.
  ///
  /// Where it cannot be told which blocks those are, nothing is written any more until the next mount settles the file.
  private func syncFailed() throws(Errno) {
    guard let commit = state.withLock({ $0.commit }) else { return }
    do throws(Errno) {
      guard var cipher = try currentCipher() else { throw .inputOutput }
      var blocks: [Block] = []
      try forEachIndexed { (block) throws(Errno) in
        if commit.isUncommitted(try pair(of: block, &cipher)) { blocks.append(block) }
      }
      state.withLock { $0.commit?.syncFailed(blocks: blocks) }
    } catch {
      state.withLock { state in
        state.isBroken = true
        state.commit?.syncFailed(blocks: [])
      }
      throw error
    }
    if var cipher = try currentCipher() { try writeSlot(&cipher) }
  }

  /// Something was written that no sync has brought to the disk, and none may.
  ///
  /// Such a file is kept in memory, and the session that changed it does not end.
  var owesAfterFailure: Bool {
    state.withLock { $0.isBroken || $0.commit?.owesAfterFailure ?? false }
  }

  /// What a truncation cut off is cleared by the next change, if its floor is durable and no commit is under way.
  ///
  /// If that fails it is left to a later one: the change itself has no part in it. Under the turn.
  func clearFloorBeforeChange() {
    guard state.withLock({ $0.commit.map { $0.mayClearFloor && $0.frozen == nil } ?? false }) else { return }
    _ = try? clearFloor()
  }

  /// Under a durable floor: the entries it hides go, and their pages are free; false without one.
  @discardableResult
  private func clearFloor() throws(Errno) -> Bool {
    guard var cipher = try currentCipher(), let commit = state.withLock({ $0.commit }), commit.mayClearFloor
    else { return false }
    var changes: [EntryChange] = []
    var freed: [Page] = []
    let start = commit.floor.block
    try forEachIndexed(from: start) { (block) throws(Errno) in
      let pair = try pair(of: block, &cipher)
      let cleared = commit.clearing(pair, of: block)
      if let page = cleared.free { freed.append(page) }
      for half in Half.allCases where cleared.pair[half] != pair[half] || commit.mustRewriteCleared {
        changes.append(EntryChange(block: block, half: half, version: cleared.pair[half]))
      }
      if changes.count >= SealedLimits.entriesAtOnce {
        try put(changes, &cipher)
        changes = []
      }
    }
    try put(changes, &cipher)
    state.withLock { state in
      state.commit?.clearedFloor()
      for page in freed { state.free.free(page) }
      state.hasFreed = state.hasFreed || !freed.isEmpty
    }
    return true
  }

  /// Nobody uses the file any more: its last slot is written, and what is free goes back to the disk.
  ///
  /// Answers whether anything of the backing file was touched, so that its times can be given back.
  func close() throws(Errno) -> Bool {
    if state.withLock({ $0.commit.map { $0.floor != .none } ?? false }) {
      // What a truncation cut off takes room until two commits have passed.
      try commit()
      try commit()
    } else if state.withLock({ $0.wastesRoom }) {
      try commit()
    }
    return try commits.withLock { (_) throws(Errno) in
      try turn.withLock { (_) throws(Errno) in
        guard var cipher = try currentCipher(), state.withLock({ $0.commit != nil && $0.pages > 0 }) else {
          return false
        }
        var touched = try cut(&cipher)
        if state.withLock({ $0.commit?.needsSlot ?? false }) {
          try writeSlot(&cipher)
          touched = true
        }
        return try punch() || touched
      }
    }
  }

  /// Shortens the backing file, if enough of its last pages are free: that takes a sync.
  ///
  /// The slot with fewer pages is on the disk before the backing file is shorter.
  private func cut(_ cipher: inout FileCipher) throws(Errno) -> Bool {
    let length: UInt64? = state.withLock { state in
      guard state.owesPunch, let commit = state.commit, commit.frozen == nil, !commit.owesAfterFailure,
        commit.floor == .none, let length = state.free.cut(fileSize: commit.fileSize),
        state.pages - min(length, state.pages) >= surroundings.pagesWorthCutting
      else { return nil }
      state.commit?.lower(to: length)
      state.free.cut(to: length)
      return length
    }
    guard let length else { return false }
    try writeSlot(&cipher)
    try beginCommit()
    do throws(Errno) { try store.synchronize(dataOnly: true) } catch {
      try syncFailed()
      throw error
    }
    synced()
    try store.cut(to: length * UInt64(Page.size))
    state.withLock { state in
      state.pages = min(state.pages, length)
      state.index.dropAll()
    }
    return true
  }

  private func punch() throws(Errno) -> Bool {
    let runs = state.withLock { state -> [Range<UInt64>] in
      guard state.owesPunch else { return [] }
      state.hasFreed = false
      var runs: [Range<UInt64>] = []
      state.free.forEachRun { runs.append($0) }
      return runs
    }
    for run in runs {
      try store.punch(run.lowerBound * UInt64(Page.size)..<run.upperBound * UInt64(Page.size))
    }
    return !runs.isEmpty
  }

  /// Nil for a file without bytes.
  func currentCipher() throws(Errno) -> FileCipher? {
    guard let identity = state.withLock({ $0.identity }) else { return nil }
    return try cipher(identity.keys)
  }
}

/// Bounds of what is done in one go.
enum SealedLimits {
  /// How often a block is looked at that another mount writes, a millisecond apart, before that is an error.
  static let looksBesideWriter = 200
  /// Entries held in memory while an index is rewritten.
  static let entriesAtOnce = 4096
  /// Index pages that are read at the first change, so that all free pages are known: 12 MiB of file.
  static let indexPagesAtFirstChange: UInt64 = 64

  /// How many free pages a file keeps at a last close: a small file that is written over again and again goes on between
  /// two pages, and nothing of it is given to the disk and taken back each time.
  static func sparePages(of pages: UInt64) -> UInt64 { min(pages / 2, 4) }

  /// How many pages of a file may wait for a commit before a writer makes one: an eighth of it, 64 MiB at least and 1 GiB
  /// at most.
  ///
  /// From 4 MiB on, random writes to a file of 256 MiB would wait for the disk a third of the time.
  static func waitingPages(of pages: UInt64) -> UInt64 { max(16_384, min(pages / 8, 262_144)) }

  /// The same for a last close, after which nobody would make one.
  static func waitingPagesAtRest(of pages: UInt64) -> UInt64 { max(1024, min(pages / 8, 262_144)) }
}
