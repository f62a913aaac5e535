// A reader that shares no code with the one that wrote: Tests/Fixtures/sealed_reader.py, made from docs/FORMATS.md.

import Foundation
import LinuxFiles
import MountSupport
import Randomness
import SealedFormat
import Testing

@testable import LayeredVolume

@Suite struct StrangerTests {
  static let hasPython =
    (try? Program.run("/usr/bin/python3", ["-c", "import cryptography"]))?.exit == 0
  private static let reader = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .appending(components: "Fixtures", "sealed_reader.py").path

  /// What the stranger reads; nil where it refuses.
  func read(_ vault: Vault, _ name: String) throws -> [UInt8]? {
    let target = "\(vault.path)/read"
    let ran = try Program.run(
      "/bin/sh",
      [
        "-c", "exec /usr/bin/python3 \"$@\" > '\(target)'", "sh", StrangerTests.reader,
        "\(vault.path)/keyfile",
        "\(vault.path)/.varve/keybag", "--sessions", "\(vault.path)/.varve/sessions", "\(vault.path)/\(name)",
      ])
    guard ran.exit == 0 else { return nil }
    return [UInt8](try Data(contentsOf: URL(fileURLWithPath: target)))
  }

  private func noise(_ count: Int, _ dice: inout Dice) -> [UInt8] {
    (0..<count).map { _ in UInt8(truncatingIfNeeded: dice.next()) }
  }

  @Test(.enabled(if: hasPython, "needs python3-cryptography"))
  func everySizeIsRead() throws {
    let vault = try Vault()
    var dice = Dice(for: "sizes for a stranger")
    let classes: [StaticSector.ProtectionClass] = [.complete, .completeUnlessOpen, .untilFirstUnlock]
    var made: [(name: String, content: [UInt8], file: SealedFile<BackingStore>)] = []
    for (index, size) in [0, 1, 4095, 4096, 4097, 98_303, 98_304, 98_305, 500_000].enumerated() {
      let content = noise(size, &dice)
      let file = try vault.file("size\(size)", classes[index % 3])
      if size > 0 { try file.put(content, at: 0) }
      made.append(("size\(size)", content, file))
    }
    for (name, content, _) in made { #expect(try read(vault, name) == content, "\(name), open") }
    for (_, _, file) in made { _ = try file.close() }
    try vault.remount(killed: false)
    for (name, content, _) in made { #expect(try read(vault, name) == content, "\(name), unmounted") }
  }

  @Test(.enabled(if: hasPython, "needs python3-cryptography"), arguments: [-1, 0, 1])
  func theSecondSegmentIsRead(_ more: Int) throws {
    let vault = try Vault()
    let size = (64 << 20) + more
    let file = try vault.file("large")
    try file.put([1, 2, 3], at: Int64(size - 3))
    try file.put([4, 5, 6], at: 70_000)
    try file.synchronize(dataOnly: true)
    _ = try file.close()
    try vault.remount(killed: false)
    let found = try #require(try read(vault, "large"))
    #expect(found.count == size && Array(found.suffix(3)) == [1, 2, 3])
    #expect(found[70_000] == 4 && found.reduce(0) { $0 + Int($1) } == 21)
  }

  /// Overwritten, cut, punched and extended, whole and after a kill.
  @Test(.enabled(if: hasPython, "needs python3-cryptography"), arguments: [false, true])
  func aHistoryIsRead(_ killed: Bool) throws {
    let vault = try Vault()
    var dice = Dice(for: "a history for a stranger, killed: \(killed)")
    for round in 0..<12 {
      let name = "file\(round)"
      let file = try vault.file(name)
      var content = noise(1 + dice.below(300_000), &dice)
      try file.put(content, at: 0)
      for _ in 0..<6 {
        let start = dice.below(content.count)
        switch dice.below(5) {
        case 0:
          let more = noise(1 + dice.below(20_000), &dice)
          try file.put(more, at: Int64(start))
          if content.count < start + more.count {
            content.append(contentsOf: repeatElement(0, count: start + more.count - content.count))
          }
          content.replaceSubrange(start..<start + more.count, with: more)
        case 1:
          try file.truncate(to: UInt64(start + 1))
          content.removeLast(content.count - start - 1)
        case 2:
          try file.allocate([.punchHole, .keepSize], offset: UInt64(start), length: 30_000)
          for index in start..<min(start + 30_000, content.count) { content[index] = 0 }
        case 3:
          try file.truncate(to: UInt64(content.count + 5000))
          content.append(contentsOf: repeatElement(0, count: 5000))
        default: try file.synchronize(dataOnly: true)
        }
      }
      #expect(try read(vault, name) == content, "\(name), open")
      if !killed { _ = try file.close() }
      try vault.remount(killed: killed)
      #expect(try read(vault, name) == content, "\(name), later")
      let again = try vault.file(name)
      #expect(try again.get(0..<content.count + 1) == content)
    }
  }

  /// In a file whose session has ended the stranger refuses what the volume refuses, and reads nothing else.
  @Test(.enabled(if: hasPython, "needs python3-cryptography"))
  func bothRefuseTheSame() throws {
    let vault = try Vault()
    var dice = Dice(for: "damage for a stranger")
    let content = noise(130_000, &dice)
    let file = try vault.file("whole")
    try file.put(content, at: 0)
    try file.synchronize(dataOnly: true)
    try file.put(Array(content[..<4096]), at: 0)
    _ = try file.close()
    try vault.remount(killed: false)
    let stored = [UInt8](try Data(contentsOf: URL(fileURLWithPath: "\(vault.path)/whole")))
    let sectors = stored.count / 512
    var refused = 0
    for round in 0..<60 {
      var damaged = stored
      switch round % 4 {
      // In the slots, in the index of page 0, anywhere.
      case 0: damaged[1024 + dice.below(1024)] ^= 1 << UInt8(dice.below(8))
      case 1: damaged[2048 + dice.below(2048)] ^= 1 << UInt8(dice.below(8))
      case 2: damaged[dice.below(stored.count)] ^= 1 << UInt8(dice.below(8))
      default:
        let (first, second) = (dice.below(sectors) * 512, dice.below(sectors) * 512)
        damaged.replaceSubrange(first..<first + 512, with: stored[second..<second + 512])
        damaged.replaceSubrange(second..<second + 512, with: stored[first..<first + 512])
      }
      try Data(damaged).write(to: URL(fileURLWithPath: "\(vault.path)/damaged"))
      let stranger = try read(vault, "damaged")
      let own = try? vault.file("damaged").get(0..<content.count + 1)
      #expect(stranger == own, "round \(round)")
      #expect(own == nil || own == content, "round \(round)")
      refused += own == nil ? 1 : 0
    }
    #expect(refused > 30)
    // The first static sector may be lost.
    var damaged = stored
    damaged[100] ^= 1
    try Data(damaged).write(to: URL(fileURLWithPath: "\(vault.path)/damaged"))
    #expect(try read(vault, "damaged") == content)
    damaged[612] ^= 1
    try Data(damaged).write(to: URL(fileURLWithPath: "\(vault.path)/damaged"))
    #expect(try read(vault, "damaged") == nil)
    // Cut anywhere.
    for pages in stride(from: 1, to: stored.count / 4096, by: 3) {
      try Data(stored[..<(pages * 4096)]).write(to: URL(fileURLWithPath: "\(vault.path)/damaged"))
      #expect(try read(vault, "damaged") == nil, "\(pages) pages")
    }
  }
}
