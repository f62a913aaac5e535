// The power goes while the content of a file is replaced, and while that is recovered: afterwards it is the old content or
// the new one, and at no time plaintext in a file whose record says that it is protected.

import Foundation
import LinuxFiles
import Randomness
import RecordFormat
import Testing

@testable import LayeredVolume

@Suite("Replacements and power cuts") struct PowerCutTests {
  static let goals: [Upper.Goal] = [.protected, .plain, .compressed, .expanded]
  private static let isLong = ProcessInfo.processInfo.environment["LONG"] == "1"

  /// One replacement, recorded.
  struct Game {
    let upper: Upper
    let goal: Upper.Goal
    let content: [UInt8]
    let before: Appearance
    let former: Upper.Form
    let start: PowerlessDisk
    let events: [PowerlessDisk.Event]
    var redone = 0
    var old = 0
    var new = 0
    var inRecovery = 0

    init(_ goal: Upper.Goal) throws {
      (upper, self.goal, content) = (try Upper(), goal, exampleContent(60_000))
      try upper.make("f", content)
      if let former = goal.former { try upper.replaceAndSettle("f", former) }
      (before, former) = (try upper.appearance("f"), try upper.form("f"))
      start = try PowerlessDisk(of: upper, "f")
      events = try start.record(upper, "f") { [upper] in try upper.replace("f", goal) }
    }

    /// The power goes after so many calls; what is wrong then, if anything.
    ///
    /// `leftOut`: a sync that was none.
    mutating func cut(after calls: Int, leavingOut leftOut: Int? = nil, _ dice: inout Dice) throws -> String?
    {
      var disk = start
      for (index, event) in events[..<calls].enumerated() where index != leftOut { disk.take(event) }
      disk = disk.cut(&dice)
      try disk.build(upper, "f")
      if let plaintext = try plaintext() { return plaintext }
      if dice.once(in: 3) {
        // Work files that are made anew have other numbers.
        disk = try PowerlessDisk(of: upper, "f")
        var events = try disk.record(upper, "f") { try upper.mountAgain() }
        events.removeLast(dice.below(events.count + 1))
        for event in events { disk.take(event) }
        disk = disk.cut(&dice)
        try disk.build(upper, "f")
        inRecovery += 1
        if let plaintext = try plaintext() { return plaintext + ", in the recovery" }
      }
      try upper.restart(killed: true)
      let recovery = try upper.mountAgain()
      redone += recovery.redone
      if recovery.kept > 0 { return "a work file is kept" }
      return try fault()
    }

    /// Plaintext in a file that says it is protected.
    private func plaintext() throws -> String? {
      let record = try upper.stored("f").core
      guard record.isEncrypted, !record.isReplacing else { return nil }
      let stored = try upper.bytes("f")
      for start in stride(from: 0, to: min(stored.count, content.count) - 16, by: 512) {
        let piece = content[start..<start + 16]
        if piece.contains(where: { $0 != 0 }), stored[start..<start + 16] == piece {
          return "plaintext at \(start)"
        }
      }
      return nil
    }

    private mutating func fault() throws -> String? {
      let record = try upper.stored("f").core
      if record.isReplacing { return "it is not recovered" }
      if let plaintext = try plaintext() { return plaintext + ", recovered" }
      guard let found = try? upper.content("f") else { return "it cannot be read" }
      if found != content { return "a mixture" }
      let form = try upper.form("f")
      guard form == former || form == goal.form else { return "it is \(form)" }
      if form == former { old += 1 } else { new += 1 }
      if try upper.appearance("f") != before { return "it looks otherwise" }
      return upper.workNames.isEmpty ? nil : "a work file is left"
    }
  }

  @Test("A power cut leaves the old content or the new one", arguments: goals)
  func everyCut(_ goal: Upper.Goal) throws {
    var game = try Game(goal)
    var dice = Dice(for: "power cuts in a replacement: \(goal)")
    let rounds = PowerCutTests.isLong ? 400 : 10
    for calls in 0...game.events.count {
      for round in 0..<rounds {
        if let wrong = try game.cut(after: calls, &dice) {
          Issue.record("after \(calls) calls, round \(round): \(wrong)")
          return
        }
      }
    }
    print(
      "\(goal): \(game.events.count) changes and syncs, \(game.old) old, \(game.new) new, \(game.redone) redone, "
        + "\(game.inRecovery) cut again in the recovery")
    #expect(game.old > rounds && game.new > rounds && game.redone > rounds && game.inRecovery > rounds)
  }

  @Test("A power cut brings back no work file that a repair would believe", arguments: goals)
  func broughtBack(_ goal: Upper.Goal) throws {
    let game = try Game(goal)
    let inspection = try VolumeInspection(of: game.upper.root, for: .looking)
    var disk = game.start
    for event in game.events { disk.take(event) }
    var dice = Dice(for: "work files after a power cut: \(goal)")
    for round in 0..<40 {
      try disk.cut(&dice).build(game.upper, "f")
      #expect(try inspection.newContent(of: game.upper.object("f")) == nil, "round \(round)")
    }
  }

  @Test("Each sync that is left out is found by a power cut", arguments: goals)
  func leftOut(_ goal: Upper.Goal) throws {
    var game = try Game(goal)
    // The work file, its name, b10, the bytes, the record; one before these is made up for by the first of them. The last
    // is for the work file that is gone.
    let syncs = game.events.indices.filter { game.events[$0].isSync }.suffix(6).dropLast()
    try #require(syncs.count == 5)
    var dice = Dice(for: "syncs left out of a replacement: \(goal)")
    for sync in syncs {
      var found: String?
      for _ in 0..<40 where found == nil {
        for calls in sync + 1...game.events.count where found == nil {
          found = try game.cut(after: calls, leavingOut: sync, &dice)
        }
      }
      print("\(goal), without sync \(sync): \(found ?? "nothing")")
      #expect(found != nil, "sync \(sync)")
    }
  }
}
