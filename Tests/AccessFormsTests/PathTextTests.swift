import Testing
import TextForms

@Suite("Names as text") struct PathTextTests {
  static let rows: [([UInt8], String)] = [
    (Array("plain name".utf8), "plain name"),
    (Array("été/ß".utf8), "été/ß"),
    (Array("a\nb".utf8), "a\\012b"),
    (Array("back\\slash".utf8), "back\\134slash"),
    (Array(" blank ".utf8), "\\040blank\\040"),
    ([0x61, 0xFF, 0x9B, 0x62], "a\\377\\233b"),
    // U+009B and U+202E steer terminals and readers.
    ([0xC2, 0x9B], "\\302\\233"), ([0xE2, 0x80, 0xAE], "\\342\\200\\256"),
    // Marks of direction nobody sees: U+061C, U+200E, U+200F.
    ([0xD8, 0x9C], "\\330\\234"), ([0xE2, 0x80, 0x8E], "\\342\\200\\216"),
    ([0xE2, 0x80, 0x8F], "\\342\\200\\217"),
    // Cut off, overlong, a surrogate.
    ([0xC3], "\\303"), ([0xC0, 0x80], "\\300\\200"), ([0xED, 0xA0, 0x80], "\\355\\240\\200"),
    ([], ""),
  ]

  @Test(arguments: rows) func isWrittenAndReadBack(_ bytes: [UInt8], _ text: String) {
    #expect(PathText.escaped(bytes) == text)
    #expect(PathText.bytes(Array(text.utf8)) == bytes)
  }

  @Test func everyByteComesBack() {
    for first in 1...255 {
      for second in stride(from: 1, through: 255, by: 7) {
        let bytes = [UInt8(first), UInt8(second), UInt8(first)]
        let text = PathText.escaped(bytes)
        #expect(PathText.bytes(Array(text.utf8)) == bytes)
        #expect(text.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F })
      }
    }
  }

  @Test(arguments: ["\\", "\\1", "\\12", "\\128", "\\400", "\\000", "a\\x"]) func nonsenseIsRefused(
    _ text: String
  ) {
    #expect(PathText.bytes(Array(text.utf8)) == nil)
  }

  static let shown: [([UInt8], String)] = [
    ([0x61, 0x1B, 0x9B, 0x62], "a??b"), (Array("é\u{9B}".utf8), "é?"), (Array("日本".utf8), "日本"),
    (Array("a\nb".utf8), "a?b"), (Array("a\u{61C}\u{200E}\u{200F}\u{202E}b".utf8), "a????b"),
  ]

  @Test(arguments: shown) func nothingSteersATerminal(_ bytes: [UInt8], _ text: String) {
    #expect(PathText.forTerminal(bytes) == Array(text.utf8))
  }
}
