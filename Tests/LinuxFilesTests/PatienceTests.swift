import LinuxFiles
import Synchronization
import Testing

@Suite("Waiting with patience") struct PatienceTests {
  @Test("An answer that comes in time is given") func inTime() {
    #expect(Patience.wait(milliseconds: 5_000) { 42 } == 42)
  }

  @Test("An answer that does not come is not waited for") func tooLate() {
    let isOver = Flag()
    let start = Clock.monotonicNanoseconds
    let answer = Patience.wait(milliseconds: 50) {
      while !isOver.value.load(ordering: .acquiring) { isOver.pause() }
      return 1
    }
    let waited = Clock.monotonicNanoseconds - start
    isOver.value.store(true, ordering: .releasing)
    #expect(answer == nil)
    #expect(waited >= 50_000_000)
    #expect(waited < 5_000_000_000)
  }

  private final class Flag: Sendable {
    let value = Atomic<Bool>(false)
    /// Gives others the processor for a moment.
    func pause() { _ = Patience.wait(milliseconds: 1) { () } }
  }
}
