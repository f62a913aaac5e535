// Opening a volume, and its first record, with each system call failing in turn.

import Faults
import Glibc
import LinuxFiles
import Testing

@testable import LayeredVolume

@Suite("Opening a volume whose system calls fail") struct OpeningFaultTests {
  private static let faults = [
    Fault(.changes, .noSpace), Fault([.open, .make], .tooManyOpenFiles), Fault(.look, .inputOutput),
  ]

  @Test("What could not be opened can be opened, and what is in it is as it was", arguments: faults)
  func first(_ fault: Fault) throws {
    var fault = fault
    while true {
      let tree = try Tree { file("f", "text") }
      let (result, hits) = fault.during { _ = try tree.volume() }
      guard hits > 0 else { break }
      if case .failure = result, fault.kinds == .changes {
        let isLeft = access("\(tree.path)/.varve", F_OK) == 0
        #expect(!isLeft, "call \(fault.after) left '.varve'")
      }
      let state = try tree.state()
      #expect(state.contains { $0.hasPrefix("f regular 644 'text'") }, "call \(fault.after): \(result)")
      fault.after += 1
    }
    #expect(fault.after > 3)
  }

  @Test("Records count after a mount that failed", arguments: faults) func again(_ fault: Fault) throws {
    var fault = fault
    let tree = try Tree { file("f", "text", flags: "hidden", list: "user:1001 deny read") }
    let before = try tree.state()
    while true {
      tree.unmount()
      let (result, hits) = fault.during { _ = try tree.volume() }
      guard hits > 0 else { break }
      let after = try tree.state()
      #expect(after == before, "call \(fault.after): \(result)")
      fault.after += 1
    }
    #expect(fault.after > 1)
  }

  @Test("The first record of a volume is there or not") func firstRecord() throws {
    var fault = Fault(.changes, .noSpace)
    while true {
      // A volume that was empty when it was made has no records.
      let tree = try Tree {}
      try tree.create("f")
      let before = try tree.state()
      let (result, hits) = fault.during { try tree.setAttribute("f", "system.varve.flags", "hidden") }
      guard hits > 0 else { break }
      let states = [try tree.state(), try tree.storedState()]
      #expect(states == [before, before], "call \(fault.after): \(result)")
      tree.unmount()
      let next = try tree.state()
      #expect(next == before, "call \(fault.after): the next mount")
      fault.after += 1
    }
    #expect(fault.after > 3)
  }
}
