// All of a file is verified: what is whole is clean, what a reader cannot read is named, and nothing is changed.

import Ciphers
import Glibc
import LinuxFiles
import Randomness
import SealedFormat
import Synchronization
import Testing

@testable import LayeredVolume

extension ContentFindings {
  fileprivate var hasDamage: Bool {
    header.contains { $0.isDamage } || Kind.allCases.contains { $0.isDamage && count($0) > 0 }
  }
}

@Suite struct VerifyTests {
  private let budget = IndexBudget(pages: 16)

  private func open(_ bytes: [UInt8], _ surroundings: TestSurroundings) throws -> TestFile {
    let store = MemoryStore()
    store.bytes = bytes
    return try TestFile(store, in: surroundings, budget: budget)
  }

  private func findings(_ file: TestFile) throws -> ContentFindings {
    var findings = ContentFindings()
    try file.verifyHeader(into: &findings)
    let rest = try file.verifyContent(into: &findings)
    #expect(rest == nil)
    return findings
  }

  /// A file of two index pages with a rewritten block, a hole and a partial end, whose session ended.
  private func made() throws -> (bytes: [UInt8], TestSurroundings) {
    let (store, surroundings) = (MemoryStore(), TestSurroundings())
    let file = try TestFile(store, in: surroundings, budget: budget)
    try file.put((0..<330_000).map { UInt8(truncatingIfNeeded: $0 / 11) }, at: 0)
    try file.put([UInt8](repeating: 200, count: 4096), at: 8192)
    try file.synchronize(dataOnly: true)
    try file.allocate([.punchHole, .keepSize], offset: 16384, length: 4096)
    _ = try file.close()
    surroundings.remount(killed: false)
    return (store.bytes, surroundings)
  }

  /// The blocks a reader cannot have.
  private func unreadable(_ file: TestFile) -> Set<UInt64> {
    var failed: Set<UInt64> = []
    for number in 0..<Block.count(file.size) {
      let start = Int(number) * 4096
      do throws(Errno) { _ = try file.get(start..<start + 4096) } catch { failed.insert(number) }
    }
    return failed
  }

  private func blocks(_ findings: ContentFindings, _ kinds: [ContentFindings.Kind]) -> Set<UInt64> {
    Set(findings.runs.filter { kinds.contains($0.kind) }.flatMap { Array($0.blocks) })
  }

  // MARK: Whole files

  @Test(arguments: [0, 1, 4095, 4096, 4097, 98_303, 98_304, 98_305, 294_912, 300_001])
  func aWholeFileIsClean(_ size: Int) throws {
    let (store, surroundings) = (MemoryStore(), TestSurroundings())
    let file = try TestFile(store, in: surroundings, budget: budget)
    if size > 0 { try file.put([UInt8](repeating: 9, count: size), at: 0) }
    var found = try findings(file)
    #expect(found.isClean && found.verified == (size + 4095) / 4096)
    _ = try file.close()
    surroundings.remount(killed: false)
    found = try findings(try open(store.bytes, surroundings))
    #expect(found.isClean && found.verified == (size + 4095) / 4096)
  }

  @Test func rewrittenCutAndSparseFilesAreClean() throws {
    let surroundings = TestSurroundings()
    var dice = Dice(for: "shapes to verify")
    for _ in 0..<20 {
      let store = MemoryStore()
      let file = try TestFile(store, in: surroundings, budget: budget)
      for _ in 0..<20 {
        switch dice.below(6) {
        case 0: try file.truncate(to: UInt64(dice.below(500_000)))
        case 1: try file.synchronize(dataOnly: true)
        case 2:
          try file.allocate(
            [.punchHole, .keepSize], offset: UInt64(dice.below(300_000)),
            length: UInt64(1 + dice.below(50_000)))
        default:
          try file.put([UInt8](repeating: 7, count: 1 + dice.below(30_000)), at: Int64(dice.below(400_000)))
        }
        #expect(try findings(file).isClean)
      }
      _ = try file.close()
      surroundings.remount(killed: false)
      let before = store.bytes
      #expect(try findings(try open(before, surroundings)).isClean)
      #expect(store.bytes == before)
    }
  }

