// The rules one by one, without a file.

import SealedFormat
import Testing

private func version(_ generation: UInt64, page: UInt64 = 1) -> Version {
  guard generation > 0, let page = Page(page) else { return .none }
  return Version(page: page, generation: generation, random: generation, tag: .zero)
}

private func slot(_ sequence: UInt64, session: UInt64 = 1, size: UInt64 = 0, floor: Floor = .none) -> Slot {
  Slot(
    sequence: sequence, fileSize: size, committed: 5, highest: 9, session: session, committedPages: 3,
    pages: 7,
    floor: floor)
}

private func begin(_ count: UInt64, _ state: inout CommitState) throws -> Generations {
  let generations = state.begin(count)
  return try #require(generations)
}

@Suite struct ReadingTests {
  /// Every pair of generations 0...7 around a committed 4, each version verifying or not, against the rule in words.
  @Test func everySmallPair() throws {
    for number in UInt64(0)..<6 {
      let block = try #require(Block(number))
      for floor in [Floor.none, Floor(block: 2, generation: 3)] {
        for isDoubtful in [false, true] {
          let rules = ReadingRules(isDoubtful: isDoubtful, committed: 4, floor: floor, blocks: 5)
          for one in UInt64(0)..<8 {
            for two in UInt64(0)..<8 {
              for good in 0..<4 { check(rules, block, Pair(version(one), version(two, page: 2)), good) }
            }
          }
        }
      }
    }
  }

  private func check(_ rules: ReadingRules, _ block: Block, _ pair: Pair, _ good: Int) {
    func verifies(_ version: Version) -> Bool { good & (version == pair.first ? 1 : 2) != 0 }
    let live = [pair.first, pair.second].filter {
      $0.generation > 0 && block.number < 5
        && !(rules.floor.generation > 0 && block.number >= 2 && $0.generation <= 3)
    }.sorted { $0.generation > $1.generation }
    var expected = live.count == 2 ? ReadingRules.Answer.damage : .zeros
    if live.count == 2, live[0].generation == live[1].generation {
      expected = .damage
    } else {
      for version in live {
        if verifies(version) {
          expected = .verify(version)
          break
        }
        if !rules.isDoubtful || version.generation <= 4 {
          expected = .damage
          break
        }
      }
    }
    var answer = rules.content(of: block, pair)
    while case .verify(let version) = answer, !verifies(version) {
      answer = rules.afterFailure(of: version, of: block, pair)
    }
    if answer != expected { Issue.record("\(pair) \(good) \(rules): \(answer), not \(expected)") }
  }

  @Test(arguments: [0, 25, 74])
  func aPointerToWhereNoBlockCanBeFails(_ page: UInt64) throws {
    let block = try #require(Block(0))
    let pair = Pair(version(3), version(6, page: page))
    let settled = ReadingRules(isDoubtful: false, committed: 5, floor: .none, blocks: 1)
    let doubtful = ReadingRules(isDoubtful: true, committed: 5, floor: .none, blocks: 1)
    #expect(settled.content(of: block, pair) == .damage)
    #expect(doubtful.content(of: block, pair) == .verify(pair.first))
  }

  @Test func theHigherSlotCounts() throws {
    let view = try FileView(slot(4), slot(3), hasEnded: { _ in true })
    #expect(view.half == .first && view.slot.sequence == 4 && !view.isDoubtful && view.requiredPages == 7)
    let doubtful = try FileView(nil, slot(3), hasEnded: { _ in false })
    #expect(doubtful.half == .second && doubtful.isDoubtful && doubtful.requiredPages == 3)
  }

  @Test func slotsThatCannotBeTrusted() {
    func damage(_ first: Slot?, _ second: Slot?, ended: Bool) -> FileDamage? {
      do throws(FileDamage) {
        _ = try FileView(first, second, hasEnded: { _ in ended })
        return nil
      } catch { return error }
    }
    #expect(damage(nil, nil, ended: false) == .noValidSlot)
    #expect(damage(slot(1), nil, ended: true) == .invalidSlot)
    #expect(damage(slot(1), nil, ended: false) == nil)
    #expect(damage(slot(2), slot(2), ended: false) == .equalSequences)
  }

