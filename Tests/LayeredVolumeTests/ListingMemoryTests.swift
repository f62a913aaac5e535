// What a listing of several parts remembers, beside an array and a set.

import Randomness
import Testing

@testable import LayeredVolume

@Suite("What a listing remembers") struct ListingMemoryTests {
  @Test("Offsets are those of an array, however they are cut and written over") func offsets() {
    var dice = Dice(seed: 4_711)
    for _ in 0..<20 {
      var (kept, expected) = (ListingOffsets(), [Int64]())
      for _ in 0..<40 {
        for _ in 0..<dice.below(3_000) {
          let offset = Int64(bitPattern: dice.next())
          kept.append(offset)
          expected.append(offset)
        }
        if !expected.isEmpty, dice.once(in: 2) {
          let index = dice.below(expected.count)
          kept[index] = -7
          expected[index] = -7
        }
        if dice.once(in: 3) {
          // At the seams of its pieces, too.
          let cut = dice.once(in: 2) ? expected.count / 4_096 * 4_096 : dice.below(expected.count + 1)
          kept.removeAll(from: cut)
          expected.removeSubrange(cut...)
        }
        #expect(kept.count == expected.count)
      }
      #expect(expected.indices.allSatisfy { kept[$0] == expected[$0] })
    }
  }

  @Test("Names are found once they are finished, and no others; also when they were read twice") func names()
  {
    func name(_ number: Int) -> ListedNames.Name { ListedNames.name(Array("name-\(number)".utf8)) }
    var names = ListedNames()
    #expect(!names.contains(name(1)))
    names.finish()
    for number in 0..<20_000 { names.insert(name(number * 2)) }
    names.finish()
    for number in 5_000..<6_000 { names.insert(name(number * 2)) }
    names.insert(name(-2))
    names.finish()
    #expect((-1..<20_000).allSatisfy { names.contains(name($0 * 2)) })
    #expect((0..<20_000).allSatisfy { !names.contains(name($0 * 2 + 1)) })
  }
}
