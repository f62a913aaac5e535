// The words of chflags and `ls -lO`.

import FlagRules
import Testing

@Suite("Flags as words") struct FlagTextTests {
  static let spellings: [(flag: FileFlags, words: [String])] = [
    (.systemAppendOnly, ["sappnd", "sappend"]),
    (.archived, ["arch", "archived"]),
    (.systemImmutable, ["schg", "schange", "simmutable"]),
    (.restricted, ["restricted"]),
    (.systemNoUnlink, ["sunlnk", "sunlink"]),
    (.userAppendOnly, ["uappnd", "uappend"]),
    (.userImmutable, ["uchg", "uchange", "uimmutable"]),
    (.noDump, ["nodump"]),
    (.opaque, ["opaque"]),
    (.hidden, ["hidden"]),
    (.compressed, ["compressed"]),
    (.dataVault, ["datavault"]),
    (.dataless, ["dataless"]),
  ]

  static func instruction(
    set: FileFlags = [], clear: FileFlags = [], whole: FileFlags? = nil
  ) -> FileFlags.Instruction {
    var instruction = FileFlags.Instruction()
    instruction.set = set
    instruction.clear = clear
    instruction.whole = whole
    return instruction
  }

  @Test("Every spelling sets, and with no in front clears") func everySpelling() throws {
    for (flag, words) in Self.spellings {
      for word in words {
        #expect(try FileFlags.instruction(word) == Self.instruction(set: flag))
        guard flag != .noDump else { continue }
        #expect(try FileFlags.instruction("no" + word) == Self.instruction(clear: flag))
      }
    }
  }

  @Test("The first spelling is printed, in the order of chflags") func order() {
    let all = Self.spellings.reduce(into: FileFlags()) { $0.insert($1.flag) }
    #expect(all.keywords == Self.spellings.compactMap(\.words.first))
    #expect(
      all.text
        == "sappnd,arch,schg,restricted,sunlnk,uappnd,uchg,nodump,opaque,hidden,compressed,datavault,dataless"
    )
    #expect(FileFlags().text == "")
    #expect(FileFlags.tracked.text == "", "tracked has no keyword")
  }

  struct Row: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let text: String
    let before: FileFlags
    let after: FileFlags

    init(_ sentence: String, _ text: String, on before: FileFlags = [], gives after: FileFlags) {
      testDescription = sentence
      self.text = text
      self.before = before
      self.after = after
    }
  }

  static let rows = [
    Row("nodump sets", "nodump", gives: .noDump),
    Row("dump clears", "dump", on: [.noDump, .hidden], gives: .hidden),
    Row("others stay", "uchg", on: .hidden, gives: [.hidden, .userImmutable]),
    Row(
      "commas, blanks and tabs separate", "uchg, hidden\topaque", gives: [.userImmutable, .hidden, .opaque]),
    Row("empty words are skipped", ",,uchg,,", gives: .userImmutable),
    Row("clearing wins", "uchg,nouchg", gives: []),
    Row("clearing wins in any order", "nouchg,uchg", on: .userImmutable, gives: []),
    Row("nodump and dump", "nodump,dump", gives: []),
    Row("no words change nothing", "", on: .hidden, gives: .hidden),
    Row("an octal number replaces the whole word", "0100002", on: .opaque, gives: [.hidden, .userImmutable]),
    Row("octal without a leading zero", "2", on: .opaque, gives: .userImmutable),
    Row("zero clears everything", "0", on: [.opaque, .systemImmutable], gives: []),
    Row("a hexadecimal number", "0x20002", gives: [.systemImmutable, .userImmutable]),
    Row("the largest word", "037777777777", gives: FileFlags(rawValue: .max)),
  ]

  @Test(arguments: rows) func applies(_ row: Row) throws {
    #expect(try FileFlags.instruction(row.text).applied(to: row.before) == row.after)
  }

  static let unknown: [(text: String, word: String)] = [
    ("fly", "fly"), ("nonodump", "nonodump"), ("nofly", "nofly"), ("no", "no"), ("nodumpx", "nodumpx"),
    ("noNohidden", "noNohidden"), ("nonohidden", "nonohidden"), ("UCHG", "UCHG"), ("uchg,fly", "fly"),
    ("tracked", "tracked"), ("8", "8"), ("08", "08"), ("0x", "0x"), ("0x+5", "0x+5"), ("0xg", "0xg"),
    ("2,uchg", "2,uchg"), ("040000000000", "040000000000"), ("-1", "-1"), ("+2", "+2"),
    ("nodump\u{301}", "nodump\u{301}"),
    ("-", "-"),
  ]

  @Test(arguments: unknown) func refuses(_ row: (text: String, word: String)) {
    #expect(throws: FileFlags.UnknownWord(word: row.word)) { try FileFlags.instruction(row.text) }
  }

  @Test("Every set of flags with keywords survives print and read") func roundTrips() throws {
    // 13 flags: all 8192 sets.
    for bits in 0..<(1 << Self.spellings.count) {
      var flags = FileFlags()
      for (index, known) in Self.spellings.enumerated() where bits & (1 << index) != 0 {
        flags.insert(known.flag)
      }
      let reread = try FileFlags.instruction(flags.text).applied(to: [])
      if reread != flags { Issue.record("\(flags.text) is read as \(reread.text)") }
    }
  }

  @Test("No text stops the reader") func fuzz() {
    let alphabet = ["no", "dump", "uchg", ",", " ", "0", "7", "0x", "f", "\u{301}", "é", "\n"]
    for first in alphabet {
      for second in alphabet {
        for third in alphabet {
          for fourth in alphabet { _ = try? FileFlags.instruction(first + second + third + fourth) }
        }
      }
    }
  }
}
