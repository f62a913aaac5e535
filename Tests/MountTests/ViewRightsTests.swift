// What a view grants and refuses is what the ordinary tree grants and refuses at the real path.

import Foundation
import Glibc
import LinuxFiles
import MountSupport
import Randomness
import Synchronization
import Testing

/// An item of a random tree: its names from the root down, as they are and as a view shows them.
struct DressedItem: Sendable {
  let isDirectory: Bool
  let real: [String]
  var shown: [String] = []

  func path(_ root: String) -> String { ([root] + real).joined(separator: "/") }
  func shownPath(_ root: String) -> String { ([root] + shown).joined(separator: "/") }
}

/// A random tree on a volume, dressed with owners, modes, lists and flags.
struct DressedTree: Sendable {
  private static let directories = ["Library", "Pictures", "Music", "Foo.app", "sub", "Movies"]
  private static let files = [
    "report.txt", "photo.JPG", "notes.md", "plain", "run.sh", "a b.pdf", "report.pdf",
  ]

  private static let deepest = 2

  let items: [DressedItem]

  init(in root: String, using dice: inout Dice) throws {
    var items: [DressedItem] = []
    try DressedTree.make([], in: root, DressedTree.deepest, &items, &dice)
    self.items = items
    // Contents first: flags forbid what comes later.
    for item in items.reversed() {
      try Dress.random(isDirectory: item.isDirectory, using: &dice).apply(to: item.path(root))
    }
  }

  private init(_ items: [DressedItem]) { self.items = items }

  private static func make(
    _ above: [String], in root: String, _ depth: Int, _ items: inout [DressedItem], _ dice: inout Dice
  ) throws {
    for name in directories.shuffled(using: &dice).prefix(depth == deepest ? 4 : 2) where depth > 0 {
      let item = DressedItem(isDirectory: true, real: above + [name])
      guard mkdir(item.path(root), 0o755) == 0 else { throw TestFailure("\(item.real): \(Errno.current)") }
      // In most, so that some have the same name in every language.
      if !dice.once(in: 4), let error = Calls.write(item.path(root) + "/.localized", "") {
        throw TestFailure("\(item.real): \(error)")
      }
      items.append(item)
      try make(item.real, in: root, depth - 1, &items, &dice)
    }
    for name in files.shuffled(using: &dice).prefix(2) {
      let item = DressedItem(isDirectory: false, real: above + [name])
      if let error = Calls.write(item.path(root), TinyProgram.bytes) {
        throw TestFailure("\(item.real): \(error)")
      }
      items.append(item)
    }
  }

  /// With the names that a view shows, as root finds them.
  func shown(in view: String) throws -> DressedTree {
    var names: [[String]: String] = [:]
    func read(_ real: [String], _ shown: [String]) throws {
      let directory = BytePath(([view] + shown).joined(separator: "/"))
      for name in directory.names ?? [] {
        let text = String(decoding: name, as: UTF8.self)
        guard let bytes = (directory / name).attribute("system.varve.realname") else { continue }
        let inner = real + [String(decoding: bytes, as: UTF8.self)]
        names[inner] = text
        if items.contains(where: { $0.isDirectory && $0.real == inner }) { try read(inner, shown + [text]) }
      }
    }
    try read([], [])
    return DressedTree(
      items.map { item in
        var item = item
        // What is hidden has its real name alone.
        item.shown = item.real.indices.map { names[Array(item.real[...$0])] ?? item.real[$0] }
        return item
      })
  }
}

/// What somebody may do at a path, as words.
private func answers(_ path: String) -> [String] {
  let calls: [(String, Errno?)] = [
    ("stat", Calls.status(path).refusal), ("read", Calls.open(path, O_RDONLY)),
    ("write", Calls.open(path, O_WRONLY)), ("append", Calls.open(path, O_WRONLY | O_APPEND)),
    ("list", Calls.open(path, O_RDONLY | O_DIRECTORY)), ("R", Calls.answer(access(path, R_OK))),
    ("W", Calls.answer(access(path, W_OK))), ("X", Calls.answer(access(path, X_OK))),
    ("acl", Attribute.get(path, Attribute.list).refusal),
    ("xattr", Attribute.get(path, "user.nothing").refusal),
    ("under", Calls.status(path + "/nothing").refusal),
  ]
  return calls.map { "\($0.0): \($0.1.map { "\($0)" } ?? "yes")" }
}

/// Compares what a user gets through a view with what they get at the real path.
private struct RightsComparison: Sendable {
  let mount: String
  let view: String
  let tree: DressedTree

  /// What differs; and how many calls were granted.
  func run() -> (failures: [String], granted: Int) {
    var failures: [String] = []
    var granted = 0
    for item in tree.items {
      let expected = answers(item.path(mount))
      granted += expected.count { $0.hasSuffix("yes") }
      // Twice: what the kernel remembers by then must not count for more.
      for _ in 0..<2 {
        let byReal = answers(item.path(view))
        if byReal != expected { failures.append("\(item.real): \(byReal) is not \(expected)") }
        let byShown = answers(item.shownPath(view))
        let wanted = expectedByShown(item, expected)
        if byShown != wanted { failures.append("\(item.shown): \(byShown) is not \(wanted)") }
      }
    }
    return (failures, granted)
  }

