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

  private static func kind(_ path: String) -> mode_t? {
    var found = stat()
    return lstat(path, &found) == 0 ? found.st_mode & S_IFMT : nil
  }

  fileprivate enum Deed: CaseIterable {
    case create, write, truncate, makeDirectory, symbolicLink, remove, removeDirectory, rename, noReplace
    case exchange, link, mode
  }

  private static let isLong = ProcessInfo.processInfo.environment["LONG"] == "1"
  /// Of each number of lowers; half of the histories have hard links in lowers, the others set and clear the flag `opaque`.
  private static let runs = isLong ? 140 : 70

  @Test("Random histories", arguments: [1, 3]) func histories(lowers count: Int) async throws {
    var (steps, done, flags) = (0, 0, 0)
    try await withThrowingTaskGroup(of: Tally.self) { group in
      for run in 1...LayerModelTests.runs {
        group.addTask {
          try LayerModelTests.history(
            lowers: count, "layers \(count) \(run)", setsFlags: run.isMultiple(of: 2))
        }
      }
      for try await tally in group {
        steps += tally.steps
        done += tally.done
        flags += tally.flags
      }
    }
    print("\(count) lowers: \(steps) operations, \(done) done, \(flags) changes of the flag opaque")
    #expect(steps >= LayerModelTests.runs * 720 && done > steps / 10 && flags > LayerModelTests.runs * 2)
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
    /// What marks are left.
    var marks: Set<String> = []
  }

  /// One history.
  ///
  /// With `setsFlags` no file of a lower has a second name: names that the flag covers would go on counting.
  private static func history(lowers count: Int, _ seed: String, setsFlags: Bool = false) throws -> Tally {
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
    var tally = Tally()
    for step in 0..<1_000 {
      if setsFlags, dice.once(in: 40) {
        if try changeFlag(tree, model, path(&dice), isSet: dice.once(in: 2)) { tally.flags += 1 }
        continue
      }
      let deed = dice.pick(Deed.allCases)
      let (path, other) = (LayerModelTests.path(&dice), LayerModelTests.path(&dice))
      let word = "\(dice.below(10_000))"
      // What the kernel refuses by itself, before it asks anybody.
      if deed.isAboutTwo, path == other || path.hasPrefix(other + "/") || other.hasPrefix(path + "/") {
        continue
      }
      if deed == .link, LayerModelTests.kind("\(model)/\(path)") == S_IFDIR { continue }
      tally.steps += 1
      let expected = LayerModelTests.inPlain(deed, model, path, other, word)
      let found = LayerModelTests.inLayers(deed, tree, path, other, word)
      try #require(found == expected, "step \(step): \(deed) \(path) \(other)")
      if found == nil { tally.done += 1 }
      if step % 25 == 0 {
        let difference = try LayerModelTests.difference(tree, model)
        try #require(difference == [], "after step \(step): \(deed) \(path)")
      }
      if dice.once(in: 100) { try tree.remount() }
    }
    try tree.remount()
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

  private static func inLayers(
    _ deed: Deed, _ tree: LayeredTree, _ path: String, _ other: String, _ word: String
  ) -> Errno? {
    do {
      switch deed {
      case .create: try tree.create(path, word)
      case .write, .truncate, .mode:
        guard try [.regular, .directory].contains(tree.attributes(path).kind) else {
          throw Errno.tooManySymbolicLinks
        }
        if deed == .mode {
          try tree.change(path) { $0.mode = UInt16(word.utf8.count.isMultiple(of: 2) ? 0o700 : 0o755) }
        }
        guard try tree.attributes(path).kind == .regular || deed == .mode else { throw Errno.isDirectory }
        if deed == .write { try tree.write(path, word, at: 1) }
        if deed == .truncate { try tree.change(path) { $0.size = UInt64(word.utf8.count) } }
      case .makeDirectory: try tree.makeDirectory(path)
      case .symbolicLink: try tree.makeSymbolicLink(path, to: word)
      case .remove: try tree.remove(path)
      case .removeDirectory: try tree.removeDirectory(path)
      case .rename: try tree.rename(path, to: other)
      case .noReplace: try tree.rename(path, to: other, .noReplace)
      case .exchange: try tree.rename(path, to: other, .exchange)
      case .link: try tree.link(path, as: other)
      }
      return nil
    } catch {
      return (error as? Errno).map(plainer)
    }
  }

  /// Walking through a file is refused by the kernel above, which says another word; nobody but root calls here.
  private static func plainer(_ error: Errno) -> Errno {
    [.notDirectory, .tooManySymbolicLinks, .accessDenied].contains(error) ? .noSuchFile : error
  }

  private static func inPlain(
    _ deed: Deed, _ model: String, _ path: String, _ other: String, _ word: String
  ) -> Errno? {
    let (path, other) = ("\(model)/\(path)", "\(model)/\(other)")
    func fails(_ result: CInt) -> Errno? { result < 0 ? plainer(Errno(rawValue: errno)) : nil }
    func written(_ flags: CInt, at offset: off_t) -> Errno? {
      let file = Glibc.open(path, flags | O_NOFOLLOW, 0o644)
      if file < 0 { return fails(file) }
      defer { close(file) }
      return fails(CInt(pwrite(file, word, word.utf8.count, offset)))
    }
    switch deed {
    case .create: return written(O_WRONLY | O_CREAT | O_EXCL, at: 0)
    case .write: return written(O_WRONLY, at: 1)
    case .truncate:
      let file = Glibc.open(path, O_WRONLY | O_NOFOLLOW)
      if file < 0 { return fails(file) }
      defer { close(file) }
      return fails(ftruncate(file, off_t(word.utf8.count)))
    case .mode:
      guard kind(path) != S_IFLNK else { return plainer(.tooManySymbolicLinks) }
      return fails(chmod(path, word.utf8.count.isMultiple(of: 2) ? 0o700 : 0o755))
    case .makeDirectory: return fails(mkdir(path, 0o755))
    case .symbolicLink: return fails(symlink(word, path))
    case .remove: return fails(unlink(path))
    case .removeDirectory: return fails(rmdir(path))
    case .rename: return fails(rename(path, other))
    case .noReplace: return renamePlain(path, to: other, .noReplace).map(plainer)
    case .exchange: return renamePlain(path, to: other, .exchange).map(plainer)
    case .link: return fails(Glibc.link(path, other))
    }
  }
}

extension LayerModelTests.Deed {
  fileprivate var isAboutTwo: Bool { self == .rename || self == .noReplace || self == .exchange }
}
