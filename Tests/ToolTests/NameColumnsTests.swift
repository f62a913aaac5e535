import Testing
import TextForms

@Suite("Names in columns") struct NameColumnsTests {
  private func lines(_ layout: NameLayout, _ names: String, screen: Int) -> String {
    let cells = names.split(separator: " ").map { NameCell(bytes: Array($0.utf8), width: $0.count) }
    return String(decoding: layout.lines(cells, screen: screen), as: UTF8.self)
  }

  @Test("Down, across, one a line and one after the other") func layouts() {
    let names = "a bb ccc dddd e"
    #expect(lines(.oneColumn, names, screen: 80) == "a\nbb\nccc\ndddd\ne\n")
    #expect(lines(.columns, names, screen: 24) == "a       ccc     e\nbb      dddd\n")
    #expect(lines(.rows, names, screen: 24) == "a       bb      ccc\ndddd    e\n")
    #expect(lines(.stream, names, screen: 12) == "a, bb, ccc,\ndddd, e\n")
    #expect(lines(.columns, names, screen: 3) == "a\nbb\nccc\ndddd\ne\n")
    #expect(lines(.stream, "longer than", screen: 4) == "longer,\nthan\n")
    for layout in [NameLayout.oneColumn, .columns, .rows, .stream] {
      #expect(lines(layout, "", screen: 80) == "")
    }
  }

  @Test("Every name is there once, whatever the screen") func complete() {
    for count in 1...40 {
      let names = (0..<count).map { "n\($0)" }.joined(separator: " ")
      for screen in [1, 9, 16, 40, 81] {
        for layout in [NameLayout.columns, .rows, .stream] {
          let found = lines(layout, names, screen: screen).split { " ,\n".contains($0) }
          #expect(found.count == count && Set(found).count == count)
        }
      }
    }
  }
}
