// What holds of a volume without lowers holds of items that lie in one: the decision vectors, and taking rights away.

import Foundation
import Glibc
import LinuxFiles
import MountSupport
import Synchronization
import Testing
import VectorFixture

extension MountTests {
  @Suite("Items of lowers under the rules of the core", .timeLimit(.minutes(4))) struct LayerCoreTests {
    private static let isLong = ProcessInfo.processInfo.environment["LONG"] == "1"

    /// How the volume is served, and whether its lower has bookkeeping that says that items have records.
    static let lowers: [(String, Bool)] =
      isLong
      ? Arrangement.all.flatMap { [($0, true), ($0, false)] }
      : [("", true), ("passthrough=off,cache=none", false)]

    @Test(
      "Every vector is answered as written of items that lie in a lower, and a refusal copies nothing",
      arguments: lowers)
    func everyVector(arrangement: String, hasBookkeeping: Bool) throws {
      let vectors = try AuthorizationVector.load()
      let volume = try MountedVolume()
      defer { volume.remove() }
      for tree in ["cold", "warm"] {
        try #require(mkdir("\(volume.path)/\(tree)", 0o755) == 0)
        for vector in vectors { try stage(vector, tree, volume).build() }
      }
      let lower = try volume.becomeLower()
      if !hasBookkeeping { try Program.shell("rm -r '\(lower)/.varve'") }
      let before = try LowerTree.print(of: lower)
      var answered = 0
      for (options, group) in Dictionary(grouping: vectors, by: \.scene.volume.words) {
        let all: [String] = ["lower=\(lower)", arrangement, options]
        let words = all.filter { !$0.isEmpty }.joined(separator: ",")
        let mounted = try MountedVolume(words, base: volume.base)
        for tree in ["cold", "warm"] {
          for vector in group {
            let stage = stage(vector, tree, mounted)
            if tree == "warm" { stage.walk() }
            stage.check(vector, "\(tree), '\(words)'")
            answered += 1
            guard vector.expected.refusal != nil else { continue }
            #expect(
              Calls.status(stage.backing).refusal == .noSuchFile,
              "vector \(vector.number) (\(tree), '\(words)') was refused, and brought something up")
          }
        }
        try mounted.unmount()
      }
      #expect(answered == 2 * vectors.count)
      #expect(try LowerTree.print(of: lower) == before, "the lower is what it was")
    }

    private func stage(_ vector: AuthorizationVector, _ tree: String, _ volume: MountedVolume) -> Stage {
      Stage(vector, below: "\(volume.path)/\(tree)", backing: "\(volume.upper)/\(tree)")
    }

    @Test(
      "After a revocation that brings the directory up nobody gets through by remembered names",
      arguments: isLong ? Arrangement.all : ["", "cache=exclusive"])
    func revocation(options: String) throws {
      let areas = LayerCoreTests.isLong ? 20 : 6
      let volume = try MountedVolume()
      defer { volume.remove() }
      for gate in Gate.allCases {
        for number in 0..<areas { try gate.build(in: "\(volume.path)/\(gate)\(number)") }
      }
      let lower = try volume.becomeLower()
      let before = try LowerTree.print(of: lower)
      let mounted = try MountedVolume(
        options.isEmpty ? "lower=\(lower)" : "lower=\(lower),\(options)", base: volume.base)
      let seed = UInt64.random(in: 0...(.max))
      let rounds = 12
      for gate in Gate.allCases {
        var (passed, refused) = (0, 0)
        // In each of them the first change is the one that copies.
        for number in 0..<areas {
          let area = "\(mounted.path)/\(gate)\(number)"
          let passage = Passage(gate, area: area)
          try passage.alternate(at: area, rounds: rounds, seed: seed &+ UInt64(number))
          let failures = passage.failures.withLock { $0 }
          try #require(failures == [], "-o '\(options)', seed \(seed), area \(number)")
          passed += passage.passed.load(ordering: .relaxed)
          refused += passage.refused.load(ordering: .relaxed)
        }
        #expect(passed > areas * rounds / 5, "\(gate)")
        #expect(refused > areas * rounds / 5, "\(gate)")
      }
      try mounted.unmount()
      #expect(try LowerTree.print(of: lower) == before, "the lower is what it was")
    }
  }
}
