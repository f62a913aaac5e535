import DisplayNames
import ItemKinds
import NameVectors
import Testing

@Suite("Names of single items") struct SingleNameTests {
  @Test(arguments: SingleNames.all) func shows(_ row: SingleNames.Row) {
    let found = names([row.entry], rules(row.languages, row.policy))
    #expect(found == [Shown(row.name, row.letter)])
  }

  @Test("56: Inside a package everything has its real name") func raw() {
    let entries = [Entry("x.txt"), Entry("a\u{202E}b"), Entry("hidden").hidden, Entry.marked("Library")]
    #expect(names(entries, rules("fr"), isRaw: true) == entries.map { Shown($0.name, "r") })
  }
}
