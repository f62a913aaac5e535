// Random operations on a volume over lowers, and the same on a plain directory: both show the same all the while.

import Foundation
import LinuxFiles
import Randomness
import Testing

@testable import LayeredVolume

@Suite("Layers against a plain directory", .timeLimit(.minutes(5)), .enabled(if: Tree.isRoot))
struct LayerModelTests {
  private static let isLong = ProcessInfo.processInfo.environment["LONG"] == "1"
  /// Of each number of lowers; half of the histories have hard links in lowers, the others set and clear the flag `opaque`.
  private static let runs = isLong ? 140 : 60

  @Test("Random histories", arguments: [1, 3]) func histories(lowers count: Int) async throws {
    var (steps, done, flags, held) = (0, 0, 0, LayerModelHeld.Counts())
    try await withThrowingTaskGroup(of: LayerModelHistory.Tally.self) { group in
      for run in 1...LayerModelTests.runs {
        group.addTask {
          try LayerModelHistory(
            lowers: count, seed: "layers \(count) \(run)", setsFlags: run.isMultiple(of: 2),
            holds: !run.isMultiple(of: 3)
          ).run()
        }
      }
      for try await tally in group {
        steps += tally.steps
        done += tally.done
        flags += tally.flags
        held += tally.held
      }
    }
    print("\(count) lowers: \(steps) operations, \(done) done, \(flags) changes of the flag opaque; \(held)")
    #expect(steps >= LayerModelTests.runs * 720 && done > steps / 10 && flags > LayerModelTests.runs * 2)
    let least = LayerModelTests.runs * 5
    #expect(held.files > least && held.changes > least && held.listings > least, "\(held)")
  }

  /// In a process of its own, which has no privilege: marks and records are attributes of users.
  @Test("Random histories of a user's own volume") func ofUser() async {
    await #expect(processExitsWith: .success) {
      // All its threads, for good.
      try #require(setgroups(0, nil) == 0 && setgid(65_534) == 0 && setuid(65_534) == 0)
      var marks: Set<String> = []
      for count in [1, 3] {
        for run in 1...2 {
          marks.formUnion(try LayerModelHistory(lowers: count, seed: "user \(count) \(run)").run().marks)
        }
      }
      #expect(
        marks.isSuperset(of: ["user.overlay.opaque", "user.overlay.redirect", "user.varve.m"]), "\(marks)")
      #expect(!marks.contains { $0.hasPrefix("trusted.") })
    }
  }
}
