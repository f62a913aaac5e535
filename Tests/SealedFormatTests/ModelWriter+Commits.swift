// Truncations, commits, the last close and cutting the backing file.

import CrashDisk
import Randomness
import SealedFormat

extension ModelWriter {
  // MARK: Truncation

  func mayTruncate(to size: UInt64) -> Bool {
    state.mayTruncate(to: size) || !rules.contains(.truncationWaitsForFloor)
  }

  /// To a size above zero, for which the state allows a floor.
  func truncate(to size: UInt64) throws {
    let tail = CommitState.tail(of: size)
    var words: [UInt64]?
    if rules.contains(.truncationZeroes), let block = tail?.block,
      block.sectorAddress.page.number < UInt64(disk.pages)
    {
      let old = try reader.words(of: block, readingRules, required: 0)
      words = ModelContent.cut(old, of: block.number, at: size)
      if words == old { words = nil }
    }
    // Requests on one file take turns here; those whose pages are written go first in a real one.
    guard let generations = state.begin(1) else { return }
    var request = PendingWrite(generations: generations, blocks: [], size: 0)
    if let words, let block = tail?.block { request = try begin([(block, words)], size: 0) }
    state.truncate(to: size, generations)
    try finish(request, ModelPlan.truncate)
    state.end(generations)
    if !rules.contains(.clearingWaitsForFloor) { try clearFloor() }
  }

  func clearFloor() throws {
    var pairs: [(Block, Pair)] = []
    var freed: [Page] = []
    for block in indexed {
      let pair = try reader.pair(of: block)
      let cleared = state.clearing(pair, of: block)
      if let page = cleared.free { freed.append(page) }
      if !rules.contains(.clearedPageIsItsOwn) {
        freed += Half.allCases.filter { cleared.pair[$0] != pair[$0] }.compactMap { pair[$0].page }
      }
      let rewrites = state.mustRewriteCleared && block.number >= state.floor.block
      if cleared.pair != pair || rewrites { pairs.append((block, cleared.pair)) }
    }
    if rules.contains(.floorWaitsForClearing) { try put(pairs) }
    state.clearedFloor()
    freed.forEach { free.free($0) }
  }

  // MARK: Commits

  /// Until the answer is `ready`, there is no fdatasync.
  func beginSync() throws -> CommitState.Freeze {
    var answer = state.frozen == nil ? state.freeze() : state.drained()
    if answer == .drain, !rules.contains(.drainBeforeSync) {
      underWay.forEach { state.end($0.generations) }
      answer = state.drained()
    }
    if answer == .ready { try disk.beginSync() }
    return answer
  }

  func endSync() throws {
    try disk.endSync()
    state.synced { self.free.free($0) }
    if state.mayClearFloor { try clearFloor() }
  }

  func failSync(_ dice: inout Dice) throws {
    disk.failSync(&dice)
    let blocks = try indexed.filter { state.isUncommitted(try reader.pair(of: $0)) }
    state.syncFailed(blocks: rules.contains(.failedSyncRemembered) ? blocks : [])
    try writeSlot()
  }

  func lastClose() throws {
    guard !isNew, state.needsSlot, rules.contains(.lastCloseWritesSlot) else { return }
    try execute(ModelPlan.lastClose)
  }

  /// Shortens the backing file, if its last pages are free.
  func cut() throws {
    guard state.frozen == nil, underWay.isEmpty, !state.owesAfterFailure, state.floor == .none,
      let length = free.cut(fileSize: state.fileSize)
    else { return }
    state.lower(to: length)
    free.cut(to: length)
    try execute(ordered(ModelPlan.cut))
  }
}
