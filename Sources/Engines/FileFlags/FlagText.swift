// The words people type and read for flags.

extension FileFlags {
  /// A flag with its keywords; the first is the one that is printed.
  private struct Word {
    let flag: FileFlags
    let keywords: [StaticString]
  }

  /// In the order in which `ls -lO` and `chflags` print them.
  private static let words: [Word] = [
    Word(flag: .systemAppendOnly, keywords: ["sappnd", "sappend"]),
    Word(flag: .archived, keywords: ["arch", "archived"]),
    Word(flag: .systemImmutable, keywords: ["schg", "schange", "simmutable"]),
    Word(flag: .restricted, keywords: ["restricted"]),
    Word(flag: .systemNoUnlink, keywords: ["sunlnk", "sunlink"]),
    Word(flag: .userAppendOnly, keywords: ["uappnd", "uappend"]),
    Word(flag: .userImmutable, keywords: ["uchg", "uchange", "uimmutable"]),
    Word(flag: .noDump, keywords: ["nodump"]),
    Word(flag: .opaque, keywords: ["opaque"]),
    Word(flag: .hidden, keywords: ["hidden"]),
    Word(flag: .compressed, keywords: ["compressed"]),
    Word(flag: .dataVault, keywords: ["datavault"]),
    Word(flag: .dataless, keywords: ["dataless"]),
  ]

  /// The keywords of the set flags; flags without a keyword are not named.
  package var keywords: [String] {
    FileFlags.words.filter { contains($0.flag) }.compactMap { word in word.keywords.first.map { "\($0)" } }
  }

  /// The keywords joined by commas, or an empty string.
  package var text: String { keywords.joined(separator: ",") }

  /// What a list of keywords asks for: flags to set and flags to clear.
  package struct Instruction: Hashable, Sendable {
    package var set: FileFlags = []
    package var clear: FileFlags = []
    /// A number names the whole word.
    package var whole: FileFlags?

    package init() {}

    /// The flags of an object that had `flags`.
    package func applied(to flags: FileFlags) -> FileFlags {
      whole ?? flags.union(set).subtracting(clear)
    }
  }

  /// A word that names no flag.
  package struct UnknownWord: Error, Hashable, Sendable {
    package let word: String

    package init(word: String) {
      self.word = word
    }
  }

  /// Reads `uchg,nohidden`, `dump`, or an octal number such as `0100002`.
  ///
  /// Words are separated by commas, blanks or tabs. A leading `no` turns a word round, except that `nodump`
  /// is itself the flag's name and `dump` its opposite.
  package static func instruction(_ text: String) throws(UnknownWord) -> Instruction {
    var result = Instruction()
    if let first = text.utf8.first, first >= UInt8(ascii: "0"), first <= UInt8(ascii: "7") {
      guard let number = number(text) else { throw UnknownWord(word: text) }
      result.whole = FileFlags(rawValue: number)
      return result
    }
    for piece in text.split(whereSeparator: { $0 == "," || $0 == " " || $0 == "\t" }) {
      let word = String(piece)
      if let flag = flag(named: word) {
        result.set.insert(flag)
      } else if word == "dump" {
        result.clear.insert(.noDump)
      } else if word.hasPrefix("no"), let flag = flag(named: String(word.dropFirst(2))), flag != .noDump {
        result.clear.insert(flag)
      } else {
        throw UnknownWord(word: word)
      }
    }
    return result
  }

  private static func number(_ text: String) -> UInt32? {
    let isHexadecimal = text.hasPrefix("0x") || text.hasPrefix("0X")
    let digits = isHexadecimal ? text.dropFirst(2) : Substring(text)
    // The standard library reads "+5" as a number; `0x+5` is none.
    guard digits.first != "+" else { return nil }
    return UInt32(digits, radix: isHexadecimal ? 16 : 8)
  }

  private static func flag(named name: String) -> FileFlags? {
    words.first { $0.keywords.contains { "\($0)" == name } }?.flag
  }
}
