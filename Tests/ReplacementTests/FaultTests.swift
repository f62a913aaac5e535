// Every system call of a replacement fails in turn: alone, and with all that follow, as when the process is killed there.
// Old or new afterwards, and never a mixture; and at no time plaintext in a file whose record says that it is protected.

import Faults
import Foundation
import LinuxFiles
import RecordFormat
import Testing

@testable import LayeredVolume

@Suite("Replacements whose system calls fail") struct FaultTests {
  struct Sweep: Sendable, CustomTestStringConvertible {
    let goal: Upper.Goal
    let error: Errno
    /// How many calls fail.
    let count: Int

    var testDescription: String { "\(goal), \(error.name), \(count == 1 ? "once" : "from there on")" }
  }

  static let sweeps = [Upper.Goal.protected, .plain, .compressed, .expanded].flatMap { goal in
    [
      Sweep(goal: goal, error: .inputOutput, count: 1),
      Sweep(goal: goal, error: .inputOutput, count: .max >> 1),
      Sweep(goal: goal, error: .noSpace, count: 1), Sweep(goal: goal, error: .unsupported, count: 1),
      Sweep(goal: goal, error: .crossDevice, count: 1), Sweep(goal: goal, error: .accessDenied, count: 1),
    ]
  }

  private let content = exampleContent()

  /// What may be found at any time.
  private func check(_ upper: Upper, _ name: String, _ call: String) throws {
    let record = try upper.stored(name).core
    if record.isReplacing {
      let work = try upper.object(name).descriptor.status().workName
      let file = try #require(try ReplacementFiles.find(work, in: upper.workshop), "\(call)")
      #expect(try ReplacementSite.trailer(of: file.descriptor) != nil, "\(call)")
      return
    }
    if record.isEncrypted {
      let stored = Data(try upper.bytes(name))
      #expect(stored.range(of: Data(content[..<16])) == nil, "\(call)")
      #expect(stored.range(of: Data(content.suffix(16))) == nil, "\(call)")
    }
    #expect(try upper.content(name) == content, "\(call)")
  }

  @Test(arguments: sweeps) func everyCall(_ sweep: Sweep) throws {
    let upper = try Upper()
    var call = 0
    var (failed, replaced, waiting) = (0, 0, 0)
    while true {
      let name = "f\(call)"
      try upper.make(name, content)
      if let former = sweep.goal.former { try upper.replaceAndSettle(name, former) }
      let before = try upper.appearance(name)
      let form = try upper.form(name)
      let fault = Fault([.all, .lease], sweep.error, after: call, count: sweep.count)
      let (result, hits) = fault.during { try upper.replace(name, sweep.goal) }
      var succeeded = false
      if case .success = result { succeeded = true }
      let words = "call \(call): \(result)"
      try check(upper, name, words)
      let isWaiting = try upper.stored(name).core.isReplacing
      if succeeded {
        #expect(!isWaiting, "\(words)")
        #expect(try upper.form(name) == sweep.goal.form, "\(words)")
        #expect(try upper.appearance(name) == before, "\(words)")
      } else if sweep.count == 1, !isWaiting {
        // Nothing is left behind that the next mount would have to look at, but what could not be removed.
        #expect(try upper.appearance(name) == before, "\(words)")
      }
      failed += succeeded ? 0 : 1
      waiting += isWaiting ? 1 : 0
      let recovery = try upper.mountAgain()
      #expect(recovery.kept == 0 && recovery.redone == (isWaiting ? 1 : 0), "\(words): \(recovery)")
      try check(upper, name, "\(words), recovered")
      #expect(try !upper.stored(name).core.isReplacing, "\(words)")
      #expect(try upper.appearance(name) == before, "\(words), recovered")
      #expect(upper.workNames.isEmpty, "\(words)")
      if try upper.form(name) != form { replaced += 1 }
      // After an error the same can be done again.
      if !succeeded, !isWaiting, sweep.count == 1, call % 5 == 0 {
        try upper.replace(name, sweep.goal)
        #expect(try upper.content(name) == content, "\(words)")
      }
      try FileManager.default.removeItem(atPath: upper.open(name))
      try FileManager.default.removeItem(atPath: upper.open(name + ".link"))
      if hits == 0 {
        #expect(succeeded)
        break
      }
      call += 1
      try #require(call < 400)
    }
    print(
      "\(sweep.testDescription): \(call) calls, \(failed) failed, \(waiting) waited, \(replaced) replaced")
    #expect(call > 30 && failed > 10)
    // Else the second half of the steps was never interrupted.
    if sweep.error == .inputOutput { #expect(waiting > 3 && replaced > waiting) }
  }

  @Test(
    "Every call of a recovery fails in turn",
    arguments: [Upper.Goal.protected, .plain, .compressed, .expanded], [1, Int.max >> 1])
  func recovery(_ goal: Upper.Goal, _ count: Int) throws {
    let upper = try Upper()
    var call = 0
    var waiting = 0
    while true {
      let name = "f\(call)"
      try upper.make(name, content)
      if let former = goal.former { try upper.replaceAndSettle(name, former) }
      let before = try upper.appearance(name)
      try upper.begin(name, goal)
      let (_, hits) = Fault([.all, .lease], .inputOutput, after: call, count: count).during {
        try upper.site.recover(beneath: upper.root)
      }
      try check(upper, name, "call \(call)")
      waiting += try upper.stored(name).core.isReplacing ? 1 : 0
      _ = try upper.mountAgain()
      #expect(try upper.content(name) == content, "call \(call)")
      #expect(try upper.form(name) == goal.form, "call \(call)")
      #expect(try upper.appearance(name) == before, "call \(call)")
      #expect(upper.workNames.isEmpty, "call \(call)")
      if hits == 0 { break }
      call += 1
      try #require(call < 200)
    }
    #expect(call > 15 && waiting > 8)
  }

  @Test("A failed sync is never taken for one that succeeded") func syncs() throws {
    let upper = try Upper()
    // The body, its slots, the work file, its name; b10; the bytes; the record.
    var outcomes: [Bool] = []
    var unheard = 0
    for call in 0... {
      let name = "f\(call)"
      try upper.make(name, content)
      let (result, hits) = Fault(.sync, .inputOutput, after: call).during {
        try upper.replace(name, .protected)
      }
      guard hits > 0 else { break }
      guard case .failure = result else {
        // What was to take the work file away for good: it is emptied instead.
        #expect(try upper.workNames.isEmpty && upper.content(name) == content)
        unheard += 1
        continue
      }
      outcomes.append(try upper.stored(name).core.isReplacing)
      try check(upper, name, "sync \(call)")
      try upper.mountAgain()
    }
    #expect(unheard == 1)
    // Up to the sync of b10 everything is taken back; the last two are continued.
    #expect(outcomes.count >= 5)
    #expect(outcomes.suffix(2) == [true, true] && !outcomes.dropLast(2).contains(true))
  }
}
