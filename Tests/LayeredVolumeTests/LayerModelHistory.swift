// One random history. Each of its steps has dice of its own: steps can be left out, and the others do what they did.

import Foundation
import LinuxFiles
import Randomness

@testable import LayeredVolume

struct LayerModelHistory {
  let lowers: Int
  let seed: String
  /// Then no file of a lower has a second name: names that the flag covers would go on counting.
  var setsFlags = false
  /// Whether files and listings are held open meanwhile.
  var holds = true

  private static let length = 1_000

  struct Tally {
    var steps = 0
    var done = 0
    /// How often the flag `opaque` of a directory was set or cleared.
    var flags = 0
    /// What was held open meanwhile.
    var held = LayerModelHeld.Counts()
    /// What marks are left.
    var marks: Set<String> = []
  }

  private struct Sides {
    let tree: LayeredTree
    let model: String
    var held = LayerModelHeld()
    var numbers = LayerModelNumbers()
    var tally = Tally()
  }

  /// Fails with a short list of steps that fails.
  func run() throws -> Tally {
    let (dice, steps) = (Dice(for: seed), Array(0..<LayerModelHistory.length))
    var done: [String] = []
    do { return try run(steps, dice, &done) } catch {
      let short = Shrinking.shrunk(Array(steps.prefix(done.count)), within: 60) { steps in
        var done: [String] = []
        return (try? run(steps, dice, &done)) == nil ? done.count : nil
      }
      var again: [String] = []
      let last: any Error
      do {
        _ = try run(short, dice, &again)
        last = Unexpected(description: "the short run did not fail again")
      } catch { last = error }
      let listed = again.filter { !$0.isEmpty }.map { "  \($0)" }.joined(separator: "\n")
      throw Unexpected(
        description:
          "\(seed), \(done.last ?? ""): \(error)\na short run that fails:\n\(listed)\nwhich ends in\n\(last)")
    }
  }

  /// `done`: each step that was begun, in words, or nothing of one that does nothing.
  private func run(_ steps: [Int], _ dice: Dice, _ done: inout [String]) throws -> Tally {
    var dice = dice
    let tree = try LayeredTree(making: { base in
      try (1...lowers).map { number in
        var files: [String] = []
        try LayerModelTrees.makeLower("\(base)/lower\(number)", &dice, links: !setsFlags, &files)
        return "\(base)/lower\(number)"
      }
    })
    var sides = Sides(tree: tree, model: tree.base + "/model")
    defer { sides.held.abandon() }
    var seen: [ino_t: [String]] = [:]
    try LayerModelTrees.merge(tree.lowers, to: sides.model, &seen)
    for lower in tree.lowers { try LayerModelTrees.separateCovered(lower, seen) }
    let before = try tree.lowers.map { try plainState($0) }
    let salt = dice.next()
    for step in steps {
      var dice = Dice(seed: salt ^ (UInt64(step + 1) &* 0xD134_2543_DE82_EF95))
      done.append("")
      try self.step(step, &sides, &dice) {
        done[done.count - 1] += done[done.count - 1].isEmpty ? $0 : "; \($0)"
      }
    }
    try sides.held.end(tree)
    sides.tally.held = sides.held.counts
    try tree.remount()
    try sides.numbers.check(tree, sides.model)
    let difference = try LayerModelTrees.difference(tree, sides.model)
    try Unexpected.require(difference == [], "in the end: \(difference)")
    try Unexpected.require(try tree.lowers.map { try plainState($0) } == before, "a lower was changed")
    sides.tally.marks = try LayerModelTrees.marks(tree.upper)
    return sides.tally
  }

  private func step(
    _ step: Int, _ sides: inout Sides, _ dice: inout Dice, _ tell: (String) -> Void
  ) throws {
    let (tree, model) = (sides.tree, sides.model)
    if holds, dice.once(in: 3) {
      let deed = dice.pick(LayerModelHeld.Deed.allCases)
      let paths = (0..<5).map { _ in LayerModelHistory.path(&dice) }
      tell("\(deed) \(paths)")
      try sides.held.act(deed, tree, model, paths, &dice)
      try sides.held.check(tree)
    }
    if setsFlags, dice.once(in: 40) {
      try sides.held.end(tree)
      sides.numbers = LayerModelNumbers()
      let (path, isSet) = (LayerModelHistory.path(&dice), dice.once(in: 2))
      tell("\(isSet ? "set" : "clear") the flag of \(path)")
      if try LayerModelHistory.changeFlag(tree, model, path, isSet: isSet) { sides.tally.flags += 1 }
      return
    }
    try change(&sides, &dice, tell)
    if step % 25 == 0 {
      if step % 50 == 0 { try sides.numbers.check(tree, model) }
      let difference = try LayerModelTrees.difference(tree, model)
      try Unexpected.require(difference == [], "\(difference)")
    }
    if dice.once(in: 100) {
      tell("remount")
      try sides.held.end(tree)
      try tree.remount()
    }
  }

  private func change(_ sides: inout Sides, _ dice: inout Dice, _ tell: (String) -> Void) throws {
    let deed = dice.pick(LayerModelDeed.allCases)
    let (path, other) = (LayerModelHistory.path(&dice), LayerModelHistory.path(&dice))
    let word = "\(dice.below(10_000))"
    // What the kernel refuses by itself, before it asks anybody.
    if deed.isAboutTwo, path == other || path.hasPrefix(other + "/") || other.hasPrefix(path + "/") { return }
    if deed == .link, LayerModelTrees.kind("\(sides.model)/\(path)") == S_IFDIR { return }
    sides.tally.steps += 1
    tell("\(deed) \(path)" + (deed.isAboutTwo || deed == .link ? " \(other)" : ""))
    let expected = deed.inPlain(sides.model, path, other, word)
    let found = deed.inLayers(sides.tree, path, other, word)
    try Unexpected.require(
      found == expected, "\(found.map { "\($0)" } ?? "done") instead of \(expected.map { "\($0)" } ?? "done")"
    )
    guard found == nil else { return }
    sides.tally.done += 1
    try sides.held.check(sides.tree)
  }

  /// Sets or clears the flag `opaque` of a directory, and lets the model show what the layers show by then; whether it changed.
  static func changeFlag(
    _ tree: LayeredTree, _ model: String, _ path: String, isSet: Bool
  ) throws -> Bool {
    guard LayerModelTrees.kind("\(model)/\(path)") == S_IFDIR else { return false }
    try Unexpected.require(try LayerModelTrees.difference(tree, model) == [], "before the flag of \(path)")
    // Somebody knows it already.
    try tree.at(path) { node in
      let former = try tree.state(path)
      try tree.setAttribute(path, "system.varve.flags", isSet ? "opaque" : "")
      try FileManager.default.removeItem(atPath: model)
      try MarkedLayers(tree).copy(to: model)
      try Unexpected.require(
        try LayerModelTrees.difference(tree, model) == [],
        "after \(isSet ? "setting" : "clearing") the flag of \(path): \(former)")
      _ = node
    }
    return true
  }

  private static func path(_ dice: inout Dice) -> String {
    (0...dice.below(3)).map { _ in dice.pick(LayerModelTrees.names) }.joined(separator: "/")
  }
}