  @Test func theFirstChange() throws {
    let ended = try FileView(slot(4, session: 3), slot(3), hasEnded: { _ in true })
    let doubtful = try FileView(slot(4, session: 3), slot(3), hasEnded: { _ in false })
    #expect(ended.firstChange(by: 9, remembering: .nothing) == .announce)
    #expect(doubtful.firstChange(by: 9, remembering: .nothing) == .recover)
    #expect(ended.firstChange(by: 3, remembering: .commitState) == .nothing)
    #expect(ended.firstChange(by: 3, remembering: .dropped) == .resume)
    #expect(ended.firstChange(by: 3, remembering: .nothing) == .recover)
  }
}

@Suite struct WritingTests {
  private func committed(_ generation: UInt64) throws -> CommitState {
    var one = slot(2)
    one.committed = generation
    one.highest = 20
    return CommitState(resuming: try FileView(one, slot(1), hasEnded: { _ in true }))
  }

  @Test func theCommittedHalfIsNeverWritten() throws {
    let state = try committed(5)
    for one in UInt64(0)..<9 {
      for two in UInt64(0)..<9 where one != two || one == 0 {
        let pair = Pair(version(one, page: 1), version(two, page: 2))
        guard case .half(let half, let free, let keep) = state.destination(of: 21, in: pair) else {
          Issue.record("wait")
          continue
        }
        let needed = [one, two].filter { $0 > 0 && $0 <= 5 }.max()
        #expect(needed == nil || pair[half].generation != needed)
        #expect(keep == [pair.first, pair.second].first { $0.exists && $0.generation == needed }?.page)
        let newest = max(one, two)
        #expect((free != nil) == (newest > 5))
      }
    }
  }

  @Test func whatACommitCoversWaits() throws {
    var state = CommitState(creatingIn: 1)
    let first = try begin(1, &state)
    let block = try #require(Block(0))
    #expect(state.freeze() == .drain)
    // It is part of the commit itself.
    #expect(state.destination(of: first.first, in: Pair()) == .half(.first, free: nil, keep: nil))
    state.wrote(first.first, of: block, keeping: nil)
    state.end(first)
    #expect(state.freeze() == .wait)
    let second = try begin(1, &state)
    #expect(state.destination(of: second.first, in: Pair(version(first.first))) == .wait)
    #expect(state.drained() == .ready)
    state.synced()
    #expect(state.committed == first.first)
    let answer = state.destination(of: second.first, in: Pair(version(first.first)))
    #expect(answer == .half(.second, free: nil, keep: Page(1)))
  }

