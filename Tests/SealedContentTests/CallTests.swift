// How many calls of the disk each operation costs.

import LinuxFiles
import SealedFormat
import Synchronization
import Testing

@testable import LayeredVolume

@Suite struct CallTests {
  let store = MemoryStore()
  let surroundings = TestSurroundings()

  private func open() throws -> TestFile {
    try TestFile(store, in: surroundings, budget: IndexBudget(pages: 64))
  }

  @Test func aSmallNewFileIsTwoWrites() throws {
    let file = try open()
    _ = store.takeCalls()
    try file.put([UInt8](repeating: 1, count: 100), at: 0)
    #expect(store.takeCalls() == ["write", "write"])
    #expect(try file.close() == false)
    #expect(store.takeCalls().isEmpty)
    try file.put([UInt8](repeating: 1, count: 80_000), at: 0)
    _ = try file.close()
  }

  @Test func aLargerNewFileIsTwoWritesToo() throws {
    let file = try open()
    _ = store.takeCalls()
    try file.put([UInt8](repeating: 1, count: 90_000), at: 0)
    #expect(store.takeCalls() == ["write", "write"])
  }

  @Test("A small file that is written over keeps its spare page; those of a larger one go back to the disk")
  func sparePages() throws {
    func rewrite(_ file: TestFile, blocks: Int) throws -> [String] {
      for byte in UInt8(2)...4 { try file.put([UInt8](repeating: byte, count: blocks << 12), at: 0) }
      _ = store.takeCalls()
      let isOwed = file.owesFinish
      #expect(try file.close() == isOwed)
      return store.takeCalls()
    }
    var file = try open()
    try file.put([1], at: 0)
    try file.commit()
    #expect(try rewrite(file, blocks: 1).isEmpty && store.state.withLock { $0.bytes.count } == 4 << 12)
    // The next opening goes on between the two, without a look at where the holes are.
    file = try open()
    _ = store.takeCalls()
    #expect(try rewrite(file, blocks: 1).isEmpty && store.state.withLock { $0.bytes.count } <= 5 << 12)
    try file.put([UInt8](repeating: 5, count: 20 << 12), at: 0)
    try file.commit()
    #expect(try rewrite(file, blocks: 20).contains("punch"))
  }

  @Test func syncIsOneCall() throws {
    let file = try open()
    try file.put([UInt8](repeating: 1, count: 100), at: 0)
    _ = store.takeCalls()
    try file.synchronize(dataOnly: true)
    #expect(store.takeCalls() == ["sync"])
    try file.put([UInt8](repeating: 2, count: 4096), at: 0)
    try file.synchronize(dataOnly: true)
    #expect(store.takeCalls() == ["write", "write", "sync"])
  }

  @Test("A sync after a truncation is one call, too; what was cut off is cleared by the next write")
  func syncAfterATruncation() throws {
    let file = try open()
    try file.put([UInt8](repeating: 1, count: 120_000), at: 0)
    try file.commit()
    try file.truncate(to: 5000)
    for step in 0..<3 {
      _ = store.takeCalls()
      for _ in 0..<3 { try file.synchronize(dataOnly: true) }
      #expect(store.takeCalls() == ["sync", "sync", "sync"], "step \(step)")
      #expect(file.state.withLock { $0.commit?.floor == Floor.none } == (step > 0), "step \(step)")
      try file.put([2], at: 0)
    }
    #expect(try file.get(0..<5000) == [2] + [UInt8](repeating: 1, count: 4999))
  }

  @Test func aFileThatWasLetGoOfIsChangedWithoutASync() throws {
    func again(_ left: LeftState?) throws -> (TestFile, calls: [String]) {
      let file = try TestFile(store, in: surroundings, budget: IndexBudget(pages: 64), left: left)
      try file.put([UInt8](repeating: 2, count: 100), at: 0)
      return (file, store.takeCalls())
    }
    let file = try open()
    try file.put([UInt8](repeating: 1, count: 100), at: 0)
    _ = try file.close()
    let left = try #require(file.leftState)
    _ = store.takeCalls()
    // Read, and let go of once more.
    let reader = try TestFile(store, in: surroundings, budget: IndexBudget(pages: 64), left: left)
    _ = store.takeCalls()
    let (second, calls) = try again(reader.leftState)
    #expect(calls.filter { $0 == "write" }.count == 2 && !calls.contains("sync"), "\(calls)")
    // What somebody else has changed or synced meanwhile is synced first.
    #expect(try again(left).calls.contains("sync"))
    _ = try second.close()
    let late = try #require(second.leftState)
    let synced = try TestFile(store, in: surroundings, budget: IndexBudget(pages: 64), left: late)
    try synced.synchronize(dataOnly: true)
    #expect(synced.leftState == nil)
    surroundings.retire()
    #expect(try again(late).calls.contains("sync"))
  }

  @Test func whatIsRememberedOfAFileCountsOnceAndForFiveSeconds() throws {
    let file = try open()
    try file.put([UInt8](repeating: 1, count: 100), at: 0)
    _ = try file.close()
    let left = try #require(file.leftState)
    let states = LeftStates()
    let seen = Timestamp(seconds: 7, nanoseconds: 0)
    func take(_ inode: UInt64, _ seen: Timestamp?, after age: UInt64) -> Bool {
      states.keep(left, of: 1, seen: Timestamp(seconds: 7, nanoseconds: 0), changed: 100)
      return states.take(inode, seen: seen, now: 100 + age) != nil
    }
    #expect(take(1, seen, after: LeftStates.lifetime - 1))
    #expect(states.take(1, seen: seen, now: 100) == nil)
    #expect(!take(1, seen, after: LeftStates.lifetime))
    #expect(!take(2, seen, after: 0) && !take(1, nil, after: 0))
    #expect(!take(1, Timestamp(seconds: 7, nanoseconds: 1), after: 0))
  }