  @Test func theEndOfASparseFileIsNotSearched() throws {
    let (store, surroundings) = (MemoryStore(), TestSurroundings())
    let file = try TestFile(store, in: surroundings, budget: budget)
    try file.put([1], at: 0)
    try file.truncate(to: 1 << 50)
    let found = try findings(file)
    #expect(found.isClean && found.verified == 1)
  }

  @Test("Holes of the backing file are skipped, and a missing end is not") func holesAreSkipped() throws {
    let path = "/tmp/varve-verify-\(getpid())-holes"
    defer { unlink(path) }
    let (surroundings, budget) = (TestSurroundings(), budget)
    let descriptor = Glibc.open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    try #require(descriptor >= 0)
    Glibc.close(descriptor)
    let store = BackingStore(SharedDescriptor(try Descriptor.open(path: path, .readWrite)))
    let file = try SealedFile<BackingStore>(store, in: surroundings, budget: budget)
    var block = [UInt8](repeating: 9, count: 4096)
    for offset: Int64 in [0, 60 << 30] {
      var span = block.mutableSpan
      _ = try file.write(&span, at: .offset(offset))
      block = [UInt8](repeating: 9, count: 4096)
    }
    _ = try file.close()
    var findings = ContentFindings()
    #expect(try file.verifyContent(into: &findings) == nil)
    #expect(findings.isClean && findings.verified == 2)
    // Of 327,680 index pages two have entries: the rest is not even looked at.
    #expect(findings.sectors <= 4 + 2 * 8)
    // What was cut off behind its back is damage, also behind a hole.
    surroundings.remount(killed: false)
    try #require(Glibc.truncate(path, 30 << 30) == 0)
    let cut = try SealedFile<BackingStore>(store, in: surroundings, budget: budget)
    findings = ContentFindings()
    #expect(try cut.verifyContent(into: &findings) == nil)
    #expect(!findings.isClean && findings.count(.index) > 0)
  }

  // MARK: Damage

  /// What is said of blocks is what readers meet, for any damage.
  @Test func damageIsWhatReadersMeet() throws {
    let (bytes, surroundings) = try made()
    var dice = Dice(for: "damage to verify")
    var damaged = 0
    for round in 0..<400 {
      var changed = bytes
      for _ in 0..<1 + dice.below(3) {
        let position = round % 3 == 0 ? 2048 + dice.below(2048) : 2048 + dice.below(bytes.count - 2048)
        changed[position] ^= 1 << UInt8(dice.below(8))
      }
      let found = try findings(try open(changed, surroundings))
      let failed = unreadable(try open(changed, surroundings))
      let named = blocks(found, [.damaged, .index]).filter { $0 < 81 }
      #expect(named == failed)
      damaged += failed.isEmpty ? 0 : 1
    }
    #expect(damaged > 200)
  }

  @Test func theRangeOfADamagedPageIsNamed() throws {
    let (bytes, surroundings) = try made()
    var changed = bytes
    // The homes of blocks 9, 10 and 11, and that of block 30 behind the second index page.
    for page in [10, 11, 12, 26 + 6] { changed[page * 4096 + 77] ^= 4 }
    let found = try findings(try open(changed, surroundings))
    #expect(found.hasDamage && found.header.isEmpty)
    #expect(found.runs.map(\.blocks) == [9..<12, 30..<31])
    #expect(found.runs.allSatisfy { $0.kind == .damaged })
    #expect(found.count(.damaged) == 4)
  }

  @Test func aBrokenSealIsNamedWithItsSector() throws {
    let (bytes, surroundings) = try made()
    var changed = bytes
    changed[2048 + 512 + 480] ^= 1
    let found = try findings(try open(changed, surroundings))
    #expect(found.runs == [.init(kind: .index, blocks: 6..<12)])
    // Behind the end of the file, where no reader comes: blocks 84...89.
    changed = bytes
    changed[25 * 4096 + 49 * 4096 + 512 + 3] ^= 1
    let behind = try findings(try open(changed, surroundings))
    #expect(behind.runs == [.init(kind: .index, blocks: 78..<81)] && behind.hasDamage)
    changed = bytes
    changed[25 * 4096 + 49 * 4096 + 1024 + 3] ^= 1
    let last = try findings(try open(changed, surroundings))
    #expect(last.runs == [.init(kind: .index, blocks: 84..<90)])
  }

