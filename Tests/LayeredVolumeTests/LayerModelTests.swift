// Random operations on a volume over lowers, and the same on a plain directory: both show the same all the while.

import Foundation
import LinuxFiles
import Randomness
import Testing

@testable import LayeredVolume

@Suite("Layers against a plain directory", .timeLimit(.minutes(5)), .enabled(if: Tree.isRoot))
struct LayerModelTests {
  private static let names = ["a", "b", "c", "d"]

  /// Trees in which names of one layer hide, and merge with, those of another.
  private static func makeLower(
    _ path: String, _ dice: inout Dice, depth: Int = 0, links: Bool, _ files: inout [String]
  ) throws {
    mkdir(path, 0o755)
    for name in names {
      switch dice.below(9) {
      case 8:
        guard links, !files.isEmpty else { continue }
        Glibc.link(dice.pick(files), "\(path)/\(name)")
      case 0..<3:
        try "\(name)\(dice.below(1000))".write(toFile: "\(path)/\(name)", atomically: false, encoding: .utf8)
        files.append("\(path)/\(name)")
      case 3..<6 where depth < 2:
        try makeLower("\(path)/\(name)", &dice, depth: depth + 1, links: links, &files)
      case 6: symlink("to\(dice.below(9))", "\(path)/\(name)")
      default: break
      }
    }
  }

  /// What the layers show together, without a mark among them; `seen`: where each of it comes from, by inode.
  private static func merge(_ lowers: [String], to path: String, _ seen: inout [ino_t: [String]]) throws {
    mkdir(path, 0o755)
    for name in names {
      let found = lowers.map { "\($0)/\(name)" }.filter { kind($0) != nil }
      guard let first = found.first else { continue }
      if kind(first) == S_IFDIR {
        try merge(Array(found.prefix { kind($0) == S_IFDIR }), to: "\(path)/\(name)", &seen)
      } else if let known = seen[inode(first)]?.first {
        Glibc.link(known, "\(path)/\(name)")
        seen[inode(first), default: []].append(first)
      } else {
        try FileManager.default.copyItem(atPath: first, toPath: "\(path)/\(name)")
        seen[inode(first)] = ["\(path)/\(name)", first]
      }
    }
  }

  /// Makes names that another layer covers names of something else: they would go on counting.
  private static func separateCovered(_ path: String, _ seen: [ino_t: [String]]) throws {
    for name in names.map({ "\(path)/\($0)" }) {
      guard let kind = kind(name) else { continue }
      if kind == S_IFDIR { try separateCovered(name, seen) }
      guard kind == S_IFREG, !(seen[inode(name)] ?? []).contains(name) else { continue }
      let text = try String(contentsOfFile: name, encoding: .utf8)
      unlink(name)
      try text.write(toFile: name, atomically: false, encoding: .utf8)
    }
  }

  private static func inode(_ path: String) -> ino_t {
    var found = stat()
    lstat(path, &found)
    return found.st_ino
  }

  /// Which names are of one file, for each that has several.
  private static func groups(_ lines: [String], _ number: (String) throws -> UInt64) rethrows -> Set<[String]>
  {
    var groups: [UInt64: [String]] = [:]
    for line in lines where !line.contains(" directory ") && !line.contains(" -> ") {
      let path = String(line.prefix { $0 != " " })
      groups[try number(path), default: []].append(path)
    }
    return Set(groups.values.filter { $0.count > 1 })
  }

  private static func difference(_ tree: LayeredTree, _ model: String) throws -> [String] {
    let (found, expected) = (try tree.state(), try plainState(model))
    if found != expected {
      return found.filter { !expected.contains($0) } + ["instead of"]
        + expected.filter { !found.contains($0) }
    }
    let (one, other) = (
      try groups(found) { try tree.attributes($0).inode },
      groups(expected) { UInt64(inode("\(model)/\($0)")) }
    )
    return one == other ? [] : ["\(one) instead of \(other)"]
  }

  static func kind(_ path: String) -> mode_t? {
    var found = stat()
    return lstat(path, &found) == 0 ? found.st_mode & S_IFMT : nil
  }

  private static let isLong = ProcessInfo.processInfo.environment["LONG"] == "1"
  /// Of each number of lowers; half of the histories have hard links in lowers, the others set and clear the flag `opaque`.
  private static let runs = isLong ? 140 : 60

