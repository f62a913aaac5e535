import Faults
import Glibc
import LinuxFiles
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
  @Test(
    "What is copied for one request is waited for by another, and not copied once more",
    .timeLimit(.minutes(1)), .enabled(if: Tree.isRoot))
  func once() throws {
    let tree = try LayeredTree([file("f", "text")])
    let asked = Atomic(0)
    tree.volume.asksForInterrupts { request in
      if request == 8 { asked.add(1, ordering: .releasing) }
      return false
    }
    @Sendable func open(_ request: UInt64, _ isDone: borrowing Atomic<Bool>) {
      var caller = tree.caller
      caller.request = request
      #expect(throws: Never.self) {
        try tree.at("f") { tree.volume.release(try tree.volume.open($0, .write, for: caller).handle) }
      }
      isDone.store(true, ordering: .releasing)
    }
    let first = Atomic(false)
    let second = Atomic(false)
    let held = HeldCall(.sync)
    let one = try PlainThread { held.during { open(7, first) } }
    while !held.isHeld { usleep(50) }
    let other = try PlainThread { open(8, second) }
    // Who copies is asked once, for its one piece.
    while asked.load(ordering: .acquiring) < 5, !second.load(ordering: .acquiring) { usleep(50) }
    #expect(!first.load(ordering: .acquiring) && !second.load(ordering: .acquiring))
    held.letGo()
    one.join()
    other.join()
    #expect(tree.volume.copyUps.items == 1)
  }
}
