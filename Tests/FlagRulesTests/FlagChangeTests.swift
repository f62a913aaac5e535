// Who may change which flag.

import FlagRules
import Testing

@Suite("Changing flags") struct FlagChangeTests {
  struct Row: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let before: FileFlags
    let wanted: FileFlags
    let after: FileFlags

    init(_ sentence: String, _ before: FileFlags, to wanted: FileFlags, gives after: FileFlags) {
      testDescription = sentence
      self.before = before
      self.wanted = wanted
      self.after = after
    }
  }

  static let outcomes = [
    Row("what is asked for", .hidden, to: .userImmutable, gives: .userImmutable),
    Row("synthetic flags cannot be set", [], to: [.dataless, .hidden], gives: .hidden),
    Row("synthetic flags cannot be cleared", [.dataless], to: [], gives: .dataless),
    Row("compressed cannot be set", [], to: [.compressed, .hidden], gives: .hidden),
    Row("compressed cannot be cleared", [.compressed, .hidden], to: [], gives: .compressed),
    Row("tracked is kept like any other", [], to: .tracked, gives: .tracked),
    Row("system bits without a meaning are dropped", [], to: FileFlags(rawValue: 0x3F60_0000), gives: []),
    Row(
      "system bits with a meaning are kept", [], to: FileFlags(rawValue: 0x3FFF_0000),
      gives: FileFlags(rawValue: 0x009F_0000)),
  ]

  @Test(arguments: outcomes) func stores(_ row: Row) {
    let change = FlagChange(from: row.before, to: row.wanted)
    #expect(change.before == row.before)
    #expect(change.after == row.after)
    #expect(change.changed.isEmpty == (row.before == row.after))
  }

  struct Obstacle: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let before: FileFlags
    let wanted: FileFlags
    let isSuperuser: Bool
    let secureLevel: Int
    let obstacle: FlagChange.Obstacle?

    init(
      _ sentence: String, _ before: FileFlags, to wanted: FileFlags, root: Bool = false, level: Int = 0,
      _ obstacle: FlagChange.Obstacle?
    ) {
      testDescription = sentence
      self.before = before
      self.wanted = wanted
      isSuperuser = root
      secureLevel = level
      self.obstacle = obstacle
    }
  }

  static let obstacles = [
    Obstacle("no change needs nothing, not even root", .systemImmutable, to: .systemImmutable, level: 1, nil),
    Obstacle("a change of synthetic bits is no change", .dataless, to: [], level: 1, nil),
    Obstacle("a user sets a flag of users", [], to: .userImmutable, nil),
    Obstacle("a user clears a flag of users", .userImmutable, to: [], nil),
    Obstacle("a user may not set a system flag", [], to: .systemImmutable, .needsRoot(.systemImmutable)),
    Obstacle(
      "a user may not clear a system flag", [.systemAppendOnly, .hidden], to: .hidden,
      .needsRoot(.systemAppendOnly)),
    Obstacle("a user may not set arch", .hidden, to: [.hidden, .archived], .needsRoot(.archived)),
    Obstacle(
      "the system flags alone are named", [], to: [.userImmutable, .restricted], .needsRoot(.restricted)),
    Obstacle(
      "a user flag beside an unchanged system flag", .systemImmutable, to: [.systemImmutable, .hidden], nil),
    Obstacle(
      "naming a system bit takes root even where it is dropped", [], to: FileFlags(rawValue: 0x2000_0000),
      .needsRoot(FileFlags(rawValue: 0x2000_0000))),
    Obstacle("root sets a system flag", [], to: .systemImmutable, root: true, nil),
    Obstacle("root clears a system flag at level 0", .systemImmutable, to: [], root: true, nil),
    Obstacle("root clears a system flag below level 0", .systemImmutable, to: [], root: true, level: -1, nil),
    Obstacle(
      "root may not clear schg at level 1", .systemImmutable, to: [], root: true, level: 1,
      .secureLevel(.systemImmutable)),
    Obstacle(
      "nor change anything else beside it", [.systemAppendOnly], to: [.systemAppendOnly, .hidden],
      root: true, level: 1, .secureLevel(.systemAppendOnly)),
    Obstacle(
      "nor does a user", [.systemAppendOnly], to: [.systemAppendOnly, .hidden], level: 2,
      .secureLevel(.systemAppendOnly)),
    Obstacle("root may still set schg at level 1", [], to: .systemImmutable, root: true, level: 1, nil),
    Obstacle(
      "uchg and uappnd are disregarded at level 1", [.userImmutable, .userAppendOnly], to: [], level: 1, nil),
    Obstacle(
      "nobody clears sunlnk at level 1", .systemNoUnlink, to: [], root: true, level: 1,
      .secureLevel(.systemNoUnlink)),
    Obstacle(
      "other flags beside sunlnk may change", .systemNoUnlink, to: [.systemNoUnlink, .hidden], level: 1, nil),
  ]

  @Test(arguments: obstacles) func meets(_ row: Obstacle) {
    let change = FlagChange(from: row.before, to: row.wanted)
    #expect(change.obstacle(isSuperuser: row.isSuperuser, secureLevel: row.secureLevel) == row.obstacle)
  }

  @Test("Every pair of sets: what is stored is settable, and a second change is none") func exhaustive() {
    let bits: [FileFlags] = [
      .noDump, .userImmutable, .compressed, .hidden, .archived, .systemImmutable, .systemNoUnlink, .dataless,
    ]
    func flags(_ number: Int) -> FileFlags {
      bits.indices.reduce(into: FileFlags()) { if number & (1 << $1) != 0 { $0.insert(bits[$1]) } }
    }
    for first in 0..<256 {
      for second in 0..<256 {
        let before = flags(first)
        let wanted = flags(second)
        let change = FlagChange(from: before, to: wanted)
        let fixed: FileFlags = [.compressed, .dataless]
        let expected = wanted.subtracting(fixed).union(before.intersection(fixed))
        if change.after != expected { Issue.record("\(before.text) to \(wanted.text): \(change.after.text)") }
        if !FlagChange(from: change.after, to: wanted).isNothing { Issue.record("twice: \(wanted.text)") }
        let needsRoot = !before.symmetricDifference(expected).isDisjoint(with: .systemDomain)
        if (change.obstacle(isSuperuser: false, secureLevel: 0) != nil) != needsRoot {
          Issue.record("\(before.text) to \(wanted.text) by a user")
        }
        if change.obstacle(isSuperuser: true, secureLevel: 0) != nil {
          Issue.record("\(before.text) to \(wanted.text) by root")
        }
      }
    }
  }
}
