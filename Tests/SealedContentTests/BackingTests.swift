// The content on a real file of the machine.

import Faults
import Foundation
import LinuxFiles
import Randomness
import SealedFormat
import Testing

@testable import LayeredVolume

@Suite struct BackingTests {
  @Test("What the file takes in parts is written, or the disk is full", arguments: [512, 1536, 4096, 5120])
  func inParts(_ part: Int) throws {
    let directory = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString).path
    try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: false)
    defer { try? FileManager.default.removeItem(atPath: directory) }
    let root = try Descriptor.directory(atPath: directory)
    let before = (0..<20_000).map { UInt8(truncatingIfNeeded: $0 / 7) }
    let after = before + [UInt8](repeating: 9, count: 100_000)
    var (full, odd) = (0, 0)
    for isFull in [false, true] {
      for call in 1..<30 {
        let made = try FileName.with(Array("f\(isFull)\(call)".utf8)) { (name) throws(Errno) in
          try root.createFile(name, mode: 0o600)
        }
        let way = SharedDescriptor(try made.reopen(.path))
        let surroundings = TestSurroundings()
        var file = try SealedFile(BackingStore(way), in: surroundings, budget: IndexBudget(pages: 16))
        try file.put(before, at: 0)
        _ = try file.close()
        let (result, hits) = Fault(.write, .noSpace, after: call, count: isFull ? 3 : 0, part: part)
          .during { try file.put([UInt8](repeating: 9, count: 100_000), at: 20_000) }
        var expected = after
        if case .failure(let error) = result {
          #expect(error as? Errno == .noSpace && isFull)
          full += 1
          expected = before
        }
        // A copy without attributes is known by that.
        if try made.status().size % 4096 != 0 { odd += 1 }
        #expect(try Array(file.get(0..<200_000).prefix(20_000)) == before)
        _ = try file.close()
        surroundings.remount(killed: call % 2 == 0)
        file = try SealedFile(BackingStore(way), in: surroundings, budget: IndexBudget(pages: 16))
        let found = try file.get(0..<200_000)
        #expect(found.starts(with: before) && [expected, after].contains { $0.starts(with: found) })
        if !isFull { #expect(found == after) }
        if hits == 0 { break }
      }
    }
    #expect(full > 1 && odd == 0)
  }

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
