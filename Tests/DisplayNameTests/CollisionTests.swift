import DisplayNames
import ItemKinds
import NameVectors
import Testing
import UnicodeText

@Suite("Names that meet") struct CollisionTests {
  @Test(arguments: Collisions.rows) func shows(_ row: Collisions.Row) {
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

  @Test("An item that was listed twice is shown once, and hides no other item") func twice() {
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