  @Test("Random histories", arguments: [1, 3]) func histories(lowers count: Int) async throws {
    var (steps, done, flags, held) = (0, 0, 0, LayerModelHeld.Counts())
    try await withThrowingTaskGroup(of: Tally.self) { group in
      for run in 1...LayerModelTests.runs {
        group.addTask {
          try LayerModelTests.history(
            lowers: count, "layers \(count) \(run)", setsFlags: run.isMultiple(of: 2),
            holds: !run.isMultiple(of: 3))
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
          marks.formUnion(try LayerModelTests.history(lowers: count, "user \(count) \(run)").marks)
        }
      }
      #expect(
        marks.isSuperset(of: ["user.overlay.opaque", "user.overlay.redirect", "user.varve.m"]), "\(marks)")
      #expect(!marks.contains { $0.hasPrefix("trusted.") })
    }
  }

  /// Which attributes the volume has given to directories of the upper.
  private static func marks(_ upper: String) throws -> Set<String> {
    var marks: Set<String> = []
    for path in try FileManager.default.subpathsOfDirectory(atPath: upper) {
      guard kind("\(upper)/\(path)") == S_IFDIR else { continue }
      let names = try Descriptor.open(path: "\(upper)/\(path)", .readOnly).attributeNames().copies
      marks.formUnion(names.map { String(decoding: $0, as: UTF8.self) })
    }
    return marks
  }

  private struct Tally {
    var steps = 0
    var done = 0
    /// How often the flag `opaque` of a directory was set or cleared.
    var flags = 0
    /// What was held open meanwhile.
    var held = LayerModelHeld.Counts()
    /// What marks are left.
    var marks: Set<String> = []
  }

  /// One history.
  ///
  /// `holds`: whether files and listings are held open meanwhile. With `setsFlags` no file of a lower has a second name: names that the flag covers would go on counting.
  private static func history(
    lowers count: Int, _ seed: String, setsFlags: Bool = false, holds: Bool = true
  ) throws -> Tally {
    var dice = Dice(for: seed)
    let tree = try LayeredTree(making: { base in
      try (1...count).map { number in
        var files: [String] = []
        try LayerModelTests.makeLower("\(base)/lower\(number)", &dice, links: !setsFlags, &files)
        return "\(base)/lower\(number)"
      }
    })
    let model = tree.base + "/model"
    var seen: [ino_t: [String]] = [:]
    try LayerModelTests.merge(tree.lowers, to: model, &seen)
    for lower in tree.lowers { try LayerModelTests.separateCovered(lower, seen) }
    let lowers = try tree.lowers.map { try plainState($0) }
    var (tally, held, numbers) = (Tally(), LayerModelHeld(), LayerModelNumbers())
    for step in 0..<1_000 {
      if holds, dice.once(in: 3) {
        let deed = dice.pick(LayerModelHeld.Deed.allCases)
        let paths = (0..<5).map { _ in LayerModelTests.path(&dice) }
        try Unexpected.saying("\(seed), step \(step), \(deed) \(paths)") {
          try held.act(deed, tree, model, paths, &dice)
          try held.check(tree)
        }
      }
      if setsFlags, dice.once(in: 40) {
        try Unexpected.saying("\(seed), step \(step)") { try held.end(tree) }
        numbers = LayerModelNumbers()
        if try changeFlag(tree, model, path(&dice), isSet: dice.once(in: 2)) { tally.flags += 1 }
        continue
      }
      let deed = dice.pick(LayerModelDeed.allCases)
      let (path, other) = (LayerModelTests.path(&dice), LayerModelTests.path(&dice))
      let word = "\(dice.below(10_000))"
      // What the kernel refuses by itself, before it asks anybody.
      if deed.isAboutTwo, path == other || path.hasPrefix(other + "/") || other.hasPrefix(path + "/") {
        continue
      }
      if deed == .link, LayerModelTests.kind("\(model)/\(path)") == S_IFDIR { continue }
      tally.steps += 1
      let expected = deed.inPlain(model, path, other, word)
      let found = deed.inLayers(tree, path, other, word)
      try #require(found == expected, "step \(step): \(deed) \(path) \(other)")
      if found == nil {
        tally.done += 1
        try Unexpected.saying("\(seed), after step \(step), \(deed) \(path) \(other)") {
          try held.check(tree)
        }
      }
      if step % 25 == 0 {
        if step % 50 == 0 { try numbers.check(tree, model) }
        let difference = try LayerModelTests.difference(tree, model)
        try #require(difference == [], "after step \(step): \(deed) \(path)")
      }
      if dice.once(in: 100) {
        try Unexpected.saying("\(seed), step \(step)") { try held.end(tree) }
        try tree.remount()
      }
    }
    try held.end(tree)
    tally.held = held.counts
    try tree.remount()
    try numbers.check(tree, model)
    #expect(try LayerModelTests.difference(tree, model) == [])
    #expect(try tree.lowers.map { try plainState($0) } == lowers)
    tally.marks = try marks(tree.upper)
    return tally
  }

  /// Sets or clears the flag `opaque` of a directory, and lets the model show what the layers show by then; whether it changed.
  private static func changeFlag(
    _ tree: LayeredTree, _ model: String, _ path: String, isSet: Bool
  ) throws -> Bool {
    guard kind("\(model)/\(path)") == S_IFDIR else { return false }
    try #require(try difference(tree, model) == [], "before the flag of \(path)")
    // Somebody knows it already.
    try tree.at(path) { node in
      let former = try tree.state(path)
      try tree.setAttribute(path, "system.varve.flags", isSet ? "opaque" : "")
      try FileManager.default.removeItem(atPath: model)
      try MarkedLayers(tree).copy(to: model)
      try #require(
        try difference(tree, model) == [],
        "after \(isSet ? "setting" : "clearing") the flag of \(path): \(former)")
      _ = node
    }
    return true
  }

  private static func path(_ dice: inout Dice) -> String {
    (0...dice.below(3)).map { _ in dice.pick(names) }.joined(separator: "/")
  }
}
