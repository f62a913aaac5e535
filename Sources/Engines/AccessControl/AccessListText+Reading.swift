// Access lists as people type them. Generous with blanks, strict with words.

extension AccessListText {
  // Its own slice type. A slice of a slice is free; `Piece(slice)` would copy it, letter by letter.
  private typealias Piece = Substring.UnicodeScalarView

  /// Which verbs are read.
  ///
  /// A list may hold audit and alarm entries that came from elsewhere; nobody types them.
  private enum Verbs {
    case decisive
    case all
  }

  /// Reads one entry: `[user:|group:]NAME [inherited] allow|deny WORD,…`.
  ///
  /// A colon after the name ends it, for names with blanks: `ann smith:allow:read`. Without a prefix the name
  /// is looked up as a user first, then as a group. Digits are always a number, whatever accounts are called.
  package static func readEntry(_ text: String, names book: NameBook) throws(ParseFailure) -> AccessEntry {
    try entry(Substring(text).unicodeScalars, names: book, verbs: .decisive)
  }

  /// Reads a whole list: one entry a line; empty lines and lines that begin with `#` are skipped.
  ///
  /// The number `ls -le` prints in front of an entry is accepted and ignored: order is what counts.
  package static func readList(_ text: String, names book: NameBook) throws(ParseFailure) -> AccessList {
    var list = AccessList()
    let lines = text.unicodeScalars.split(separator: "\n", omittingEmptySubsequences: false)
    for (index, line) in lines.enumerated() {
      let line = trimmed(line)
      guard let first = line.first else { continue }
      do throws(ParseFailure) {
        if first == "!" {
          guard list.entries.isEmpty else { throw ParseFailure(.unknownHeader, string(line)) }
          list.flags = try listFlags(line)
        } else if first != "#" {
          guard list.entries.count < AccessList.entryLimit else { throw ParseFailure(.tooManyEntries) }
          list.entries.append(try entry(withoutNumber(line), names: book, verbs: .all))
        }
      } catch {
        var located = error
        located.line = index + 1
        throw located
      }
    }
    return list
  }

  /// Reads a list that arrived as bytes.
  package static func readList(bytes: [UInt8], names book: NameBook) throws(ParseFailure) -> AccessList {
    guard let text = String(validating: bytes, as: UTF8.self) else { throw ParseFailure(.notText) }
    return try readList(text, names: book)
  }

  /// Reads whom an entry is about: the part in front of the verb.
  package static func readIdentity(_ text: String, names book: NameBook) throws(ParseFailure) -> Identity {
    let (prefix, rest) = prefix(of: trimmed(Substring(text).unicodeScalars))
    return try identity(prefix, string(trimmed(rest)), names: book)
  }

  private static func entry(
    _ text: Piece, names book: NameBook, verbs: Verbs
  ) throws(ParseFailure) -> AccessEntry {
    let text = trimmed(text)
    guard !text.isEmpty else { throw ParseFailure(.emptyEntry) }
    let (prefix, rest) = prefix(of: text)
    let endsAtColon = rest.contains(":")
    func isSeparator(_ scalar: Unicode.Scalar) -> Bool { isBlank(scalar) || (endsAtColon && scalar == ":") }

    let name = rest.prefix { endsAtColon ? $0 != ":" : !isBlank($0) }
    let who = try identity(prefix, string(trimmed(name)), names: book)

    var left = rest.dropFirst(name.count)
    func nextWord() -> String {
      left = left.drop(while: isSeparator)
      let word = left.prefix { !isSeparator($0) }
      left = left.dropFirst(word.count)
      return string(word)
    }
    var entry = AccessEntry(.allow, who, [])
    var verb = nextWord()
    if verb == AccessWords.inherited {
      entry.inheritance.insert(.inherited)
      verb = nextWord()
    }
    entry.kind = try kind(verb, among: verbs)
    try add(words: left.drop(while: isSeparator), to: &entry)
    return entry
  }