  /// The kernel learns every name, from somebody who may do all.
  func warm() {
    for item in tree.items {
      for path in [item.path(mount), item.path(view), item.shownPath(view)] { _ = Calls.status(path) }
    }
  }

  /// A shown name tells of real ones, so that it leads nowhere for those who may not list the directory.
  private func expectedByShown(_ item: DressedItem, _ ordinary: [String]) -> [String] {
    for (index, pair) in zip(item.real, item.shown).enumerated() where pair.0 != pair.1 {
      let above = ([mount] + item.real[..<index]).joined(separator: "/")
      if Calls.open(above, O_RDONLY | O_DIRECTORY) == nil { continue }
      return answers(above + "/no such name")
    }
    return ordinary
  }
}

extension MountTests {
  @Suite("Rights through views", .timeLimit(.minutes(4))) struct ViewRightsTests {
    private static let users = [TestUser.alice, .bob, TestUser(1004, group: 2002, groups: [2001, 2009])]
    private static let isLong = ProcessInfo.processInfo.environment["LONG"] == "1"
    /// How often each gate is opened and shut: eight gates, 10,000 times together.
    private static let rounds = isLong ? 6_000 : 1_250

    @Test(
      "A view grants and refuses what the ordinary tree does at the real path, cold and warm",
      arguments: ["", "cache=none", "noacl", "noowners"]
        + (ViewRightsTests.isLong ? ["cache=exclusive", "no_epoch"] : []))
    func same(options: String) throws {
      var dice = Dice(for: "rights of views \(options)")
      let volume = try MountedVolume(options)
      defer { volume.remove() }
      if options == "noacl" {
        // Lists are made while they can be.
        try volume.unmount()
        try Program.run(Program.built("varve"), ["mount", volume.upper, volume.path])
      }
      let tree = try DressedTree(in: volume.path, using: &dice)
      // In several views at once.
      let views = options.isEmpty || Self.isLong ? ["fr", "de+en,all,ext=all"] : ["fr"]
      let comparisons = try views.map { name in
        let view = volume.path + "/.varve/view/" + name
        return RightsComparison(mount: volume.path, view: view, tree: try tree.shown(in: view))
      }
      #expect(comparisons.allSatisfy { $0.tree.items.contains { $0.real != $0.shown } })
      try volume.unmount()
      try volume.mount()
      var granted = 0
      for user in Self.users {
        let results = user.run { comparisons.map { $0.run() } }
        granted += results[0].granted
        try #require(results.flatMap(\.failures) == [], "\(user), -o '\(options)'")
        // Now the kernel knows every name, found by somebody who may do all.
        for comparison in comparisons { comparison.warm() }
        let again = user.run { comparisons.map { $0.run() } }
        try #require(again.flatMap(\.failures) == [], "\(user) after root, -o '\(options)'")
      }
      #expect(granted > tree.items.count, "somebody may do something")
    }

    @Test("After a revocation has returned nobody gets through a view by remembered names")
    func revocation() throws {
      let volume = try MountedVolume()
      defer { volume.remove() }
      let library = try volume.directory("Library", 0, 0, 0o755)
      try #require(Calls.write(library + "/.localized", "") == nil)
      let seed = UInt64.random(in: 0...(.max))
      for gate in Gate.allCases {
        let area = "\(library)/\(gate)"
        try gate.build(in: area)
        let passage = Passage(gate, area: "\(volume.path)/.varve/view/fr/Bibliothèque/\(gate)")
        try passage.alternate(at: area, rounds: Self.rounds, seed: seed)
        let failures = passage.failures.withLock { $0 }
        try #require(failures == [], "seed \(seed)")
        #expect(passage.passed.load(ordering: .relaxed) > Self.rounds / 5, "\(gate)")
        #expect(passage.refused.load(ordering: .relaxed) > Self.rounds / 5, "\(gate)")
      }
    }

    @Test("After the right to list was taken nobody gets through a view by shown names that are remembered")
    func listing() throws {
      let volume = try MountedVolume()
      defer { volume.remove() }
      let area = volume.path + "/area"
      try Gate.listing.build(in: area)
      try Program.shell(
        "mkdir Library && touch Library/.localized && echo -n x >Library/file && cp Library/file file.txt",
        in: area + "/gate")
      let seed = UInt64.random(in: 0...(.max))
      // A directory, of which the kernel keeps one name that later lookups take over; and a file.
      for file in ["Bibliothèque/file", "file"] {
        let passage = Passage(
          .listing, file: "\(volume.path)/.varve/view/fr/area/gate/\(file)", isDeep: file != "file")
        try passage.alternate(at: area, rounds: Self.rounds, seed: seed)
        try #require(passage.failures.withLock { $0 } == [], "seed \(seed), \(file)")
        #expect(passage.passed.load(ordering: .relaxed) > Self.rounds / 5, "\(file)")
        #expect(passage.refused.load(ordering: .relaxed) > Self.rounds / 5, "\(file)")
      }
    }
  }
}
