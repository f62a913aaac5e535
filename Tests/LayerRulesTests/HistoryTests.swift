// Long random histories over random layers, compared with a plain tree after every step of every operation.

import Foundation
import LayerRules
import Randomness
import Testing

@Suite("Histories of a layered volume") struct HistoryTests {
  private static let isLong = ProcessInfo.processInfo.environment["LONG"] == "1"

  /// Runs histories, each in a world of its own.
  ///
  /// With `rotates` the upper becomes, now and then, a lower under an empty one. With `kills` a third of the operations
  /// are stopped after some step, and the volume is mounted again.
  private func run(lowers: Int, rotates: Bool, kills: Bool) {
    let title = "\(lowers) lowers\(rotates ? ", rotating" : "")\(kills ? ", killed" : "")"
    var dice = Dice(for: "histories over " + title)
    let wanted = HistoryTests.isLong ? 1_000_000 : 20_000
    var (operations, steps, done, worlds, most) = (0, 0, 0, 0, 0)
    var killed = 0
    while operations < wanted {
      let seed = dice.next()
      var history = Dice(seed: seed)
      var disk = RandomWorld(lowers: lowers, usesRedirects: false, &history).disk
      var view = ToyView.of(disk)
      worlds += 1
      for number in 0..<300 {
        if rotates, disk.layers.count < lowers + 5, history.once(in: 40) {
          disk.rotate()
          let rotated = ToyView.of(disk)
          #expect(rotated == view, "rotated in world \(seed), operation \(number)")
        }
        let operation = ToyOperation.random(in: view, &history)
        guard let trial = Trial(disk, operation, view: view) else { continue }
        trial.run(killedAfter: kills && history.once(in: 3) ? history.below(8) : nil)
        operations += 1
        steps += trial.steps
        if trial.expected == .done { done += 1 }
        if let complaint = trial.complaint {
          Issue.record("world \(seed), operation \(number), \(operation): \(complaint)")
          return
        }
        if trial.wasKilled { killed += 1 }
        disk = trial.volume.disk
        view = trial.wasKilled ? ToyView.of(disk) : trial.after
        most = max(most, view.count)
      }
    }
    print(
      "\(operations) operations in \(worlds) worlds, \(done) done, \(killed) killed, \(steps) prefixes, up to \(most) items"
    )
    #expect(done > operations / 4)
    #expect(!kills || killed > operations / 50)
  }

  @Test(
    "Random operations show what a plain tree shows",
    arguments: [(1, false), (3, false), (1, true), (3, true)])
  func histories(_ lowers: Int, _ rotates: Bool) {
    run(lowers: lowers, rotates: rotates, kills: false)
  }

  @Test("After a kill at any step the volume goes on", arguments: [1, 3])
  func kills(_ lowers: Int) {
    run(lowers: lowers, rotates: true, kills: true)
  }
}
