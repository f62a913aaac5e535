// Whoever changes the stored bytes of a file whose session has ended is noticed: EIO, and never other content.

import LinuxFiles
import Randomness
import SealedFormat
import Synchronization
import Testing

@testable import LayeredVolume

@Suite struct TamperTests {
  /// A file of two index pages with a rewritten block, a hole and a partial end.
  private func made() throws -> (bytes: [UInt8], content: [UInt8], TestSurroundings) {
    let (store, surroundings) = (MemoryStore(), TestSurroundings())
    let file = try TestFile(store, in: surroundings, budget: IndexBudget(pages: 16))
    var content = (0..<130_000).map { UInt8(truncatingIfNeeded: $0 / 11) }
    try file.put(content, at: 0)
    try file.put([UInt8](repeating: 200, count: 4096), at: 8192)
    content.replaceSubrange(8192..<12288, with: repeatElement(200, count: 4096))
    try file.synchronize(dataOnly: true)
    try file.allocate([.punchHole, .keepSize], offset: 16384, length: 4096)
    content.replaceSubrange(16384..<20480, with: repeatElement(0, count: 4096))
    _ = try file.close()
    surroundings.remount(killed: false)
    return (store.bytes, content, surroundings)
  }

  /// Nil for EIO, in the header or anywhere in the content.
  private func read(_ bytes: [UInt8], _ surroundings: TestSurroundings) throws -> [UInt8]? {
    let store = MemoryStore()
    store.bytes = bytes
    do throws(Errno) {
      let file = try TestFile(store, in: surroundings, budget: IndexBudget(pages: 16))
      return try file.get(0..<200_000)
    } catch {
      #expect(error == .inputOutput)
      return nil
    }
  }

  @Test func everyBitThatCountsIsWatched() throws {
    let (bytes, content, surroundings) = try made()
    #expect(try read(bytes, surroundings) == content)
    var dice = Dice(for: "flipped bits")
    var noticed = 0
    for _ in 0..<3000 {
      var flipped = bytes
      flipped[dice.below(bytes.count)] ^= 1 << UInt8(dice.below(8))
      let found = try read(flipped, surroundings)
      #expect(found == nil || found == content)
      noticed += found == nil ? 1 : 0
    }
    #expect(noticed > 1500)
  }

  @Test func slotsAreWatchedBitByBit() throws {
    let (bytes, _, surroundings) = try made()
    for position in 1024..<2048 {
      // What no field and no seal covers does not exist in a slot.
      var flipped = bytes
      flipped[position] ^= 1 << UInt8(position % 8)
      #expect(try read(flipped, surroundings) == nil, "byte \(position)")
    }
  }

  @Test func sectorsAndPagesCannotChangePlaces() throws {
    let (bytes, content, surroundings) = try made()
    let sectors = bytes.count / 512
    var dice = Dice(for: "moved sectors")
    for _ in 0..<400 {
      let (first, second) = (dice.below(sectors) * 512, dice.below(sectors) * 512)
      var moved = bytes
      moved.replaceSubrange(first..<first + 512, with: bytes[second..<second + 512])
      moved.replaceSubrange(second..<second + 512, with: bytes[first..<first + 512])
      let found = try read(moved, surroundings)
      #expect(found == nil || found == content)
    }
    for _ in 0..<200 {
      let (first, second) = (dice.below(sectors / 8) * 4096, dice.below(sectors / 8) * 4096)
      var moved = bytes
      moved.replaceSubrange(first..<first + 4096, with: bytes[second..<second + 4096])
      let found = try read(moved, surroundings)
      #expect(found == nil || found == content)
    }
  }

  @Test func aShorterBackingFileIsNoticed() throws {
    let (bytes, _, surroundings) = try made()
    for pages in 1..<bytes.count / 4096 {
      #expect(try read(Array(bytes[..<(pages * 4096)]), surroundings) == nil, "\(pages) pages")
    }
  }

