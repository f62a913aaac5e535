// Every call of the store fails in turn, with each error a disk can give: the caller hears of it, and what was there
// before is there afterwards, or what was to come, and nothing else.

import LinuxFiles
import Randomness
import SealedFormat
import Synchronization
import Testing

@testable import LayeredVolume

@Suite struct FaultTests {
  /// What is done to a file with content, and what it then has to be.
  struct Change: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let work: @Sendable (TestFile) throws -> Void
    let result: @Sendable ([UInt8]) -> [UInt8]
  }

  static let changes: [Change] = [
    Change(testDescription: "overwrite a part") {
      try $0.put([1, 2, 3], at: 5000)
    } result: {
      var after = $0
      after.replaceSubrange(5000..<5003, with: [1, 2, 3])
      return after
    },
    Change(testDescription: "append far") {
      try $0.put([UInt8](repeating: 9, count: 9000), at: 120_000)
    } result: {
      $0 + [UInt8](repeating: 0, count: 120_000 - $0.count) + [UInt8](repeating: 9, count: 9000)
    },
    Change(testDescription: "append in page 0") {
      try $0.put([UInt8](repeating: 9, count: 9000), at: 20_000)
    } result: {
      $0 + [UInt8](repeating: 9, count: 9000)
    },
    Change(testDescription: "cut") {
      try $0.truncate(to: 4100)
    } result: {
      Array($0[..<4100])
    },
    Change(testDescription: "empty") {
      try $0.truncate(to: 0)
    } result: { _ in
      []
    },
    Change(testDescription: "extend") {
      try $0.truncate(to: 200_000)
    } result: {
      $0 + [UInt8](repeating: 0, count: 200_000 - $0.count)
    },
    Change(testDescription: "punch") {
      try $0.allocate([.punchHole, .keepSize], offset: 8192, length: 8192)
    } result: {
      var after = $0
      after.replaceSubrange(8192..<16384, with: repeatElement(0, count: 8192))
      return after
    },
  ]

  @Test(arguments: changes, [Errno.inputOutput, .noSpace])
  func everyCallFailsInTurn(_ change: Change, _ error: Errno) throws {
    // A write that met a full disk once was tried again with what it had encrypted already.
    for once in [false, true] { try sweep(change, error, once: once) }
  }

  /// The kernel writes what there is room for, by blocks of the file system, before it says that there is none.
  @Test("Every write stops short in turn", arguments: changes, [512, 1536, 4096, 6144])
  func everyWriteStopsShort(_ change: Change, part: Int) throws {
    for once in [false, true] { try sweep(change, .noSpace, once: once, part: part) }
  }

  private func sweep(_ change: Change, _ error: Errno, once: Bool, part: Int = 0) throws {
    let before = (0..<20_000).map { UInt8(truncatingIfNeeded: $0 / 7) }
    let after = change.result(before)
    var failed = 0
    for calls in 0..<200 {
      let (store, surroundings) = (MemoryStore(), TestSurroundings())
      var file = try TestFile(store, in: surroundings, budget: IndexBudget(pages: 4))
      try file.put(before, at: 0)
      _ = try file.close()
      surroundings.remount(killed: calls % 2 == 0)
      file = try TestFile(store, in: surroundings, budget: IndexBudget(pages: 4))
      store.state.withLock {
        ($0.failsAfter, $0.error, $0.failsOnce, $0.part) = (calls, error, once, part)
      }
      var hasFailed = false
      do { try change.work(file) } catch let thrown as Errno {
        #expect(thrown == error)
        hasFailed = true
      }
      let wasHit = store.state.withLock { $0.failsAfter == nil }
      store.state.withLock { $0.failsAfter = nil }
      let found = try file.get(0..<300_000)
      // A block is old or new.
      for start in stride(from: 0, to: max(found.count, 1), by: 4096) {
        let block = found.dropFirst(start).prefix(4096)
        #expect(
          FaultTests.fits(block, before, start) || FaultTests.fits(block, after, start),
          "call \(calls): block at \(start)")
      }
      if !hasFailed { #expect(found == after) }
      // What could not be written makes no file longer.
      let isWhole = found.count <= before.count || found == after
      #expect(isWhole, "call \(calls): \(found.count) bytes")
      // The same by a mount that comes after a crash, and the change can be made there.
      surroundings.remount(killed: true)
      let again = try TestFile(store, in: surroundings, budget: IndexBudget(pages: 4))
      #expect([before.count, after.count, found.count].contains(Int(again.size)))
      try change.work(again)
      #expect(try again.get(0..<300_000) == change.result(before))
      // A call that failed once may have been made up for.
      if !hasFailed, !wasHit { break }
      failed += 1
    }
    #expect(failed > 0)
  }

  @Test(
    "A truncation that fails shows nothing of what it cut off when the file is longer again",
    arguments: [true, false])
  func whatWasCutOff(once: Bool) throws {
    let before = (0..<20_000).map { UInt8(truncatingIfNeeded: $0 / 7) }
    var (kept, cut) = (0, 0)
    for calls in 0..<200 {
      let (store, surroundings) = (MemoryStore(), TestSurroundings())
      var file = try TestFile(store, in: surroundings, budget: IndexBudget(pages: 4))
      try file.put(before, at: 0)
      try file.commit()
      store.state.withLock { ($0.failsAfter, $0.failsOnce) = (calls, once) }
      let isDone = (try? file.truncate(to: 4100)) != nil
      let wasHit = once ? store.state.withLock { $0.failsAfter == nil } : !isDone
      store.state.withLock { $0.failsAfter = nil }
      if !wasHit { break }
      let size = Int(file.size)
      if size == 4100 { cut += 1 } else { kept += 1 }
      #expect(size == 4100 || size == 20_000 && !isDone)
      if !once, (try? file.truncate(to: 30_000)) == nil {
        // What cannot be zeros now is so for the next mount.
        surroundings.remount(killed: true)
        file = try TestFile(store, in: surroundings, budget: IndexBudget(pages: 4))
      }
      try file.truncate(to: 30_000)
      let expected = before[..<size] + [UInt8](repeating: 0, count: 30_000 - size)
      #expect(try file.get(0..<40_000) == Array(expected), "call \(calls)")
      try file.commit()
      _ = try file.close()
      surroundings.remount(killed: calls % 2 == 0)
      let again = try TestFile(store, in: surroundings, budget: IndexBudget(pages: 4))
      #expect(try again.get(0..<40_000) == Array(expected), "call \(calls)")
    }
    #expect(kept + cut > 2)
  }

  @Test(
    "The first change of a file that meets a full disk says so",
    arguments: StuckTests.Former.allCases, [Errno.noSpace, .quotaExceeded])
  func aFirstChangeOnAFullDisk(_ former: StuckTests.Former, _ error: Errno) throws {
    let before = (0..<20_000).map { UInt8(truncatingIfNeeded: $0 / 7) }
    for (once, kind) in [(true, "sync"), (false, "sync"), (true, "write"), (false, "write")] {
      let (store, surroundings) = (MemoryStore(), TestSurroundings())
      var file = try TestFile(store, in: surroundings, budget: IndexBudget(pages: 4))
      try file.put(before, at: 0)
      try file.commit()
      _ = try file.close()
      StuckTests.leave(surroundings, former)
      file = try TestFile(store, in: surroundings, budget: IndexBudget(pages: 4))
      store.state.withLock { state in
        let hook = { @Sendable in
          store.state.withLock { ($0.failsAfter, $0.error, $0.failsOnce) = (0, error, once) }
        }
        if kind == "sync" { state.beforeSync = hook } else { state.beforeWrite = hook }
      }
      // What fails once may have been made up for, but by nothing that loses anything.
      var hasFailed = false
      do { try file.put([1, 2, 3], at: 5000) } catch let thrown {
        #expect(thrown == error, "\(kind), \(once ? "once" : "for good")")
        hasFailed = true
      }
      #expect(hasFailed || once)
      store.state.withLock { $0.failsAfter = nil }
      var after = before
      if !hasFailed { after.replaceSubrange(5000..<5003, with: [1, 2, 3]) }
      #expect(try file.get(0..<30_000) == after)
      // Where all was on the disk before, nothing is in doubt.
      if former == .ofEndedSession {
        try file.put([4], at: 7)
        try file.commit()
        after[7] = 4
        #expect(try file.get(0..<30_000) == after)
      }
      _ = try? file.close()
      surroundings.remount(killed: true)
      let again = try TestFile(store, in: surroundings, budget: IndexBudget(pages: 4))
      #expect(try again.get(0..<30_000) == after)
      try again.put([5], at: 9)
      try again.commit()
      after[9] = 5
      #expect(try again.get(0..<30_000) == after)
    }
  }

  @Test("After a sync that failed, a write that meets a full disk says that the disk is full")
  func fullAfterAFailedSync() throws {
    let (store, surroundings) = (MemoryStore(), TestSurroundings())
    let file = try TestFile(store, in: surroundings, budget: IndexBudget(pages: 4))
    try file.put([UInt8](repeating: 1, count: 20_000), at: 0)
    store.state.withLock { ($0.failsAfter, $0.failsOnce) = (0, true) }
    #expect(throws: Errno.inputOutput) { try file.commit() }
    store.state.withLock { ($0.failsAfter, $0.error) = (0, .noSpace) }
    #expect(throws: Errno.noSpace) { try file.put([2], at: 4096) }
    store.state.withLock { $0.failsAfter = nil }
    #expect(throws: Errno.inputOutput) { try file.commit() }
    try file.put([UInt8](repeating: 3, count: 20_000), at: 0)
    try file.commit()
  }

  @Test("What meets a full disk once is appended once", arguments: [3, 24, 40])
  func appendedOnce(blocks: Int) throws {
    let before = (0..<blocks * 4096 - 100).map { UInt8(truncatingIfNeeded: $0 / 7) }
    for calls in 0..<200 {
      let (store, surroundings) = (MemoryStore(), TestSurroundings())
      let file = try TestFile(store, in: surroundings, budget: IndexBudget(pages: 4))
      try file.put(before, at: 0)
      try file.commit()
      store.state.withLock { ($0.failsAfter, $0.error, $0.failsOnce) = (calls, .noSpace, true) }
      var text = [UInt8](repeating: 9, count: 5000)
      var span = text.mutableSpan
      #expect(try file.write(&span, at: .end) == 5000, "call \(calls)")
      let wasHit = store.state.withLock { $0.failsAfter == nil }
      store.state.withLock { $0.failsAfter = nil }
      #expect(try file.get(0..<300_000) == before + [UInt8](repeating: 9, count: 5000), "call \(calls)")
      _ = try file.close()
      surroundings.remount(killed: false)
      let again = try TestFile(store, in: surroundings, budget: IndexBudget(pages: 4))
      #expect(try again.get(0..<300_000) == before + [UInt8](repeating: 9, count: 5000))
      if !wasHit { return }
    }
    Issue.record("every call failed")
  }

  @Test("After a crash a damaged last block keeps no write from the file") func damagedEndAfterCrash() throws
  {
    let (store, surroundings) = (MemoryStore(), TestSurroundings())
    var file = try TestFile(store, in: surroundings, budget: IndexBudget(pages: 4))
    let content = (0..<10_000).map { UInt8(truncatingIfNeeded: $0 / 7) }
    try file.put(content, at: 0)
    _ = try file.close()
    surroundings.remount(killed: false)
    // The last block lies in page 3.
    var bytes = store.bytes
    bytes[3 * 4096 + 7] ^= 1
    store.bytes = bytes
    file = try TestFile(store, in: surroundings, budget: IndexBudget(pages: 4))
    #expect(throws: Errno.inputOutput) { try file.truncate(to: 9000) }
    surroundings.remount(killed: true)
    file = try TestFile(store, in: surroundings, budget: IndexBudget(pages: 4))
    #expect(file.isDoubtful)
    try file.put([1, 2, 3], at: 4)
    #expect(!file.isDoubtful)
    #expect(try file.get(0..<8192) == content[..<4] + [1, 2, 3] + content[7..<8192])
    #expect(throws: Errno.inputOutput) { try file.get(8192..<10_000) }
    try file.truncate(to: 8192)
    try file.truncate(to: 20_000)
    #expect(try file.get(8192..<20_000) == [UInt8](repeating: 0, count: 20_000 - 8192))
  }

  private static func fits(_ block: ArraySlice<UInt8>, _ content: [UInt8], _ start: Int) -> Bool {
    for (index, byte) in block.enumerated() {
      let expected = start + index < content.count ? content[start + index] : 0
      if byte != expected { return false }
    }
    return true
  }
}
