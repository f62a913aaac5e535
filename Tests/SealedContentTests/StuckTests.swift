// What goes wrong in the middle of a request or of a commit leaves no commit waiting for it, and no sync that succeeds.

import Glibc
import LinuxFiles
import SealedFormat
import Synchronization
import Testing

@testable import Ciphers
@testable import LayeredVolume

@Suite(.timeLimit(.minutes(2))) struct StuckTests {
  private let store = MemoryStore()
  private let surroundings = TestSurroundings()

  private static func page(_ byte: UInt8) -> [UInt8] { [UInt8](repeating: byte, count: 4096) }

  private func opened() throws -> TestFile {
    try TestFile(store, in: surroundings, budget: IndexBudget(pages: 64))
  }

  /// A file on the disk.
  private func file(blocks: Int) throws -> TestFile {
    let file = try opened()
    for block in 0..<blocks { try file.put(StuckTests.page(1), at: Int64(block * 4096)) }
    try file.commit()
    return file
  }

  @Test("A write that fails while it is encrypted is waited for by no commit") func failsWhileEncrypted()
    async
  {
    await #expect(processExitsWith: .success) {
      let (store, surroundings) = (MemoryStore(), TestSurroundings())
      let file = try TestFile(store, in: surroundings, budget: IndexBudget(pages: 64))
      try file.put(StuckTests.page(1), at: 0)
      // The key of the second segment is not derived yet, and that takes memory.
      let far: Int64 = 64 << 20
      let heap = try FullHeap()
      #expect(throws: Errno.noMemory) { try file.put(StuckTests.page(2), at: far) }
      heap.empty()
      let pages = file.state.withLock { $0.free.end }
      try file.commit()
      try file.put(StuckTests.page(3), at: far)
      try file.put(StuckTests.page(3), at: 0)
      try file.commit()
      #expect(try file.get(Int(far)..<Int(far) + 5000) == StuckTests.page(3))
      #expect(try file.get(0..<4096) == StuckTests.page(3))
      #expect(file.state.withLock { $0.free.end } == pages, "its page is used again")
    }
  }

  @Test("A sync that fails when there is no memory to find out what it lost ends all changes of the file")
  func failsWithoutMemory() async {
    await #expect(processExitsWith: .success) {
      let (store, surroundings) = (MemoryStore(), TestSurroundings())
      let file = try TestFile(store, in: surroundings, budget: IndexBudget(pages: 64))
      try file.put(StuckTests.page(1), at: 0)
      try file.commit()
      try file.put(StuckTests.page(2), at: 0)
      surroundings.contexts.drain()
      let heap = try FullHeap()
      store.state.withLock { ($0.failsAfter, $0.failsOnce) = (0, true) }
      #expect(throws: Errno.self) { try file.commit() }
      heap.empty()
      #expect(throws: Errno.inputOutput) { try file.put(StuckTests.page(3), at: 0) }
      #expect(throws: Errno.inputOutput) { try file.commit() }
      #expect(file.mustStay && file.owesAfterFailure)
      #expect(try file.get(0..<4096) == StuckTests.page(2))
    }
  }

  @Test("A request that has never ended makes syncs fail, and hangs nobody") func aRequestWithoutEnd() throws
  {
    let file = try file(blocks: 3)
    _ = file.state.withLock { $0.commit?.begin(1) }
    for _ in 0..<2 {
      #expect(throws: Errno.inputOutput) { try file.commit() }
      #expect(throws: Errno.inputOutput) { try file.put(StuckTests.page(2), at: 0) }
    }
    #expect(file.mustStay)
    #expect(try file.get(0..<4096) == StuckTests.page(1))
  }

  @Test("A commit that nobody carries out hangs nobody") func aCommitWithoutEnd() throws {
    let file = try file(blocks: 30)
    try file.put(StuckTests.page(2), at: 28 * 4096)
    _ = file.state.withLock { $0.commit?.freeze() }
    #expect(throws: Errno.inputOutput) { try file.put(StuckTests.page(3), at: 28 * 4096) }
    #expect(throws: Errno.inputOutput) { try file.commit() }
    #expect(try file.get(28 * 4096..<29 * 4096) == StuckTests.page(2))
  }

  @Test("A truncation that fails beside a commit takes nothing of the commit back") func aTruncationBeside()
    throws
  {
    let file = try file(blocks: 30)
    try file.put(StuckTests.page(2), at: 28 * 4096)
    let (isSyncing, mayEnd) = (Flag(), Flag())
    store.state.withLock {
      $0.beforeSync = {
        isSyncing.set()
        mayEnd.wait()
      }
    }
    let thread = try PlainThread { _ = try? file.commit() }
    isSyncing.wait()
    store.state.withLock { state in
      state.beforeWrite = { [store] in
        mayEnd.set()
        while file.state.withLock({ $0.commit?.frozen != nil }) { Clock.pause(milliseconds: 1) }
        store.state.withLock { ($0.failsAfter, $0.failsOnce) = (0, true) }
      }
    }
    #expect(throws: Errno.inputOutput) { try file.truncate(to: 26 * 4096) }
    thread.join()
    #expect(file.size == 30 * 4096)
    #expect(file.state.withLock { $0.commit?.frozen == nil && $0.commit?.floor == Floor.none })
    try file.put(StuckTests.page(3), at: 28 * 4096)
    try file.truncate(to: 29 * 4096)
    try file.commit()
    #expect(try file.get(28 * 4096..<30 * 4096) == StuckTests.page(3))
  }

  /// How a file may be found that is then changed for the first time.
  enum Former: CaseIterable, Sendable {
    case droppedInThisSession, crashed, ofPendingSession, ofEndedSession
  }

  static func leave(_ surroundings: TestSurroundings, _ former: Former) {
    switch former {
    case .droppedInThisSession: break
    case .crashed: surroundings.remount(killed: true)
    case .ofPendingSession: surroundings.retire()
    case .ofEndedSession: surroundings.remount(killed: false)
    }
  }

  @Test(
    "After the sync has failed that a first change needs, no sync succeeds as if nothing had been lost",
    arguments: Former.allCases)
  func aFirstChangeThatFails(_ former: Former) throws {
    _ = try file(blocks: 3).close()
    StuckTests.leave(surroundings, former)
    let file = try opened()
    store.state.withLock { state in
      state.beforeSync = { [store] in store.state.withLock { ($0.failsAfter, $0.failsOnce) = (0, true) } }
    }
    #expect(throws: Errno.inputOutput) { try file.put(StuckTests.page(2), at: 0) }
    #expect(file.mustStay)
    guard former == .ofEndedSession else {
      #expect(throws: Errno.inputOutput) { try file.synchronize(dataOnly: false) }
      #expect(throws: Errno.inputOutput) { try file.put(StuckTests.page(2), at: 0) }
      return
    }
    // All of it is on the disk, but not whose it is now: that is said once more.
    try file.synchronize(dataOnly: false)
    _ = store.takeCalls()
    try file.put(StuckTests.page(2), at: 0)
    #expect(store.takeCalls().starts(with: ["write", "sync"]))
    #expect(!file.owesAnnouncement)
    try file.commit()
  }

  @Test("A sync that fails before the file is changed loses what was written before") func anUnchangedFile()
    throws
  {
    _ = try file(blocks: 3).close()
    let file = try opened()
    store.state.withLock { ($0.failsAfter, $0.failsOnce) = (0, true) }
    #expect(throws: Errno.inputOutput) { try file.synchronize(dataOnly: false) }
    #expect(throws: Errno.inputOutput) { try file.synchronize(dataOnly: false) }
    #expect(throws: Errno.inputOutput) { try file.put(StuckTests.page(2), at: 0) }
    #expect(try file.get(0..<4096) == StuckTests.page(1))
    // Nothing of it is left.
    try file.truncate(to: 0)
    try file.put(StuckTests.page(2), at: 0)
    try file.synchronize(dataOnly: false)
  }
}

