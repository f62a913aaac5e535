// Items that would be shown by one name, and what they are shown by.

package import DisplayNames
import ItemKinds
import Testing

package enum Collisions {
  package struct Row: Sendable, CustomTestStringConvertible {
    package let number: Int
    package let entries: [Entry]
    package let names: [String]
    package let policy: ExtensionPolicy
    package var testDescription: String { "\(number): \(names)" }

    package init(_ number: Int, _ entries: [Entry], _ names: [String], _ policy: ExtensionPolicy = .known) {
      self.number = number
      self.entries = entries
      self.names = names
      self.policy = policy
    }
  }

  private static func localized(_ name: String, _ value: String) -> Entry { .localized(name, ["fr": value]) }

  package static let rows: [Row] = [
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
    // The two spellings that the manual page has.
    Row(307, [Entry("cafe\u{301}.md"), Entry("caf\u{E9}.md")], ["caf\u{E9} [ab5081].md", "caf\u{E9}.md"]),
    // Cut names: not inside a flag, not in front of a mark or joiner, not behind a joiner.
    cut(303, 210, SingleNames.england), cut(304, 221, "e\u{328}\u{328}\u{328}bbbbbbb"),
    cut(305, 219, "👩\u{200D}💻👩"), cut(306, 217, "👩\u{200D}💻👩bb"),
  ]

  /// A name of which nothing behind the letters `a` is left: the tag has room for 242 bytes before it.
  private static func cut(_ number: Int, _ letters: Int, _ end: String) -> Row {
    let middle = String(repeating: "a", count: letters)
    let real = "\u{202E}\u{202E}\u{202E}\(middle)\(end).txt"
    let digits = sha256(Array(real.utf8)).prefix(3).map {
      ($0 < 16 ? "0" : "") + String($0, radix: 16)
    }
    .joined()
    return Row(number, [Entry(real)], ["\\u202E\\u202E\\u202E\(middle) [\(digits)].txt"])
  }
}