  @Test func anOverwriteIsAPageAndAnEntry() throws {
    let file = try open()
    try file.put([UInt8](repeating: 1, count: 40_960), at: 0)
    _ = store.takeCalls()
    try file.put([UInt8](repeating: 2, count: 4096), at: 8192)
    #expect(store.takeCalls() == ["write", "write"])
    #expect(try file.get(8192..<8292) == [UInt8](repeating: 2, count: 100))
    #expect(store.takeCalls() == ["read"])
  }

  @Test func aReadInOrderIsACallForEachRunOfPages() throws {
    let file = try open()
    try file.put([UInt8](repeating: 1, count: 96 << 10), at: 0)
    _ = store.takeCalls()
    #expect(try file.get(0..<96 << 10).count == 96 << 10)
    #expect(store.takeCalls() == ["read"])
  }

  @Test(
    "What a session that gave way and did not end has written is synced before the next one announces itself")
  func aPendingSession() throws {
    var file = try open()
    try file.put([1], at: 0)
    _ = try file.close()
    for (isPending, calls) in [(true, ["sync", "write", "sync"]), (false, ["write", "sync"])] {
      surroundings.retire()
      if !isPending { surroundings.endRetired() }
      file = try open()
      _ = store.takeCalls()
      try file.changing { (_) throws(Errno) in () }
      #expect(store.takeCalls().filter { $0 != "read" } == calls)
      _ = try file.close()
    }
  }

  @Test(
    "A file that is written over and never synced takes an eighth more room, or 64 MiB, and not twice as much"
  )
  func replacedPagesAreBounded() throws {
    let file = try open()
    let (piece, pieces, most) = (1 << 20, 80, 16_384)
    func put(_ byte: UInt8, _ numbers: Range<Int>) throws {
      for number in numbers {
        try file.put([UInt8](repeating: byte, count: piece), at: Int64(number * piece))
        #expect(file.state.withLock { $0.commit?.waitingPages ?? 0 } <= most + piece / 4096)
      }
    }
    try put(1, 0..<pieces)
    try file.commit()
    _ = store.takeCalls()
    try put(2, 0..<pieces)
    #expect(store.takeCalls().count { $0 == "sync" } == 1)
    let needed = UInt64(pieces * piece / 4096) * 49 / 48 + 50
    #expect(file.state.withLock { $0.pages } <= needed + UInt64(most + 1024))
    // A sync that fails is heard of by whoever asks for one.
    try file.commit()
    try put(3, 0..<64)
    failNextSync()
    try put(3, 64..<65)
    #expect(file.owesAfterFailure)
    #expect(throws: Errno.inputOutput) { try file.commit() }
    try put(4, 0..<pieces)
    try file.commit()
    #expect(try file.get(0..<4096) == [UInt8](repeating: 4, count: 4096))
  }

  @Test(
    "A last close commits a file of which much was written over, so that the room of the old pages is free")
  func aLastCloseFreesRoom() throws {
    let file = try open()
    func put(_ byte: UInt8, blocks: Int) throws {
      try file.put([UInt8](repeating: byte, count: blocks << 12), at: 0)
      _ = store.takeCalls()
    }
    try put(1, blocks: 4096)
    _ = try file.close()
    #expect(!store.takeCalls().contains("sync"))
    try file.commit()
    try put(2, blocks: 4096)
    #expect(file.owesFinish)
    _ = try file.close()
    #expect(store.takeCalls().contains("sync"))
    #expect(file.state.withLock { $0.commit?.waitingPages } == 0)
    // Little is left to the next change.
    try put(3, blocks: 1024)
    _ = try file.close()
    #expect(!store.takeCalls().contains("sync"))
    #expect(file.state.withLock { $0.commit?.waitingPages } == 1024)
  }

  private func failNextSync() {
    store.state.withLock { state in
      state.beforeSync = { [store] in store.state.withLock { ($0.failsAfter, $0.failsOnce) = (0, true) } }
    }
  }

  @Test("Many open files keep no more of their index than the volume may") func theIndexOfManyFiles() throws {
    let budget = IndexBudget(pages: 16)
    var files: [TestFile] = []
    for number in 0..<40 {
      let file = try TestFile(MemoryStore(), in: surroundings, budget: budget)
      try file.put([UInt8(number)], at: 0)
      files.append(file)
    }
    #expect(budget.pagesInUse == 12)
    // A quarter is for those that have more than a first page.
    for block in 0..<10 { try files[39].put([7], at: Int64(24 + 48 * block) << 12) }
    #expect(budget.pagesInUse == 16)
    for number in 0..<39 {
      #expect(try files[number].get(0..<1) == [UInt8(number)])
      try files[number].put([9], at: 1)
      try files[number].commit()
      _ = try files[number].close()
    }
    for block in 0..<10 {
      #expect(try files[39].get((24 + 48 * block) << 12..<(24 + 48 * block) << 12 + 1) == [7])
    }
    #expect(budget.pagesInUse == 16)
    files = []
    #expect(budget.pagesInUse == 0)
  }

  /// 64 MiB with holes: the first write does not wait for its index.
  @Test func theFirstWriteOfALargeFileReadsNoIndex() throws {
    var file = try open()
    for gigabyte in 0..<2 { try file.put([1], at: Int64(gigabyte) << 26) }
    _ = try file.close()
    surroundings.remount(killed: false)
    file = try open()
    _ = store.takeCalls()
    try file.put([2], at: 4096)
    // The slot that announces, its sync, the page, its entry: and no page of index but page 0.
    #expect(store.takeCalls().filter { $0 == "read" }.count <= 2)
  }
}
