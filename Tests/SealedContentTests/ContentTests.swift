// What an encrypted file says is what was written, whatever the order.

import LinuxFiles
import Randomness
import SealedFormat
import Testing

@testable import LayeredVolume

@Suite struct ContentTests {
  let store = MemoryStore()
  let surroundings = TestSurroundings()
  let budget = IndexBudget(pages: 64)

  func open() throws -> TestFile { try SealedFile(store, in: surroundings, budget: budget) }

  @Test func whatWasWrittenIsRead() throws {
    let file = try open()
    try file.put(Array("hello".utf8), at: 0)
    #expect(try file.get(0..<100) == Array("hello".utf8))
    #expect(file.size == 5)
    #expect(store.bytes.count == 8192)
    let again = try open()
    #expect(try again.get(0..<100) == Array("hello".utf8))
  }

  /// Random operations against an array.
  @Test(arguments: 0..<40)
  func anArrayAgrees(_ round: Int) throws {
    var dice = Dice(for: "content \(round)")
    var file = try open()
    var oracle: [UInt8] = []
    let most = dice.pick([9_000, 130_000, 900_000])
    for step in 0..<120 {
      let start = dice.below(most)
      let count = 1 + dice.below(dice.pick([10, 5_000, 70_000]))
      switch dice.below(14) {
      case 0...4:
        let bytes = (0..<count).map { _ in UInt8(truncatingIfNeeded: dice.next()) }
        try file.put(bytes, at: Int64(start))
        if oracle.count < start + count {
          oracle.append(contentsOf: repeatElement(0, count: start + count - oracle.count))
        }
        oracle.replaceSubrange(start..<start + count, with: bytes)
      case 5:
        let size = dice.once(in: 4) ? 0 : start
        try file.truncate(to: UInt64(size))
        if size < oracle.count {
          oracle.removeLast(oracle.count - size)
        } else {
          oracle.append(contentsOf: repeatElement(0, count: size - oracle.count))
        }
      case 6:
        try file.allocate([.punchHole, .keepSize], offset: UInt64(start), length: UInt64(count))
        for index in start..<max(start, min(start + count, oracle.count)) { oracle[index] = 0 }
      case 7: try file.synchronize(dataOnly: true)
      case 8: _ = try file.close()
      case 9:
        _ = try file.close()
        surroundings.remount(killed: dice.once(in: 2))
        file = try open()
      case 10:
        var bytes = [UInt8](repeating: 7, count: count)
        var span = bytes.mutableSpan
        _ = try file.write(&span, at: .end)
        oracle.append(contentsOf: repeatElement(7, count: count))
      default:
        let end = min(start + count, oracle.count)
        #expect(try file.get(start..<start + count) == Array(oracle[min(start, end)..<end]), "step \(step)")
      }
      #expect(file.size == UInt64(oracle.count), "step \(step)")
    }
    #expect(try file.get(0..<oracle.count + 10) == oracle)
    let events = surroundings.events.filter {
      if case .recovering = $0 { return false }
      return true
    }
    #expect(events.isEmpty)
  }
}