  @Test func aReplacedPageIsFreeAfterTheCommitOfItsSuccessor() throws {
    var state = CommitState(creatingIn: 1)
    let (block, page) = (try #require(Block(0)), try #require(Page(1)))
    let first = try begin(1, &state)
    state.wrote(first.first, of: block, keeping: page)
    #expect(state.freeze() == .drain)
    state.end(first)
    var freed: [Page] = []
    #expect(state.drained() == .ready && state.waitingPages == 1)
    state.synced { freed.append($0) }
    #expect(freed == [page] && state.waitingPages == 0)
  }

  @Test func aFailedCommitIsOwedUntilEachBlockIsWrittenAgain() throws {
    var state = CommitState(creatingIn: 1)
    let blocks = try [0, 1, 2].map { try #require(Block($0)) }
    let (one, underWay) = (try begin(1, &state), try begin(1, &state))
    state.end(one)
    state.wrote(try #require(state.nextSlot()).slot)
    #expect(state.freeze() == .drain)
    state.end(underWay)
    #expect(state.drained() == .ready)
    let late = try begin(1, &state)
    state.syncFailed(blocks: blocks[0..<2])
    #expect(state.owesAfterFailure && state.committed == 0)
    state.wrote(try #require(state.nextSlot()).slot)
    #expect(state.freeze() == .drain)
    // Its page was written before the failure, its entry after it.
    state.wrote(late.first, of: blocks[2], keeping: nil)
    state.end(late)
    #expect(state.drained() == .failed)
    for block in blocks {
      #expect(state.freeze() == .failed)
      let again = try begin(1, &state)
      state.wrote(again.first, of: block, keeping: nil)
      state.end(again)
    }
    #expect(state.freeze() == .ready)
    state.synced()
    #expect(!state.owesAfterFailure && state.committed == state.highest)
  }

  @Test func generationsEnd() throws {
    var one = slot(2)
    one.highest = .max - 3
    var state = CommitState(resuming: try FileView(one, slot(1), hasEnded: { _ in true }))
    let (tooMany, none) = (state.begin(3), state.begin(0))
    #expect(tooMany == nil && none == nil)
    let last = try begin(2, &state)
    #expect(last[0] == .max - 2 && last.last == .max - 1)
    let next = state.begin(1)
    #expect(next == nil)
  }

  @Test func aFloorGoesInThreeSteps() throws {
    var state = CommitState(creatingIn: 1)
    func commit() throws {
      #expect(state.freeze() == .ready)
      state.synced()
    }
    state.grow(to: 40960)
    state.wrote(try #require(state.nextSlot()).slot)
    let generations = try begin(1, &state)
    state.truncate(to: 5000, generations)
    #expect(state.floor == Floor(block: 2, generation: 1) && !state.mayClearFloor)
    #expect(state.mayTruncate(to: 4096) && state.mayTruncate(to: 8192) && !state.mayTruncate(to: 8193))
    state.wrote(try #require(state.nextSlot()).slot)
    state.end(generations)
    try commit()
    #expect(state.mayClearFloor && state.floor != .none)
    state.clearedFloor()
    #expect(!state.mayClearFloor && state.floor != .none)
    try commit()
    #expect(state.floor == .none && state.mayTruncate(to: 40960))
    // The slot has it still, which hides nothing that is there.
    #expect(!state.owesSize && state.needsSlot)
  }

  /// Also when another truncation has set another floor meanwhile: the page cache shows entries that the disk still has.
  @Test func aClearingThatWasLostIsDoneAgain() throws {
    for truncatesBeforeFailure in [false, true] {
      var state = CommitState(creatingIn: 1)
      func commit() {
        #expect(state.freeze() == .ready)
        state.synced()
      }
      func truncate(to size: UInt64) throws {
        let generations = try begin(1, &state)
        state.truncate(to: size, generations)
        state.wrote(try #require(state.nextSlot()).slot)
        state.end(generations)
      }
      state.grow(to: 40960)
      state.wrote(try #require(state.nextSlot()).slot)
      try truncate(to: 20480)
      commit()
      state.clearedFloor()
      if truncatesBeforeFailure { try truncate(to: 8192) }
      #expect(state.freeze() == .ready)
      state.syncFailed(blocks: [])
      #expect(state.owesAfterFailure)
      if !truncatesBeforeFailure { try truncate(to: 8192) }
      state.wrote(try #require(state.nextSlot()).slot)
      commit()
      #expect(state.mayClearFloor && state.mustRewriteCleared && state.owesAfterFailure)
      state.clearedFloor()
      #expect(!state.mustRewriteCleared)
      commit()
      #expect(state.floor == .none && !state.owesAfterFailure)
    }
  }

  @Test func aClearedPairFreesOnlyThePageOfItsNewestEntry() throws {
    var state = CommitState(creatingIn: 1)
    _ = try begin(5, &state)
    let generations = try begin(1, &state)
    state.end(generations)
    state.truncate(to: 0, generations)
    let block = try #require(Block(3))
    let dead = state.clearing(Pair(version(2, page: 4), version(1, page: 5)), of: block)
    #expect(dead.pair == Pair() && dead.free == Page(4))
    let living = state.clearing(Pair(version(2, page: 4), version(7, page: 5)), of: block)
    #expect(living.pair == Pair(.none, version(7, page: 5)) && living.free == nil)
  }
}

@Suite struct RecoveryTests {
  private let view = try? FileView(
    slot(2, session: 4, size: 4 * 4096, floor: Floor(block: 3, generation: 7)), nil, hasEnded: { _ in false })

  @Test func whatStays() throws {
    let block = try #require(Block(1))
    var recovery = Recovery(try #require(view))
    let old = version(4)
    for (pair, good, left) in [
      (Pair(old, version(8, page: 2)), true, Pair(old, version(8, page: 2))),
      (Pair(old, version(8, page: 2)), false, Pair(old)),
      // A second version is only added to one that is durable.
      (Pair(version(10), version(8, page: 2)), false, Pair(.none, version(8, page: 2).withoutPage)),
      (Pair(version(10)), false, Pair()),
      // Committed: it stays, whether it verifies or not.
      (Pair(old), false, Pair(old)),
    ] {
      #expect(recovery.settle(pair, of: block) { _ in good } == left)
    }
    #expect(recovery.highest == 10)
    // Where the seal does not hold, a page that does not verify may be another block's.
    let kept = recovery.settle(Pair(old), of: block, isTorn: true) { _ in true }
    #expect(recovery.mustVerify(old, of: block, isTorn: true) && !recovery.mustVerify(old, of: block))
    #expect(kept == Pair(old) && Recovery.pageInUse(kept) == old.page)
    let damaged = recovery.settle(Pair(old), of: block, isTorn: true) { _ in false }
    let (version, expected) = (damaged.newest.map { damaged[$0] }, old.generation)
    #expect(version?.generation == expected && version?.target == .invalid && version?.page == nil)
    #expect(Recovery.pageInUse(damaged) == nil)
  }

  @Test func whatIsUnderTheFloorOrBehindTheSizeGoes() throws {
    var recovery = Recovery(try #require(view))
    let (under, behind) = (try #require(Block(3)), try #require(Block(4)))
    let pair = Pair(version(4), version(8, page: 2))
    #expect(recovery.settle(pair, of: under) { _ in true } == Pair(.none, version(8, page: 2)))
    #expect(recovery.settle(pair, of: behind) { _ in true } == Pair())
    #expect(recovery.highest == 9)
  }

  /// A damaged generation must not use up those that are left.
  @Test func anImpossibleGenerationIsClearedAndNotCounted() throws {
    var recovery = Recovery(try #require(view))
    let block = try #require(Block(1))
    #expect(recovery.settle(Pair(version(4), version(1 << 60)), of: block) { _ in true } == Pair(version(4)))
    #expect(recovery.highest == 9)
  }
}

@Suite struct SessionTests {
  @Test func numbersGoUpAlsoWhenTheClockGoesBack() {
    var log = SessionLog(lostIn: .zero)
    #expect(!log.hasEnded(0) && !log.hasEnded(5))
    #expect(log.begin(now: 100) == 100 && log.bar == 99)
    #expect(log.begin(now: 7) == 101)
    log.end(100)
    #expect(log.hasEnded(100) && !log.hasEnded(101) && !log.hasEnded(99) && !log.hasEnded(102))
  }

  @Test func aFullLogRaisesTheBar() {
    var log = SessionLog(lostIn: .zero)
    for _ in 0..<SessionLog.limit { _ = log.begin(now: 1) }
    #expect(log.listed.count == SessionLog.limit)
    let last = log.last
    let next = log.begin(now: 1)
    #expect(log.bar == last && log.listed == [last + 1] && next == last + 1)
    #expect((0...last).allSatisfy { !log.hasEnded($0) })
    #expect(damageOf { _ = try SessionLog(decoding: log.encoded().span) } == nil)
  }

  @Test func afterTheLastNumberThereIsNoSession() {
    var log = SessionLog(lostIn: .zero)
    #expect(log.begin(now: .max) == .max && log.begin(now: 1) == nil)
  }
}

@Suite struct KeybagTests {
  private func keyslot(_ id: UInt64) -> Keyslot {
    Keyslot(
      keyfile: Bytes16(low: id, high: 0), salt: .zero,
      wrapped: WrappedKey(nonce: Nonce(random: id, counter: id), ciphertext: .zero, tag: .zero))
  }

  @Test func theLastSlotStays() throws {
    var keybag = Keybag(volume: .zero, checkValue: .zero, first: keyslot(1))
    #expect(throws: Keybag.Refusal.lastSlot) { try keybag.remove(at: 0) }
    try keybag.add(keyslot(2))
    try keybag.remove(at: 0)
    #expect(throws: Keybag.Refusal.lastSlot) { try keybag.remove(at: 1) }
    #expect(throws: Keybag.Refusal.noSuchSlot) { try keybag.remove(at: 0) }
    try keybag.add(keyslot(3))
    #expect(keybag.generation == 4 && keybag.slots.map { $0?.keyfile.low } == [3, 2])
  }

  @Test func itHoldsSixtyFourSlots() throws {
    var keybag = Keybag(volume: .zero, checkValue: .zero, first: keyslot(0))
    for id in UInt64(1)..<64 { try keybag.add(keyslot(id)) }
    #expect(throws: Keybag.Refusal.full) { try keybag.add(keyslot(64)) }
    #expect(keybag.order(for: Bytes16(low: 5, high: 0)).prefix(3) == [5, 0, 1])
    #expect(keybag.failure(for: Bytes16(low: 5, high: 0)) == .damaged)
    #expect(keybag.failure(for: Bytes16(low: 99, high: 0)) == .wrongKey)
  }
}
