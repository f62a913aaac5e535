// A file gets another class, while it is open, with its content where it is.

import Ciphers
import Foundation
import LinuxFiles
import SealedFormat
import Synchronization
import Testing

@testable import LayeredVolume

@Suite struct ClassTests {
  private func wrap(
    _ vault: Vault, _ protection: StaticSector.ProtectionClass
  ) -> (FileKeys) throws(Errno) -> StaticSector {
    { (keys) throws(Errno) in
      do throws(KeyFailure) { return try vault.keyring.header(for: keys, protection) } catch {
        throw error.number
      }
    }
  }

  private func header(_ vault: Vault, _ half: Half) throws -> StaticSector {
    let stored = Array(try Data(contentsOf: URL(fileURLWithPath: "\(vault.path)/f")))
    let start = StaticSector.offset(half)
    return try StaticSector(decoding: stored[start..<start + StaticSector.size].span)
  }

  @Test func eachClassReadsTheSameContent() throws {
    let vault = try Vault()
    var content = (0..<50_000).map { UInt8(truncatingIfNeeded: $0 / 11) }
    var file = try vault.file("f", .complete)
    try file.put(content, at: 0)
    let classes: [StaticSector.ProtectionClass] = [.completeUnlessOpen, .untilFirstUnlock, .complete]
    for (round, protection) in (classes + classes.reversed()).enumerated() {
      let isChanged = try file.changeClass(wrap(vault, protection))
      #expect(isChanged)
      #expect(try header(vault, .first) == header(vault, .second))
      #expect(try header(vault, .first).protectionClass == protection)
      // Whoever has it open goes on.
      try file.put([UInt8(round)], at: 7)
      content[7] = UInt8(round)
      #expect(try file.get(0..<60_000) == content)
      guard round % 2 == 0 else { continue }
      _ = try file.close()
      try vault.remount(killed: round % 4 == 0)
      file = try vault.file("f", .complete)
      #expect(try file.get(0..<60_000) == content)
    }
  }

  @Test func bothClassesHaveToBeOpen() throws {
    let vault = try Vault()
    let file = try vault.file("f", .completeUnlessOpen)
    try file.put([1, 2, 3], at: 0)
    _ = vault.keyring.beginLocking(.locking)
    vault.keyring.finishLocking(.locking)
    let before = try Data(contentsOf: URL(fileURLWithPath: "\(vault.path)/f"))
    // The file is open still, and C is: but who gave it away now would have had no right to.
    for protection in [StaticSector.ProtectionClass.untilFirstUnlock, .complete, .completeUnlessOpen] {
      #expect(throws: Errno.noKey) { _ = try file.changeClass(wrap(vault, protection)) }
    }
    #expect(try Data(contentsOf: URL(fileURLWithPath: "\(vault.path)/f")) == before)
  }

  @Test func aFileWithoutBytesHasNoHeaderToChange() throws {
    let vault = try Vault()
    let file = try vault.file("f", .complete)
    #expect(try !file.changeClass(wrap(vault, .untilFirstUnlock)))
    try file.put([1], at: 0)
    try file.truncate(to: 0)
    #expect(try !file.changeClass(wrap(vault, .untilFirstUnlock)))
    #expect(file.size == 0)
  }

  @Test func theOnlyGoodSectorIsWrittenLast() throws {
    let vault = try Vault()
    var file = try vault.file("f", .complete)
    try file.put([1, 2, 3], at: 0)
    _ = try file.close()
    let backing = try Descriptor.open(path: "\(vault.path)/f", .readWrite)
    try backing.writeAll([UInt8](repeating: 0xFF, count: 512), at: 0)
    try vault.remount(killed: false)
    file = try vault.file("f", .complete)
    let isChanged = try file.changeClass { (keys) throws(Errno) in
      // Whatever happens from here on, the copy is there until the first sector is.
      try self.wrap(vault, .untilFirstUnlock)(keys)
    }
    #expect(isChanged)
    #expect(try header(vault, .first) == header(vault, .second))
    #expect(try file.get(0..<10) == [1, 2, 3])
  }

  @Test(arguments: [Half.first, .second], [Errno.inputOutput, .noSpace])
  func everyCallFailsInTurn(_ good: Half, _ error: Errno) throws {
    var failed = 0
    for calls in 0..<50 {
      let (store, surroundings) = (MemoryStore(), TestSurroundings())
      var file = try TestFile(store, in: surroundings, budget: IndexBudget(pages: 4))
      try file.put([1, 2, 3], at: 0)
      _ = try file.close()
      let damaged = StaticSector.offset(good.other)
      if good == .second {
        store.bytes.replaceSubrange(damaged..<damaged + 512, with: repeatElement(9, count: 512))
      }
      surroundings.remount(killed: false)
      file = try TestFile(store, in: surroundings, budget: IndexBudget(pages: 4))
      store.state.withLock { ($0.failsAfter, $0.error) = (calls, error) }
      var hasFailed = false
      do throws(Errno) {
        _ = try file.changeClass { (keys) throws(Errno) in
          TestSurroundings.sector(.untilFirstUnlock, of: keys.file, random: 99)
        }
      } catch let thrown {
        #expect(thrown == error)
        hasFailed = true
      }
      store.state.withLock { $0.failsAfter = nil }
      let again = try TestFile(store, in: surroundings, budget: IndexBudget(pages: 4))
      let found = again.state.withLock { $0.identity?.sector.protectionClass }
      #expect(found == .untilFirstUnlock || (hasFailed && found == .complete))
      #expect(try again.get(0..<10) == [1, 2, 3])
      if !hasFailed { break }
      failed += 1
    }
    #expect(failed >= 4)
  }
}
