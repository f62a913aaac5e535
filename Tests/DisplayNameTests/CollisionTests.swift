import DisplayNames
import ItemKinds
import Testing
import UnicodeText

@Suite("Names that meet") struct CollisionTests {
  struct Row: Sendable, CustomTestStringConvertible {
    let number: Int
    let entries: [Entry]
    let names: [String]
    let policy: ExtensionPolicy
    var testDescription: String { "\(number): \(names)" }

    init(_ number: Int, _ entries: [Entry], _ names: [String], _ policy: ExtensionPolicy = .known) {
      self.number = number
      self.entries = entries
      self.names = names
      self.policy = policy
    }
  }

  private static func localized(_ name: String, _ value: String) -> Entry { .localized(name, ["fr": value]) }

  static let rows: [Row] = [
    Row(57, [Entry("report.txt"), Entry("report.pdf")], ["report.txt", "report.pdf"]),
    Row(58, [Entry("report.txt"), Entry("report")], ["report.txt", "report"]),
    Row(
      59, [Entry("report.txt"), Entry("report.pdf"), Entry("report")], ["report.txt", "report.pdf", "report"]),
    Row(60, [Entry("Musique", .directory), .marked("Music")], ["Musique", "Music"]),
    Row(61, [localized("A.localized", "Z"), localized("B.localized", "Z")], ["A.localized", "B.localized"]),
    Row(62, [Entry("cafe\u{301}"), Entry("caf\u{E9}")], ["caf\u{E9} [81ef06]", "caf\u{E9}"]),
    Row(63, [Entry("a\\u202Eb"), Entry("a\u{202E}b")], ["a\\u202Eb", "a\\u202Eb [1f7a9d]"]),
    Row(64, [.localized("A.localized"), Entry("A", .directory)], ["A.localized", "A"]),
    Row(65, [localized("a.localized", "b.txt"), Entry("b.txt"), Entry("b")], ["a", "b.txt", "b"]),
    Row(66, [Entry("Foo.app", .directory), Entry("Foo", .directory)], ["Foo.app", "Foo"]),
    Row(
      67, [Entry("cafe\u{301}.txt"), Entry("caf\u{E9}.txt"), Entry("caf\u{E9}.md")],
      ["caf\u{E9} [da33d4].txt", "caf\u{E9}.txt", "caf\u{E9}.md"]),
    Row(68, [Entry("Report.txt"), Entry("report.txt")], ["Report", "report"]),
    Row(69, [.bundle("Notes.app", "Notes", ["fr": "Mémos"]), Entry("Mémos")], ["Notes.app", "Mémos"]),
    Row(70, [Entry("x.q.r"), Entry("x.q"), Entry("x")], ["x.q.r", "x.q", "x"], .all),
    Row(71, [Entry(".git", .directory).hidden, Entry("report.txt")], ["", "report"]),
    Row(72, [localized("x.localized", "y"), Entry("y")], ["x.localized", "y"]),
    Row(73, [localized("C.localized", "d"), Entry("d.txt")], ["C.localized", "d.txt"]),
    Row(74, [Entry("ghost.txt"), Entry("ghost").hidden], ["ghost.txt", ""]),
    Row(75, [localized("E.localized", "r"), Entry("r.c").hidden, Entry("r.h").hidden], ["r", "", ""]),
    Row(
      76, [Entry(String(repeating: "\u{202E}", count: 60) + ".md")],
      [String(repeating: "\\u202E", count: 40) + " [a5c895].md"]),
    Row(
      77, [Entry(String(repeating: "\u{958}", count: 80) + ".txt")],
      [String(repeating: "\u{915}\u{93C}", count: 40) + " [711070].txt"]),
    Row(
      78, [localized("P.localized", "q"), localized("Q.localized", "q"), Entry("q")],
      ["P.localized", "Q.localized", "q"]),
    // A directory whose strings give the real name of a sibling.
    Row(127, [localized("A.localized", "b"), Entry("b")], ["A.localized", "b"]),
    Row(128, [localized("A.localized", "b"), Entry("b").hidden], ["A.localized", ""]),
    // A tag that somebody has as a real name, or by normalisation.
    Row(
      300, [Entry("cafe\u{301}"), Entry("caf\u{E9}"), Entry("caf\u{E9} [81ef06]")],
      ["caf\u{E9} [81ef060b]", "caf\u{E9}", "caf\u{E9} [81ef06]"]),
    Row(
      301, [Entry("cafe\u{301}"), Entry("caf\u{E9}"), Entry("cafe\u{301} [81ef06]")],
      ["caf\u{E9} [81ef060b]", "caf\u{E9}", "caf\u{E9} [81ef06]"]),
    // A wish that is somebody's tagged name.
    Row(
      302, [Entry("cafe\u{301}"), Entry("caf\u{E9}"), localized("A.localized", "caf\u{E9} [81ef06]")],
      ["caf\u{E9} [81ef06]", "caf\u{E9}", "A.localized"]),
    // Cut names: not inside a flag, not in front of a mark or joiner, not behind a joiner.
    cut(303, 210, SingleNameTests.england), cut(304, 221, "e\u{328}\u{328}\u{328}bbbbbbb"),
    cut(305, 219, "👩\u{200D}💻👩"), cut(306, 217, "👩\u{200D}💻👩bb"),
  ]

