import Foundation
import Randomness
import SealedFormat
import Testing

/// Everything, or enough to see a mistake.
func many(_ few: Int, _ all: Int) -> Int {
  ProcessInfo.processInfo.environment["LONG"] == "1" ? all : few
}

@Suite struct CrashTests {
  private func run(_ rules: ModelRules, worlds: Int, untilFound: Bool) -> Findings {
    var dice = Dice(for: "crash model")
    var sum = Findings()
    for world in 0..<worlds {
      let found = ModelWorld(seed: dice.next(), rules: rules).run(crashes: 12)
      sum.cuts += found.cuts
      sum.kills += found.kills
      sum.cutRecoveries += found.cutRecoveries
      sum.tears += found.tears
      sum.falseErrors += found.falseErrors
      sum.wrong += found.wrong
      sum.brokenOperations += found.brokenOperations
      sum.first = sum.first ?? found.first
      if let first = found.first, !untilFound { print("world \(world): \(first)") }
      if untilFound && sum.total > 0 { break }
    }
    return sum
  }

  @Test func noCrashLosesWhatWasSynced() {
    let findings = run(.all, worlds: many(1500, 100_000), untilFound: false)
    print(findings)
    #expect(findings.total == 0, "\(findings)")
  }

  @Test(arguments: [
    ("announce", ModelRules.announce), ("first sync of recovery", .firstSyncOfRecovery),
    ("recovery clears", .recoveryClears), ("resume syncs", .resumeSync),
    ("truncation zeroes", .truncationZeroes), ("recovery zeroes", .recoveryZeroes), ("floor", .floor),
    ("torn seals accepted", .tornSealsAccepted), ("commit only after sync", .commitOnlyAfterSync),
    ("committed pages kept", .committedPagesKept), ("frozen blocks wait", .frozenBlocksWait),
    ("frozen slot waits", .frozenSlotWaits), ("drain before sync", .drainBeforeSync),
    ("slot before cut block", .slotBeforeCutBlock), ("pages before entries", .pagesBeforeEntries),
    ("slot alternates", .slotAlternates), ("survivors kept by zeroing", .survivorsKeptByZeroing),
    ("slot before cut", .slotBeforeCut), ("failed syncs remembered", .failedSyncRemembered),
    ("the floor waits for clearing", .floorWaitsForClearing),
  ])
  func aRuleLeftOutIsFound(_ name: String, _ rule: ModelRules) { isFound(name, rule) }

  /// The caller does what the engine says, and the engine says something else.
  @Test(arguments: [
    ("the older version after a failure", ModelRules.olderAfterFailure),
    ("the newest version", .newestCounts),
    ("the committed half is kept", .committedHalfKept),
    ("a truncation waits for the floor", .truncationWaitsForFloor),
    ("generations seen count", .seenGenerationsCount), ("an unended session is in doubt", .unendedIsDoubtful),
    ("the last close writes a slot", .lastCloseWritesSlot), ("the size is in a slot", .sizeInSlot),
    ("the end of a session syncs", .endOfSessionSyncs), ("a cleared page is its own", .clearedPageIsItsOwn),
    ("clearing waits for the floor", .clearingWaitsForFloor),
  ])
  func anAlteredAnswerIsFound(_ name: String, _ rule: ModelRules) { isFound(name, rule) }

  private func isFound(_ name: String, _ rule: ModelRules) {
    let findings = run(ModelRules.all.subtracting(rule), worlds: 20_000, untilFound: true)
    print("without \(name): \(findings)")
    #expect(findings.total > 0, "\(name)")
  }
}