  @Test func headersAndSlotsAreLookedAt() throws {
    let (bytes, surroundings) = try made()
    func headers(_ change: (inout [UInt8]) -> Void) throws -> Set<HeaderFinding> {
      var changed = bytes
      change(&changed)
      let store = MemoryStore()
      store.bytes = changed
      return try TestFile.headerFindings(of: store, in: surroundings)
    }
    #expect(try headers { _ in } == [])
    #expect(try headers { $0[3] ^= 1 } == [.firstHeader])
    #expect(try headers { $0[512 + 3] ^= 1 } == [.headerCopy])
    #expect(try headers { $0[512 + 200] ^= 1 } == [.headersDiffer])
    #expect(
      try headers {
        $0[3] ^= 1
        $0[512 + 3] ^= 1
      } == [.header])
    // The version, and the suite, of a later form.
    for place in [8, 12] {
      #expect(
        try headers {
          $0[place] += 1
          $0[512 + place] += 1
        } == [.unknownForm])
      #expect(try headers { $0[place] += 1 } == [.firstHeader])
    }
    let slots = Set([1024, 1536].map { try? headers { [start = $0] in $0[start + 9] ^= 1 } })
    #expect(slots == [[.slot]])
    #expect(
      try headers {
        $0[1024] ^= 1
        $0[1536] ^= 1
      } == [.slots])
    #expect(try headers { $0.replaceSubrange(1024..<1536, with: Array($0[1536..<2048])) } == [.slots])
    #expect(try headers { $0.removeLast(4096) } == [.shortened])
    #expect(try headers { $0.append(0) } == [.length])
    #expect(try headers { $0.removeSubrange(100...) }.contains(.header))
  }

  @Test("A head tells that a file is encrypted also where no header can be read")
  func headsOfUnreadableHeaders() throws {
    let (bytes, _) = try made()
    func head(_ places: [Int], of volume: Bytes16? = nil) -> SealedHead? {
      var changed = bytes
      for place in places { changed[place] ^= 0x40 }
      return SealedHead(changed.span.extracting(0..<SealedHead.length), of: volume)
    }
    let named = StaticSector.volume(namedIn: bytes.span.extracting(0..<StaticSector.size))
    let volume = try #require(named)
    let sound = try #require(head([], of: volume))
    #expect(sound.condition == .readable && sound.fileSize != nil)
    #expect(head([8], of: volume) == sound, "the copy is read")
    for place in [8, 12, 13, 64] {
      #expect(head([place, 512 + place], of: volume)?.condition == .unknownForm)
    }
    for place in [15, 68, 80] { #expect(head([place, 512 + place], of: volume)?.condition == .damaged) }
    #expect(head([8, 512 + 68], of: volume)?.condition == .damaged)
    #expect(head([8, 512 + 8])?.fileSize == sound.fileSize)
    // Another volume, or no header at all.
    #expect(head([40, 512 + 40], of: volume) == nil && head([40, 512 + 40])?.condition == .readable)
    #expect(head([3, 512 + 3]) == nil)
  }

  @Test func aShorterBackingFileHasNamedRanges() throws {
    let (bytes, surroundings) = try made()
    for pages in 1..<bytes.count / 4096 {
      let file = try open(Array(bytes[..<(pages * 4096)]), surroundings)
      let found = try findings(file)
      #expect(found.header == [.shortened])
      #expect(blocks(found, [.damaged, .index]).filter { $0 < 81 } == unreadable(file), "\(pages) pages")
    }
  }

  @Test func whatIsInMemoryIsNotBelieved() throws {
    let (bytes, surroundings) = try made()
    let store = MemoryStore()
    store.bytes = bytes
    let file = try TestFile(store, in: surroundings, budget: budget)
    _ = try file.get(0..<330_000)
    store.state.withLock { $0.bytes[2048] ^= 1 }
    #expect(try findings(file).runs == [.init(kind: .index, blocks: 0..<6)])
  }

  // MARK: After a crash

  @Test func whatACrashTookIsToldAndIsNoDamage() throws {
    let (store, surroundings) = (MemoryStore(), TestSurroundings())
    let file = try TestFile(store, in: surroundings, budget: budget)
    try file.put([UInt8](repeating: 1, count: 40_000), at: 0)
    try file.synchronize(dataOnly: true)
    let before = store.bytes.count / 4096
    // Blocks 2 and 3 in new pages, block 20 for the first time, and not synced.
    try file.put([UInt8](repeating: 2, count: 8192), at: 8192)
    try file.put([UInt8](repeating: 3, count: 4096), at: 81_920)
    surroundings.remount(killed: true)
    var bytes = store.bytes
    #expect(try findings(try open(bytes, surroundings)).isClean)
    #expect(try findings(try open(bytes, surroundings)).isDoubtful)
    for page in before..<bytes.count / 4096 { bytes[page * 4096] ^= 1 }
    let found = try findings(try open(bytes, surroundings))
    #expect(!found.hasDamage && !found.isClean && found.isDoubtful)
    #expect(blocks(found, [.lost]) == [2, 3, 20])
    let again = try open(bytes, surroundings)
    #expect(try again.get(8192..<16384) == [UInt8](repeating: 1, count: 8192))
    #expect(try again.get(81_920..<86_016) == [UInt8](repeating: 0, count: 4096))
  }

  @Test func aTornSectorAndATornSlotAreNoDamageInADoubtfulFile() throws {
    let (store, surroundings) = (MemoryStore(), TestSurroundings())
    let file = try TestFile(store, in: surroundings, budget: budget)
    try file.put([UInt8](repeating: 1, count: 30_000), at: 0)
    surroundings.remount(killed: true)
    var bytes = store.bytes
    bytes[2048 + 481] ^= 1
    let found = try findings(try open(bytes, surroundings))
    #expect(found.runs == [.init(kind: .torn, blocks: 0..<6)] && !found.hasDamage)
    bytes[1024 + 481] ^= 1
    let slot = try findings(try open(bytes, surroundings))
    #expect(slot.header == [.tornSlot] && !slot.hasDamage)
  }

  // MARK: Bounds

  @Test func manyRangesAreCounted() throws {
    let (store, surroundings) = (MemoryStore(), TestSurroundings())
    let file = try TestFile(store, in: surroundings, budget: budget)
    try file.put([UInt8](repeating: 1, count: 300 * 4096), at: 0)
    _ = try file.close()
    surroundings.remount(killed: false)
    var bytes = store.bytes
    for number in stride(from: UInt64(0), to: 300, by: 2) {
      let page = try #require(Block(number)).home
      bytes[Int(page.byteOffset)] ^= 1
    }
    let found = try findings(try open(bytes, surroundings))
    #expect(found.runs.count == ContentFindings.mostRuns && found.count(.damaged) == 150)
    #expect(found.verified == 150)
  }

  @Test func itStopsWhenToldAndGoesOn() throws {
    let (bytes, surroundings) = try made()
    let file = try open(bytes, surroundings)
    var next: UInt64? = 0
    var (found, steps) = (ContentFindings(), 0)
    while let start = next {
      next = try file.verifyContent(from: start, into: &found) { true }
      steps += 1
    }
    #expect(steps > 2)
    let whole = try findings(file)
    #expect(found.isClean && found.verified == whole.verified)
  }

  @Test func aLockedClassIsNoDamage() throws {
    let (bytes, _) = try made()
    let store = MemoryStore()
    store.bytes = bytes
    #expect(throws: Errno.noKey) { try TestFile.headerFindings(of: store, in: LockedSurroundings()) }
  }
}

/// Every class is locked.
private struct LockedSurroundings: SealedSurroundings {
  let inner = TestSurroundings()
  var contexts: AeadPool { inner.contexts }
  func session() throws(Errno) -> UInt64 { throw .noKey }
  func hasEnded(_ session: UInt64) -> Bool { true }
  func newKeys() throws(Errno) -> (StaticSector, FileKeys) { throw .noKey }
  func keys(from sector: Span<UInt8>) throws(Errno) -> FileKeys { throw .noKey }
  func report(_ event: SealedEvent) {}
}
