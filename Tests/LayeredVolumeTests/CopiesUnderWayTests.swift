import Synchronization
import Testing

@testable import LayeredVolume

@Suite("Copies under way") struct CopiesUnderWayTests {
  @Test("To ask whether anybody waits costs the same, however often it was asked") func asking() {
    let copies = CopiesUnderWay()
    let asked = Atomic(0)
    var caller = Caller(user: 0, group: 0, thread: 0)
    #expect(!copies.isUnwanted(caller))
    caller.request = 7
    copies.askForInterrupts { $0 == 8 }
    // A function that is wrapped once more each time is a stack that runs over.
    for _ in 0..<300_000 where !copies.isUnwanted(caller) { asked.add(1, ordering: .relaxed) }
    #expect(asked.load(ordering: .relaxed) == 300_000)
    caller.request = 8
    #expect(copies.isUnwanted(caller))
  }
}
