// Power cuts and kills at every write of the content that ships.

import Foundation
import Randomness
import Testing

@Suite struct CrashTests {
  @Test func noCrashLosesWhatWasSynced() throws {
    var dice = Dice(for: "crashes of sealed content")
    let worlds = ProcessInfo.processInfo.environment["LONG"] == "1" ? 20_000 : 800
    var sum = CrashFindings()
    for world in 0..<worlds {
      let played = try CrashWorld(seed: dice.next())
      played.run(crashes: 12)
      sum += played.findings
      sum.failures += played.findings.failures.map { "world \(world): \($0)" }
    }
    print(sum)
    #expect(sum.failures.isEmpty, "\(sum)")
    // Else the game is not what it was meant to be.
    #expect(sum.cuts > worlds && sum.kills > worlds, "\(sum)")
    for moment in CrashMoment.allCases {
      #expect(sum.cutsInside[moment] ?? 0 > worlds / 20, "\(moment): \(sum)")
    }
  }

  @Test("A rule that the store breaks is found", arguments: CrashRule.allCases)
  func aBrokenRuleIsFound(_ rule: CrashRule) throws {
    var dice = Dice(for: "broken rules")
    for world in 0..<4_000 {
      let played = try CrashWorld(seed: dice.next(), leavingOut: rule)
      played.run(crashes: 12)
      guard let first = played.findings.failures.first else { continue }
      print("without \(rule.rawValue), world \(world): \(first)")
      return
    }
    Issue.record("\(rule.rawValue) was left out, and nobody noticed")
  }
}