  /// Damage in one block is an error of that block, and of no other.
  @Test func otherBlocksStayReadable() throws {
    let (bytes, content, surroundings) = try made()
    let store = MemoryStore()
    store.bytes = bytes
    // The home of block 9.
    store.state.withLock { $0.bytes[10 * 4096 + 5] ^= 1 }
    let file = try TestFile(store, in: surroundings, budget: IndexBudget(pages: 16))
    for block in 0..<31 {
      let range = block * 4096..<block * 4096 + 4096
      if block == 9 {
        #expect(throws: Errno.inputOutput) { try file.get(range) }
      } else {
        #expect(try file.get(range) == Array(content[range]))
      }
    }
    #expect(surroundings.events.contains(.damaged(.block(9))))
  }

  /// Where the entry of a block of a doubtful file names another one's page, recovery does not free that page.
  @Test func aWrongPageOfADoubtfulFileFreesNobodyElses() throws {
    let (store, surroundings) = (MemoryStore(), TestSurroundings())
    let file = try TestFile(store, in: surroundings, budget: IndexBudget(pages: 16))
    let content = (0..<10 * 4096).map { UInt8(truncatingIfNeeded: $0 / 4096 + 1) }
    try file.put(content, at: 0)
    try file.synchronize(dataOnly: true)
    // The next sync says of those before that they are committed.
    try file.put([90], at: 9 * 4096)
    try file.synchronize(dataOnly: true)
    surroundings.remount(killed: true)
    var bytes = store.bytes
    func position(of number: UInt64) throws -> Int {
      let block = try #require(Block(number))
      let sector = Int(block.sectorAddress.page.number) * 4096 + block.sectorAddress.offset
      let pair = try IndexSector.pairOrDamage(
        of: block, in: bytes.span.extracting(sector..<sector + IndexSector.size))
      let newest = pair[try #require(pair.newest)]
      var tag = [UInt8](repeating: 0, count: 16)
      var span = tag.mutableSpan
      newest.tag.store(in: &span, at: 0)
      return try #require(
        (sector..<sector + IndexSector.size - 40).first { bytes[$0..<$0 + 16].elementsEqual(tag) })
    }
    let (damaged, other) = (try position(of: 2), try position(of: 5))
    bytes.replaceSubrange(damaged + 32..<damaged + 40, with: Array(bytes[other + 32..<other + 40]))
    store.bytes = bytes
    let again = try TestFile(store, in: surroundings, budget: IndexBudget(pages: 16))
    try again.put([100], at: 9 * 4096)
    #expect(throws: Errno.inputOutput) { try again.get(2 * 4096..<3 * 4096) }
    for block in [2, 6, 7, 8, 1] {
      try again.put([UInt8](repeating: 50, count: 4096), at: Int64(block) * 4096)
      try again.synchronize(dataOnly: true)
    }
    #expect(try again.get(5 * 4096..<6 * 4096) == Array(content[5 * 4096..<6 * 4096]))
    #expect(try again.get(2 * 4096..<3 * 4096) == [UInt8](repeating: 50, count: 4096))
  }

  /// The first static sector may be lost: its copy opens the file.
  @Test func theCopyOfTheHeaderWillDo() throws {
    var (bytes, content, surroundings) = try made()
    bytes[3] ^= 1
    #expect(try read(bytes, surroundings) == content)
    #expect(surroundings.events.contains(.usedCopy))
    bytes[515] ^= 1
    #expect(try read(bytes, surroundings) == nil)
  }

  /// After a crash the damaged one is made of the other, with whatever a later version put there.
  @Test func aRecoveryHealsTheHeader() throws {
    let (store, surroundings) = (MemoryStore(), TestSurroundings())
    let file = try TestFile(store, in: surroundings, budget: IndexBudget(pages: 16))
    try file.put([1, 2, 3], at: 0)
    surroundings.remount(killed: true)
    var bytes = store.bytes
    bytes[3] ^= 1
    // A compatible feature.
    bytes[512 + 24] = 1
    store.bytes = bytes
    let again = try TestFile(store, in: surroundings, budget: IndexBudget(pages: 16))
    try again.put([4], at: 1)
    #expect(store.bytes[..<512].elementsEqual(store.bytes[512..<1024]))
    #expect(store.bytes[24] == 1)
    #expect(try again.get(0..<10) == [1, 4, 3])
  }
}
