// The question that names many files at once, and its answer.

import AccessControl
import Randomness
import Testing

@Suite("Handing lists down to many names") struct HandingDownTests {
  @Test("What was asked is what is read, up to the last name there is room for") func roundTrip() throws {
    var question = HandingDown()
    var names: [[UInt8]] = [[0xFF, 0x0A], Array(".".utf8)]
    for name in names {
      let isAdded = question.add(name)
      #expect(isAdded)
    }
    while true {
      let name = [UInt8](
        repeating: UInt8(truncatingIfNeeded: names.count % 250 + 1), count: 1 + names.count % 255)
      guard question.add(name) else { break }
      names.append(name)
    }
    #expect(question.count == names.count)
    #expect(question.count == HandingDown.most)
    #expect(HandingDown.names(in: question.bytes.span) == names)
    // Refused for want of room: what was there stays as it was.
    let before = question.bytes
    let isAdded = question.add([65])
    #expect(!isAdded)
    #expect(question.bytes == before)
  }

  @Test("Bytes that are no question are called so, and nothing is read beyond them") func hostile() {
    #expect(HandingDown.names(in: [UInt8]().span) == nil)
    #expect(HandingDown.names(in: [65].span) == nil)
    #expect(
      HandingDown.names(in: [UInt8](repeating: 0, count: HandingDown.most).span)?.count == HandingDown.most)
    #expect(HandingDown.names(in: [UInt8](repeating: 0, count: HandingDown.most + 1).span) == nil)
    var longest = HandingDown()
    let isTaken = longest.add([UInt8](repeating: 65, count: 256))
    #expect(!isTaken)
    #expect(HandingDown.names(in: [65, 0, 66].span) == nil)
    #expect(HandingDown.names(in: [0].span) == [[]])
    #expect(HandingDown.names(in: [65, 0, 0, 66, 67, 0].span) == [[65], [], [66, 67]])
    var random = Dice(seed: 71)
    for _ in 0..<20_000 {
      let count = Int.random(in: 0...40, using: &random)
      let bytes = (0..<count).map { _ in UInt8.random(in: 0...3, using: &random) }
      guard let names = HandingDown.names(in: bytes.span) else { continue }
      #expect(names.reduce(0) { $0 + $1.count + 1 } == bytes.count)
    }
  }

  @Test("An answer with a word nobody knows is no answer") func answers() {
    #expect(HandingDown.outcomes([0, 1, 2, 3], of: 4) == [.unchanged, .changed, .blocked, .aside])
    #expect(HandingDown.outcomes([0, 1, 2, 3, 0], of: 4) == nil)
    #expect(HandingDown.outcomes([0, 1, 2, 3, 9], of: 5) == nil)
    #expect(HandingDown.outcomes([0], of: 2) == nil)
  }
}
