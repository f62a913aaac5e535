import Randomness
import Testing

@Suite("Making a run that fails shorter") struct ShrinkingTests {
  @Test("Exactly the steps are left without which it does not fail") func shortest() {
    let needed = [3, 50, 51, 77]
    var runs = 0
    let short = Shrinking.shrunk(Array(0..<200), within: 60) { steps in
      runs += 1
      var rest = needed[...]
      for (index, step) in steps.enumerated() {
        if step == rest.first { rest.removeFirst() }
        if rest.isEmpty { return index + 1 }
      }
      return nil
    }
    #expect(short == needed)
    #expect(runs < 200)
  }

  @Test("A run that does not fail again stays as long as it was") func stubborn() {
    #expect(Shrinking.shrunk(Array(0..<20), within: 60) { _ in nil } == Array(0..<20))
  }
}
