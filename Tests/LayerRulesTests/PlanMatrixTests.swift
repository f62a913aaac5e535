// Every operation on every state of its names: each prefix of each plan shows the view of before or of after, and the
// end is that of a plain tree. And every step is needed: without it some world shows a difference.

import LayerRules
import Testing

/// A world, and what is asked in it.
struct MatrixCase {
  var disk: ToyDisk
  var operations: [ToyOperation]
  var title: String
}

enum Matrix {
  static let worlds: [(lowers: Int, spread: Spread)] = [(1, .top), (3, .bottom), (3, .all)]

  private static func single(_ path: String, _ parent: String) -> [ToyOperation] {
    [
      .create(path), .makeDirectory(path), .publish(path), .unlink(path), .removeDirectory(path),
      .write(path), .cut(path),
      .link(parent + "/y", to: path), .link(parent + "/z", to: path), .link(path, to: parent + "/new"),
      .unlink(path + "2"), .write(path + "2"), .rename(path, to: path + "2", .replace),
      .rename(path, to: path, .replace), .rename(path, to: path, .exchange),
      .rename(path, to: path, .noReplace),
    ]
  }

  private static func renames(_ path: String, _ newPath: String) -> [ToyOperation] {
    ToyStyle.allCases.map { .rename(path, to: newPath, $0) }
  }

  static func visit(lowers: Int, _ spread: Spread, _ body: (MatrixCase) -> Void) {
    for kind in ParentKind.allCases {
      for state in NameState.allCases {
        var builder = WorldBuilder(lowers: lowers, spread)
        let parent = builder.parent("p", kind, other: "q")
        _ = builder.parent("q", .merged, other: "p")
        guard builder.put("s", state, in: parent) else { continue }
        body(MatrixCase(disk: builder.disk, operations: single("p/s", "p"), title: "\(kind) \(state)"))
        for other in NameState.allCases {
          var both = builder
          guard both.put("t", other, in: parent) else { continue }
          body(
            MatrixCase(
              disk: both.disk, operations: renames("p/s", "p/t"),
              title: "\(kind) \(state), \(other) beside it"))
        }
      }
      for second in ParentKind.allCases
      where kind == .merged || second == .merged || kind != .flagged && second != .flagged {
        visit(kind, second, lowers: lowers, spread, body)
      }
    }
  }

  private static func visit(
    _ kind: ParentKind, _ second: ParentKind, lowers: Int, _ spread: Spread, _ body: (MatrixCase) -> Void
  ) {
    for state in NameState.allCases {
      var builder = WorldBuilder(lowers: lowers, spread)
      let parent = builder.parent("p", kind, other: "q")
      let newParent = builder.parent("q", second, other: "p")
      guard builder.put("s", state, in: parent) else { continue }
      for other in NameState.allCases {
        var both = builder
        guard both.put("t", other, in: newParent) else { continue }
        body(
          MatrixCase(
            disk: both.disk, operations: renames("p/s", "q/t"),
            title: "\(kind) \(state) to \(second) \(other)"))
      }
    }
  }
}

@Suite("Plans on every state of their names") struct PlanMatrixTests {
  @Test(
    "Each prefix shows before or after, and the end is that of a plain tree",
    arguments: Array(Matrix.worlds.indices))
  func matrix(_ world: Int) {
    let (lowers, spread) = Matrix.worlds[world]
    var (trials, steps, complaints) = (0, 0, 0)
    var refused: [Outcome: Int] = [:]
    Matrix.visit(lowers: lowers, spread) { scene in
      let view = ToyView.of(scene.disk)
      for operation in scene.operations {
        guard let trial = Trial(scene.disk, operation, view: view) else { continue }
        trial.run()
        trials += 1
        steps += trial.steps
        if trial.expected != .done { refused[trial.expected, default: 0] += 1 }
        guard let complaint = trial.complaint else { continue }
        complaints += 1
        if complaints <= 10 {
          Issue.record("\(lowers) \(spread), \(scene.title), \(operation): \(complaint)")
        }
      }
    }
    print("\(lowers) lowers, \(spread): \(trials) trials, \(steps) prefixes; refused \(refused)")
    #expect(complaints == 0)
    #expect(trials > 10_000)
  }

  /// The mutations that no world shows.
  private func unnoticed(_ kind: ToyVolume.Mutation.Kind) -> (all: Int, unnoticed: Set<ToyVolume.Mutation>) {
    var found: Set<ToyVolume.Mutation> = []
    var all: Set<ToyVolume.Mutation> = []
    for (lowers, spread) in Matrix.worlds {
      Matrix.visit(lowers: lowers, spread) { scene in
        let view = ToyView.of(scene.disk)
        for operation in scene.operations {
          guard let trial = Trial(scene.disk, operation, view: view) else { continue }
          trial.run(looking: false)
          guard trial.complaint == nil else { continue }
          for plan in trial.volume.plans {
            for step in 0..<max(0, kind == .leftOut ? plan.count : plan.count - 1) {
              let mutation = ToyVolume.Mutation(kind: kind, plan: plan, step: step)
              all.insert(mutation)
              if found.contains(mutation) { continue }
              if kind == .swapped, isFree(plan[step], plan[step + 1]) { continue }
              guard let mutated = Trial(scene.disk, operation, view: view) else { continue }
              mutated.run(with: mutation)
              if mutated.complaint != nil { found.insert(mutation) }
            }
          }
        }
      }
    }
    return (all.count, all.subtracting(found))
  }

  @Test("No step of any plan can be left out") func leftOut() {
    let (all, unnoticed) = unnoticed(.leftOut)
    print("\(all) steps left out, \(all - unnoticed.count) of them noticed")
    for mutation in unnoticed { Issue.record("nobody misses step \(mutation.step) of \(mutation.plan)") }
    #expect(all > 200)
  }

  @Test("No two steps can change places but those whose order is free") func swapped() {
    let (all, unnoticed) = unnoticed(.swapped)
    let wrong = unnoticed.filter { !isFree($0.plan[$0.step], $0.plan[$0.step + 1]) }
    print("\(all) pairs of steps, of \(unnoticed.count - wrong.count) the order is free")
    for mutation in wrong {
      Issue.record(
        "\(mutation.plan[mutation.step]) may as well come after \(mutation.plan[mutation.step + 1])")
    }
    #expect(all - unnoticed.count > 100)
  }

  /// Steps of which neither needs the other to be done.
  private func isFree(_ first: Step, _ second: Step) -> Bool {
    switch (first, second) {
    // Marks of the two objects and of their parents: each alone shows what was shown. A twin is in work/.
    case (.setRedirect, .setRedirect), (.setRedirect, .close), (.close, .setRedirect), (.close, .close),
      (.setRedirect, .markImpure), (.close, .markImpure), (.markImpure, .markImpure),
      (.setRedirect, .makeTwin),
      (.close, .makeTwin), (.markImpure, .makeTwin):
      true
    // A file without a name, or in work/, gets what it needs in any order; but data before what writing takes away.
    case (.syncData, .describe), (.describe, .startCount), (.describe, .markImpure),
      (.startCount, .markImpure),
      (.startCount, .link(.work)):
      true
    // The index is no child of the parent.
    case (.markImpure, .link(.index)), (.markImpure, .link(.work)), (.markImpure, .rename(.work, .index, _)):
      true
    // Nobody sees what is swept.
    case (.rename, .sweep): true
    case (.restoreParentTimes, .settleCount): true
    default: false
    }
  }
}