  /// A name of which nothing behind the letters `a` is left: the tag has room for 242 bytes before it.
  private static func cut(_ number: Int, _ letters: Int, _ end: String) -> Row {
    let middle = String(repeating: "a", count: letters)
    let real = "\u{202E}\u{202E}\u{202E}\(middle)\(end).txt"
    let digits = sha256(Array(real.utf8)).prefix(3).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }
      .joined()
    return Row(number, [Entry(real)], ["\\u202E\\u202E\\u202E\(middle) [\(digits)].txt"])
  }

  @Test(arguments: rows) func shows(_ row: Row) {
    let rules = rules("fr", row.policy)
    #expect(names(row.entries, rules).map { $0?.text ?? "" } == row.names)
    let reversed = names(row.entries.reversed(), rules)
    #expect(reversed.reversed().map { $0?.text ?? "" } == row.names, "the order matters")
  }

  @Test("Whoever takes all tags of a name does not get it, nor stop the others") func allTagsTaken() {
    let digits = sha256(Array("cafe\u{301}".utf8)).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }
      .joined()
    var entries = [Entry("cafe\u{301}"), Entry("caf\u{E9}")]
    for count in stride(from: 6, through: 64, by: 2) {
      entries.append(Entry("caf\u{E9} [\(digits.prefix(count))]"))
    }
    for number in 1...2000 { entries.append(Entry("caf\u{E9} [\(digits)-\(number)]")) }
    let shown = names(entries, rules())
    #expect(shown[0] == Shown("caf\u{E9} [\(digits)-2001]", "X"))
    #expect(Set(shown.compactMap { $0?.name }).count == entries.count)
  }

  @Test("An item that was listed twice is shown once, and is in nobody's way") func twice() {
    let twice = Entry("cafe\u{301}.txt")
    #expect(
      names([twice, Entry("a.txt"), twice], rules()) == [Shown("caf\u{E9}", "E"), Shown("a", "E"), nil])
    let many = (0..<20_000).map { Entry("e\u{301} \($0)") }
    #expect(names(many + many, rules()).compactMap { $0 }.count == many.count)
  }

  @Test("Names whose tags begin alike all take more digits") func equalTags() {
    // The first three bytes are the same for all, the next is the length.
    let weak = NameTools(
      normalise: { Normalisation.appendNFC(of: $0, to: &$1) },
      digest: { name in
        var digest = NameDigest(repeating: 0)
        digest[3] = UInt8(truncatingIfNeeded: name.count)
        return digest
      })
    let rules = NameRules(languages: LanguageList(), kinds: kinds, tools: weak)
    let normal = "\u{1EB9}\u{301}"
    // Four and five bytes, and five of another name.
    let entries = [
      Entry("\u{1EB9}\u{301}"), Entry("e\u{323}\u{301}"), Entry("\u{E9}\u{323}"), Entry("e\u{301}"),
    ]
    let expected = [
      Shown(normal, "="), Shown("\(normal) [00000005]", "X"), Shown("\(normal) [00000004]", "X"),
      Shown("\u{E9}", "X"),
    ]
    #expect(names(entries, rules) == expected)
    #expect(names(entries.reversed(), rules) == expected.reversed())
    let blocked = entries + [Entry("\(normal) [00000005]")]
    #expect(names(blocked, rules)[1] == Shown("\(normal) [0000000500]", "X"))
    #expect(names(blocked, rules)[2] == Shown("\(normal) [00000004]", "X"))
  }

  @Test("Digests that are all the same end the search, too") func uselessDigest() {
    let weak = NameTools(
      normalise: { Normalisation.appendNFC(of: $0, to: &$1) }, digest: { _ in NameDigest(repeating: 7) })
    let rules = NameRules(languages: LanguageList(), kinds: kinds, tools: weak)
    let shown = names([Entry("e\u{301}\u{323}"), Entry("e\u{323}\u{301}"), Entry("x")], rules)
    #expect(shown.count == 3 && shown[2] == Shown("x", "="))
  }
}
