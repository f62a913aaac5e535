import Testing
import TextForms

@Suite("Lines on a terminal") struct FoldingTests {
  struct Row: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let text: String
    let width: Int
    let lines: String

    init(_ sentence: String, _ text: String, _ width: Int, _ lines: String) {
      testDescription = sentence
      self.text = text
      self.width = width
      self.lines = lines
    }
  }

  static let rows = [
    Row("what fits stays", "one two", 7, "one two"),
    Row("broken at the last blank that fits", "one two three", 9, "one two\n  three"),
    Row("what follows is set in, and counts so", "one two six ten", 9, "one two\n  six ten"),
    Row("a long word stays whole", "to /a/very/long/path here", 8, "to\n  /a/very/long/path\n  here"),
    Row("blanks in front stay", "  one two three", 8, "  one\n  two\n  three"),
    Row("blanks within stay", "one   two three", 11, "one   two\n  three"),
    Row("a terminal too narrow is left alone", "one two", 2, "one two"),
    Row("nothing", "", 10, ""),
  ]

  @Test(arguments: rows) func folds(_ row: Row) {
    #expect(folded(row.text, width: row.width, indent: 2) == row.lines)
  }

  @Test func countsWhatStandsInFront() {
    #expect(folded("one two three", width: 12, indent: 5, start: 5) == "one two\n     three")
    #expect(folded("/very/long/path two", width: 12, indent: 5, start: 5) == "/very/long/path\n     two")
  }
}