  private static func add(words: Piece, to entry: inout AccessEntry) throws(ParseFailure) {
    guard !words.isEmpty else { throw ParseFailure(.missingWords) }
    for piece in words.split(separator: ",", omittingEmptySubsequences: false) {
      let word = string(trimmed(piece))
      guard !word.isEmpty else { throw ParseFailure(.emptyWord, string(trimmed(words))) }
      switch AccessWords.meaning(of: word) {
      case .rights(let rights): entry.rights.formUnion(rights)
      case .inheritance(let flag): entry.inheritance.formUnion(flag)
      case nil: throw ParseFailure(.unknownWord, word)
      }
    }
  }

  private static func kind(_ verb: String, among verbs: Verbs) throws(ParseFailure) -> AccessEntry.Kind {
    guard !verb.isEmpty else { throw ParseFailure(.missingVerb) }
    guard let kind = AccessWords.kinds.first(where: { $0.word == verb })?.kind,
      verbs == .all || kind == .allow || kind == .deny
    else { throw ParseFailure(.unknownVerb, verb) }
    return kind
  }

  // MARK: - Names

  private enum Prefix {
    case none
    case user
    case group
  }

  private static func prefix(of text: Piece) -> (Prefix, Piece) {
    if text.starts(with: "user:".unicodeScalars) { return (.user, text.dropFirst(5)) }
    if text.starts(with: "group:".unicodeScalars) { return (.group, text.dropFirst(6)) }
    return (.none, text)
  }

  private static func identity(
    _ prefix: Prefix, _ name: String, names book: NameBook
  ) throws(ParseFailure) -> Identity {
    guard !name.isEmpty else { throw ParseFailure(.missingName) }
    switch (prefix, name) {
    case (.none, "everyone"), (.none, "everyone@"), (.group, "everyone"): return .everyone
    case (.none, "owner@"): return .owner
    case (.none, "group@"): return .owningGroup
    case (.none, "nobody@"): return .nobody
    default: break
    }
    if isNumber(name) {
      guard let number = UInt32(name) else { throw ParseFailure(.numberTooLarge, name) }
      return prefix == .group ? .group(number) : .user(number)
    }
    if prefix != .group, let uid = book.user(name) { return .user(uid) }
    if prefix != .user, let gid = book.group(name) { return .group(gid) }
    switch prefix {
    case .none: throw ParseFailure(.unknownName, name)
    case .user: throw ParseFailure(.unknownUser, name)
    case .group: throw ParseFailure(.unknownGroup, name)
    }
  }

  // MARK: - Lines of a list

  /// The line without the number in front of it.
  ///
  /// The blank after the colon is required: `1000:allow:read` is an entry for the user 1000.
  private static func withoutNumber(_ line: Piece) -> Piece {
    let rest = line.drop { $0 >= "0" && $0 <= "9" }
    guard rest.startIndex != line.startIndex, rest.first == ":" else { return line }
    let after = rest.dropFirst()
    guard let blank = after.first, isBlank(blank) else { return line }
    return trimmed(after)
  }

  private static func listFlags(_ line: Piece) throws(ParseFailure) -> AccessList.Flags {
    let failure = ParseFailure(.unknownHeader, string(line))
    guard line.starts(with: header.unicodeScalars) else { throw failure }
    let rest = line.dropFirst(header.unicodeScalars.count)
    // "!#acl 12" is another version, not ours with something behind it.
    if let next = rest.first, !isBlank(next) { throw failure }
    var flags: AccessList.Flags = []
    for piece in rest.split(whereSeparator: { $0 == "," || isBlank($0) }) {
      let word = string(piece)
      if let known = AccessWords.listFlags.first(where: { $0.word == word }) {
        flags.insert(known.flag)
      } else if word.hasPrefix("0x"), let bits = UInt32(word.dropFirst(2), radix: 16) {
        flags.insert(AccessList.Flags(rawValue: bits))
      } else {
        throw failure
      }
    }
    return flags
  }

  // MARK: - Characters
  // Scalars, not characters: a blank or a comma followed by a combining mark is still a separator.

  private static func isBlank(_ scalar: Unicode.Scalar) -> Bool {
    scalar == " " || scalar == "\t" || scalar == "\r"
  }

  private static func trimmed(_ text: Piece) -> Piece {
    var text = text.drop(while: isBlank)
    while let last = text.last, isBlank(last) { text = text.dropLast() }
    return text
  }

  private static func string(_ text: Piece) -> String { String(Substring(text)) }
}