/// Something that one thread tells another.
private final class Flag: Sendable {
  private let value = Atomic(false)
  func set() { value.store(true, ordering: .releasing) }

  func wait() {
    while !value.load(ordering: .acquiring) { Clock.pause(milliseconds: 1) }
  }
}

/// All that the secure heap still has, libcrypto's share too.
private final class FullHeap {
  private typealias Allocate = @convention(c) (Int, UnsafePointer<CChar>?, CInt) -> UnsafeMutableRawPointer?
  private typealias Free = @convention(c) (UnsafeMutableRawPointer?, UnsafePointer<CChar>?, CInt) -> Void

  private var pieces: [UnsafeMutableRawPointer] = []
  private let free: Free

  init() throws {
    let library = try #require(dlopen("libcrypto.so.3", RTLD_NOW | RTLD_NOLOAD))
    let allocate = unsafeBitCast(
      try #require(dlsym(library, "CRYPTO_secure_malloc")), to: Allocate.self)
    free = unsafeBitCast(try #require(dlsym(library, "CRYPTO_secure_free")), to: Free.self)
    for size in [1 << 20, 65536, 4096, 1024, 128, 32] {
      while let piece = allocate(size, nil, 0) { pieces.append(piece) }
    }
  }

  func empty() {
    for piece in pieces { free(piece, nil, 0) }
    pieces = []
  }
}
