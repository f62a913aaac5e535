import PropertyLists
import Testing

@Suite("Strings files in the old style") struct OldStyleTests {
  struct Row: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let text: String
    let pairs: [[String]]?

    init(_ description: String, _ text: String, gives pairs: [[String]]?) {
      testDescription = description
      self.text = text
      self.pairs = pairs
    }
  }

  static let rows = [
    Row("nothing", "", gives: []),
    Row("blanks and comments", " \t\r\n// a\n/* b \" */ // c", gives: []),
    Row(
      "a pair", "\"Release Notes\" = \"Notes de version\";", gives: [["Release Notes", "Notes de version"]]),
    Row("bare words", "CFBundleName=a.b_c$:/-9;", gives: [["CFBundleName", "a.b_c$:/-9"]]),
    Row("slashes inside a word are no comment", "url = http://x/*y;", gives: nil),
    Row("an address is a word", "url = http://x/y;", gives: [["url", "http://x/y"]]),
    Row("comments between all tokens", "/**/\"k\"//x\n=/*;*/\"v\"/* */;//", gives: [["k", "v"]]),
    Row("a star before the end of a comment", "/* **/ k = v; /***/", gives: [["k", "v"]]),
    Row("braces around all", " { k = v; \"l\" = w; } // end", gives: [["k", "v"], ["l", "w"]]),
    Row("empty braces", "{}", gives: []),
    Row("line separators are blanks and end comments", "// x\u{2028}k\u{2029}= v;", gives: [["k", "v"]]),
    Row("a key twice", "k = a; k = b;", gives: [["k", "a"], ["k", "b"]]),
    Row("empty strings", "\"\" = \"\";", gives: [["", ""]]),
    Row("a mark in front", "\u{FEFF}k = v;", gives: [["k", "v"]]),
    Row("escapes", #"k = "\"\\\'\a\b\f\n\r\t\v";"#, gives: [["k", "\"\\'\u{7}\u{8}\u{C}\n\r\t\u{B}"]]),
    Row("characters by number", #"k = "\U00e9\U00C9\Ud83d\uDE00";"#, gives: nil),
    Row("a pair of halves", #"k = "\U00e9\U00C9\Ud83d\UDE00";"#, gives: [["k", "éÉ😀"]]),
    Row("octal numbers", #"k = "\0\12\1018\101\7x";"#, gives: [["k", "\0\nA8A\u{7}x"]]),
    Row("a line end that is escaped stays", "k = \"a\\\nb\\\r\nc\nd\";", gives: [["k", "a\nb\r\nc\nd"]]),
    Row("octal beyond ASCII", #"k = "\200";"#, gives: nil),
    Row("half a pair", #"k = "\Ud83d";"#, gives: nil),
    Row("the second half alone", #"k = "\UDE00";"#, gives: nil),
    Row("two first halves", #"k = "\Ud83d\Ud83d";"#, gives: nil),
    Row("three digits", #"k = "\U0e9";"#, gives: nil),
    Row("an unknown escape", #"k = "\q";"#, gives: nil),
    Row("a backslash at the end", "k = \"\\", gives: nil),
    Row("no end of a string", "k = \"v;", gives: nil),
    Row("no end of a comment", "k = v; /* *", gives: nil),
    Row("a short comment", "/*/ k = v;", gives: nil),
    Row("no semicolon", "k = v", gives: nil),
    Row("no value", "k = ;", gives: nil),
    Row("no equals sign", "k v;", gives: nil),
    Row("a key alone", "k;", gives: nil),
    Row("a list", "k = (a, b);", gives: nil),
    Row("a dictionary inside", "k = { a = b; };", gives: nil),
    Row("data", "k = <00>;", gives: nil),
    Row("no end of braces", "{ k = v;", gives: nil),
    Row("an end of braces alone", "k = v; }", gives: nil),
    Row("something behind the braces", "{ k = v; } l = w;", gives: nil),
    Row("a letter outside of quotes", "é = v;", gives: nil),
    Row("a NUL between", "k =\0 v;", gives: nil),
  ]

  @Test(arguments: rows) func reads(_ row: Row) {
    #expect((try? read(row.text).get().pairs) == row.pairs)
    guard let pairs = row.pairs, !row.text.contains("\u{FEFF}") else { return }
    for bigEndian in [true, false] {
      let bytes = utf16(row.text, bigEndian: bigEndian, mark: true)
      #expect((try? read(bytes).get().pairs) == pairs)
      // Without a mark only the first character can show what it is.
      if let first = row.text.unicodeScalars.first, first.isASCII {
        let bytes = utf16(row.text, bigEndian: bigEndian, mark: false)
        #expect((try? read(bytes).get().pairs) == pairs)
      }
    }
  }

  @Test("Bytes that are not text") func encodings() {
    let pair = Array("k = \"".utf8)
    for wrong: [UInt8] in [
      [0xFF], [0xC3], [0xC0, 0x80], [0xED, 0xA0, 0x80], [0xF4, 0x90, 0x80, 0x80], [0x80],
    ] {
      #expect(read(pair + wrong + Array("\";".utf8)) == .failure(.wrongEncoding))
    }
    let good = utf16("k = \"x\";", bigEndian: true, mark: true)
    #expect(read(good + [0]) == .failure(.wrongEncoding), "a byte too many")
    for half: [UInt8] in [[0xD8, 0x3D], [0xDE, 0x00], [0xD8, 0x3D, 0xD8, 0x3D]] {
      var bytes = good
      bytes.replaceSubrange(12..<14, with: half)
      #expect(read(bytes) == .failure(.wrongEncoding))
    }
  }

  @Test("A file that is cut short says nothing") func truncated() {
    let text = "{ /* a */ \"k\" = \"\\U00e9v\"; // b\n l = \"\\101\"; }"
    #expect(read(text) == .success(Found([["k", "év"], ["l", "A"]])))
    for length in 1..<text.utf8.count { #expect((try? read(Array(text.utf8.prefix(length))).get()) == nil) }
  }
}
