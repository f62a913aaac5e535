// The content on a real file of the machine.

import Foundation
import LinuxFiles
import Randomness
import SealedFormat
import Testing

@testable import LayeredVolume

@Suite struct BackingTests {
  @Test func aFileOfThisMachineHoldsIt() throws {
    let directory = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString).path
    try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: false)
    defer { try? FileManager.default.removeItem(atPath: directory) }
    let made = try Descriptor.directory(atPath: directory).createFile(try FileName("sealed"), mode: 0o600)
    let way = SharedDescriptor(try made.reopen(.path))
    let surroundings = TestSurroundings()
    let content = (0..<300_000).map { UInt8(truncatingIfNeeded: $0 / 13) }

    let file = try SealedFile(BackingStore(way), in: surroundings, budget: IndexBudget(pages: 16))
    try file.put(content, at: 0)
    try file.allocate(.keepSize, offset: 0, length: 400_000)
    try file.allocate([.punchHole, .keepSize], offset: 40_960, length: 40_960)
    try file.synchronize(dataOnly: true)
    let isTouched = try file.close()
    #expect(isTouched)
    var expected = content
    expected.replaceSubrange(40_960..<81_920, with: repeatElement(0, count: 40_960))
    surroundings.remount(killed: false)

    let again = try SealedFile(
      BackingStore(SharedDescriptor(try made.reopen(.readOnly))), in: surroundings,
      budget: IndexBudget(pages: 16))
    #expect(try again.get(0..<400_000) == expected)
    #expect(try again.seek(from: 0, .hole) == 40_960)
    #expect(try again.seek(from: 40_960, .data) == 81_920)
    let stored = try made.read(upTo: 1 << 20)
    #expect(stored.count % 4096 == 0)
    // Nothing of the plaintext is in it.
    let (whole, part) = (Data(stored), Data(content[100_000..<100_016]))
    #expect(whole.range(of: part) == nil)
  }
}
