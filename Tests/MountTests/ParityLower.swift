// The same calls on items that lie in a lower: the scenarios as they are, of which what they make first, or what they once left, is
// in a lower when they go on.

import Glibc
import MountSupport
import Testing

/// What a call that makes something wrote down, and answered.
struct Made: Sendable {
  let lines: [String]
  let result: Int
}

extension Side {
  /// How calls are made on a side.
  struct Manner: Sendable {
    /// As on a store in which names cannot be exchanged.
    var exchangesNothing = false
    /// As over lowers, where the count of links of a directory is 1, and 0 once it is removed.
    var countsNoDirectories = false
    /// What the first calls would make is there already: they are only written down.
    var made: [Made] = []
    /// What happens when the first `calls` calls have made what they make.
    var pause: (calls: Int, body: @Sendable () -> Void)?
  }
}

/// The same calls on a plain directory and on a mount whose files come from a lower, by root and by an ordinary user.
///
/// At first all that a scenario makes before its first other call lies in the lower. Then the scenario is done again on all that it left
/// in the end.
func compareOverLower(
  _ scenarios: [Scenario], users: [TestUser] = [.root, .alice], options: String = ""
) throws {
  let base = try TemporaryDirectory.make()
  chmod(base, 0o755)
  defer { TemporaryDirectory.remove(base) }
  let trees = ["plain", "begun", "left", "count"].map { "\(base)/\($0)" }
  for tree in trees { try #require(mkdir(tree, 0o755) == 0) }
  var pieces: [Piece] = []
  for user in users {
    for (number, scenario) in scenarios.enumerated() {
      let piece = Piece(scenario, user, "\(user.user)-\(user.groups.count)-\(number)")
      for tree in trees where !tree.hasSuffix("begun") { try piece.build(in: tree) }
      pieces.append(piece)
    }
  }
  let (plain, begun, left) = (trees[0], trees[1], trees[2])
  // What each makes first, and what it leaves.
  for index in pieces.indices {
    try pieces[index].count(in: trees[3])
    try pieces[index].begin(in: plain, copyTo: begun)
    pieces[index].run(in: left)
  }
  #expect(pieces.contains { !$0.made.isEmpty }, "no scenario begins with what it makes")
  try over(begun, base, "upper-begun", options) { mount in
    for piece in pieces { piece.compare(in: mount, made: piece.made, with: piece.plain, "over what it made") }
  }
  try over(left, base, "upper-left", options) { mount in
    for piece in pieces {
      let answers = piece.run(in: plain)
      piece.compare(in: mount, made: [], with: answers, "over what it left")
    }
  }
}

/// Mounts an empty directory over a lower, which stays what it is.
private func over(
  _ lower: String, _ base: String, _ upper: String, _ options: String, _ body: (String) throws -> Void
) throws {
  let place = "\(base)/\(upper)"
  try #require(mkdir(place, 0o755) == 0)
  let before = try LowerTree.print(of: lower)
  let words = ["lower=\(lower)", options].filter { !$0.isEmpty }.joined(separator: ",")
  let volume = try MountedVolume(words, base: place)
  defer { umount2(volume.path, CInt(MNT_DETACH)) }
  try body(volume.path)
  try volume.unmount()
  #expect(try LowerTree.print(of: lower) == before, "the lower is what it was")
}

/// A scenario of one user.
private struct Piece {
  let scenario: Scenario
  let user: TestUser
  let area: String
  /// What the plain directory answers.
  private(set) var plain: [String] = []
  private(set) var made: [Made] = []

  init(_ scenario: Scenario, _ user: TestUser, _ area: String) {
    (self.scenario, self.user, self.area) = (scenario, user, area)
  }

  /// Makes the area and what root prepares.
  func build(in tree: String) throws {
    let path = "\(tree)/\(area)"
    try #require(mkdir(path, 0o755) == 0 && chown(path, user.user, user.group) == 0)
    if let setup = scenario.setup { _ = Side.transcript(of: setup, as: .root, in: path) }
  }

  @discardableResult func run(in tree: String) -> [String] {
    Side.transcript(
      of: scenario.body, as: user, in: "\(tree)/\(area)", Side.Manner(countsNoDirectories: true))
  }

  /// Learns how many calls it begins with that only make things.
  mutating func count(in tree: String) throws {
    made = Side.run(scenario.body, as: user, in: "\(tree)/\(area)", Side.Manner()).preparation
  }

  /// Does it all in one tree; another gets a copy of what is there when everything is made that it makes first.
  mutating func begin(in tree: String, copyTo copies: String) throws {
    let turns = Turns()
    let (source, copy) = ("\(tree)/\(area)", "\(copies)/\(area)")
    // The thread of the scenario is another user's.
    var copier = Crowd()
    try copier.add {
      turns.await(1)
      _ = try? Program.run("/bin/cp", ["-a", source, copy])
      turns.finish(2)
    }
    let manner = Side.Manner(
      countsNoDirectories: true,
      pause: (
        made.count,
        {
          turns.finish(1)
          turns.await(2)
        }
      ))
    (plain, made) = Side.run(scenario.body, as: user, in: source, manner)
    turns.end()
    copier.join()
    try #require(access(copy, F_OK) == 0, "\(scenario.name): nothing was copied")
    #expect(!plain.isEmpty, "\(scenario.name) says nothing")
  }

  func compare(in mount: String, made: [Made], with plain: [String], _ how: String) {
    let lines = Side.transcript(of: scenario.body, as: user, in: "\(mount)/\(area)", Side.Manner(made: made))
    report(lines, plain, "\(scenario.name), \(how)", user)
  }
}

extension MountTests {
  @Suite("The same calls on items of a lower and on a plain directory", .timeLimit(.minutes(4)))
  struct ParityLowerTests {
    @Test("Names, renames, bytes, open files and attributes of a lower", arguments: [TestUser.root, .alice])
    func all(user: TestUser) throws {
      try compareOverLower(
        ParityScenarios.names + ParityScenarios.renames + ParityScenarios.bytes + ParityScenarios.openFiles
          + ParityScenarios.attributes + ParityScenarios.births, users: [user])
    }

    @Test("What belongs to somebody else in a lower")
    func ofOthers() throws { try compareOverLower(ParityScenarios.strangers, users: ParityTests.strangers) }

    @Test("All of it over a lower in other arrangements", arguments: arrangements)
    func arranged(options: String) throws {
      let births = options.contains("no_statx") ? [] : ParityScenarios.births
      try compareOverLower(
        ParityScenarios.names + ParityScenarios.renames + ParityScenarios.bytes + ParityScenarios.openFiles
          + ParityScenarios.attributes + births, users: [.alice], options: options)
      try compareOverLower(ParityScenarios.strangers, users: ParityTests.strangers, options: options)
    }

    /// `LONG=1`: every one.
    private static let arrangements =
      EncryptedStage.isLong
      ? Arrangement.all : ["passthrough=off,cache=none", "threads=8,clone_fd,cache=exclusive"]
  }
}
