import Glibc
import LinuxFiles
import MountSupport
import Testing

/// A few calls that belong together, to be made on the mount and on a plain directory.
struct Scenario: Sendable {
  let name: String
  /// What root prepares; not compared by itself.
  let setup: (@Sendable (Side) -> Void)?
  let body: @Sendable (Side) -> Void

  init(
    _ name: String, setup: (@Sendable (Side) -> Void)? = nil, _ body: @escaping @Sendable (Side) -> Void
  ) {
    self.name = name
    self.setup = setup
    self.body = body
  }
}

/// The same calls on both sides, by root and by an ordinary user.
///
/// The user's areas carry the user's own group, because on the mount a group comes from the parent. `isEncrypted`: every
/// file on the mount is.
func compare(
  _ scenarios: [Scenario], users: [TestUser] = [.root, .alice], options: String = "",
  isEncrypted: Bool = false
) throws {
  let volume = try MountedVolume(options)
  defer { volume.remove() }
  if isEncrypted {
    try volume.addKeys()
    try volume.protect()
  }
  let plain = volume.base + "/plain"
  try #require(Glibc.mkdir(plain, 0o755) == 0)
  for user in users {
    for (number, scenario) in scenarios.enumerated() {
      var transcripts: [[String]] = []
      for side in [volume.path, plain] {
        let area = "\(side)/\(user.user)-\(user.groups.count)-\(number)"
        try #require(Glibc.mkdir(area, 0o755) == 0 && Glibc.chown(area, user.user, user.group) == 0)
        if let setup = scenario.setup { _ = Side.transcript(of: setup, as: .root, in: area) }
        transcripts.append(
          Side.transcript(
            of: scenario.body, as: user, in: area,
            Side.Manner(exchangesNothing: side == plain && options.contains("no_exchange"))))
      }
      #expect(!transcripts[1].isEmpty, "\(scenario.name) says nothing")
      if isEncrypted { transcripts = transcripts.map { $0.compactMap(withoutForm) } }
      report(transcripts[0], transcripts[1], scenario.name, user)
    }
  }
  try volume.unmount()
}

/// A line without what the stored form of an encrypted file makes different: room that is only reserved is a hole, and
/// to open a file moves its time of access.
private func withoutForm(_ line: String) -> String? {
  if line.drop(while: { $0 == " " }).hasPrefix("data [") { return nil }
  guard line.hasPrefix("modification moved"), let comma = line.firstIndex(of: ",") else { return line }
  return String(line[..<comma])
}

/// Complains of what two transcripts do not have alike.
func report(_ mount: [String], _ plain: [String], _ name: String, _ user: TestUser) {
  guard mount != plain else { return }
  let lines = zip(mount, plain).enumerated().filter { $0.element.0 != $0.element.1 }.prefix(6)
  let text = lines.map { line in
    "  line \(line.offset): mount \(line.element.0)\n        plain \(line.element.1)"
  }
  Issue.record(
    "\(name), as \(user): \(mount.count) and \(plain.count) lines\n\(text.joined(separator: "\n"))")
}

extension MountTests {
  @Suite("The same calls on the mount and on a plain directory") struct ParityTests {
    @Test("Names: what can be made, found, moved and removed, and every refusal")
    func names() throws { try compare(ParityScenarios.names) }

    @Test("Rename: every kind onto every kind, in all three styles")
    func renames() throws { try compare(ParityScenarios.renames) }

    @Test("Bytes: holes, space, ranges, big offsets, mappings")
    func bytes() throws { try compare(ParityScenarios.bytes) }

    @Test("Open files: removed, unnamed, by path, locked")
    func openFiles() throws { try compare(ParityScenarios.openFiles) }

    @Test("Attributes: modes, owners, times, extended attributes")
    func attributes() throws { try compare(ParityScenarios.attributes + ParityScenarios.births) }

    static let strangers = [TestUser(1002, group: 2001), TestUser(1002, group: 2001, groups: [2077])]

    @Test("What belongs to somebody else")
    func ofOthers() throws { try compare(ParityScenarios.strangers, users: ParityTests.strangers) }

    @Test("All of it in an encrypted directory")
    func encrypted() throws {
      try compare(
        ParityScenarios.names + ParityScenarios.renames + ParityScenarios.bytes + ParityScenarios.openFiles
          + ParityScenarios.attributes + ParityScenarios.births, users: [.alice], isEncrypted: true)
      try compare(ParityScenarios.strangers, users: ParityTests.strangers, isEncrypted: true)
    }

    @Test(
      "All of it in every arrangement of threads, routes, caches and kernel",
      arguments: Arrangement.all)
    func arranged(options: String) throws {
      let births = options.contains("no_statx") ? [] : ParityScenarios.births
      try compare(
        ParityScenarios.names + ParityScenarios.renames + ParityScenarios.bytes + ParityScenarios.openFiles
          + ParityScenarios.attributes + births, users: [.alice], options: options)
      try compare(ParityScenarios.strangers, users: ParityTests.strangers, options: options)
    }
  }
}

/// The scenarios, by subject; each file of this family adds its own.
enum ParityScenarios {}
