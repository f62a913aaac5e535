import Synchronization
import Testing

@testable import LayeredVolume

@Suite("Items of a large directory") struct ItemRoundTests {
  @Test(
    "Each is looked at once, and they keep their order, however many there are",
    arguments: [0, 1, 4095, 4096, 20_001])
  func order(_ count: Int) {
    let looks = Atomic(0)
    let look: @Sendable (Int) -> String = { name in
      looks.add(1, ordering: .relaxed)
      return "item \(name)"
    }
    let items = ItemRound(Array(0..<count), look, helper: { look }).run()
    #expect(items == (0..<count).map { "item \($0)" })
    #expect(looks.load(ordering: .relaxed) == count)
  }
}
