// XML as far as property lists need it: tags, text, references, comments, CDATA and a DOCTYPE without declarations.

struct XMLMarkup {
  /// The elements of a property list.
  enum Name {
    case plist, dict, array, key, string, integer, real, date, data
    case `true`, `false`

    /// All of them by their letters; the first two make up most of a list.
    fileprivate static let all: [(code: UInt64, name: Name)] = [
      (code("key"), .key), (code("string"), .string), (code("dict"), .dict), (code("array"), .array),
      (code("integer"), .integer), (code("real"), .real), (code("date"), .date), (code("data"), .data),
      (code("true"), .true), (code("false"), .false), (code("plist"), .plist),
    ]

    /// The letters as a number: none has more than eight.
    private static func code(_ text: String) -> UInt64 { text.utf8.reduce(0) { $0 << 8 | UInt64($1) } }
  }

  struct Tag: Equatable {
    let name: Name
    /// Written as `<name/>`.
    let isEmpty: Bool
  }

  private let text: [UInt8]
  private let source: DecodedText.Source
  private var position: Int
  private(set) var lastTag: Tag?
  var table = StringTable()

  init(_ text: DecodedText) throws(ParseFailure) {
    self.text = text.bytes
    source = text.source
    position = text.start
    try checkCharacters()
  }

  var isAtEnd: Bool { position == text.count }
  var isAtEndTag: Bool {
    position + 1 < text.count && text[position] == UInt8(ascii: "<")
      && text[position + 1] == UInt8(ascii: "/")
  }

  /// XML knows no controls but tab and line ends, and neither U+FFFE nor U+FFFF.
  private func checkCharacters() throws(ParseFailure) {
    for index in text.indices {
      let byte = text[index]
      if byte < 0x20 {
        guard byte == 0x09 || byte == 0x0A || byte == 0x0D else { throw .malformed }
      } else if byte == 0xEF, text.count - index > 2, text[index + 1] == 0xBF {
        guard text[index + 2] < 0xBE else { throw .malformed }
      }
    }
  }

  private var next: UInt8? { position < text.count ? text[position] : nil }

  private func isNext(_ word: String) -> Bool { text.holds(word, at: position) }

  private mutating func take(_ word: String) -> Bool {
    guard isNext(word) else { return false }
    position += word.utf8.count
    return true
  }

  private mutating func expect(_ word: String) throws(ParseFailure) {
    guard take(word) else { throw .malformed }
  }

  @discardableResult private mutating func skipBlanks() -> Bool {
    let start = position
    while let byte = next, byte.isXMLBlank { position += 1 }
    return position > start
  }

  /// Passes over everything up to and including `word`.
  private mutating func skip(to word: String) throws(ParseFailure) {
    while !isNext(word) {
      guard position < text.count else { throw .malformed }
      position += 1
    }
    position += word.utf8.count
  }

  // MARK: Before and between elements

  /// Everything in front of the first element.
  mutating func prolog() throws(ParseFailure) {
    if isNext("<?xml"), text.count - position > 5, text[position + 5].isXMLBlank { try declaration() }
    try skipBetweenElements()
    guard take("<!DOCTYPE") else { return }
    try documentType()
    try skipBetweenElements()
  }

  private mutating func declaration() throws(ParseFailure) {
    position += 5
    skipBlanks()
    try expect("version")
    guard try declared() == "1.0" else { throw .malformed }
    var isSpaced = skipBlanks()
    if isSpaced, take("encoding") {
      let name = try declared().lowercased()
      guard name == (source == .utf8 ? "utf-8" : "utf-16") else { throw .wrongEncoding }
      isSpaced = skipBlanks()
    }
    if isSpaced, take("standalone") {
      guard try ["yes", "no"].contains(declared()) else { throw .malformed }
      skipBlanks()
    }
    try expect("?>")
  }

  /// What a word of the declaration is set to.
  private mutating func declared() throws(ParseFailure) -> String {
    String(decoding: try setting(), as: UTF8.self)
  }

  /// `= "…"`: what is between the quotes.
  private mutating func setting() throws(ParseFailure) -> ArraySlice<UInt8> {
    skipBlanks()
    try expect("=")
    skipBlanks()
    return try literal()
  }

  private mutating func literal() throws(ParseFailure) -> ArraySlice<UInt8> {
    guard let quote = next, quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'") else {
      throw .malformed
    }
    position += 1
    let start = position
    while next != quote {
      guard position < text.count else { throw .malformed }
      position += 1
    }
    position += 1
    return text[start..<position - 1]
  }

  /// The rest of a DOCTYPE.
  ///
  /// Declarations inside of it could define entities, and so are refused.
  private mutating func documentType() throws(ParseFailure) {
    guard skipBlanks(), word() else { throw .malformed }
    let isSpaced = skipBlanks()
    if isSpaced, take("PUBLIC") {
      guard skipBlanks(), try literal().allSatisfy(\.isPublicIdentifierPart), skipBlanks() else {
        throw .malformed
      }
      _ = try literal()
    } else if isSpaced, take("SYSTEM") {
      guard skipBlanks() else { throw .malformed }
      _ = try literal()
    }
    skipBlanks()
    try expect(">")
  }

  /// A name of XML, in ASCII as all of property lists are.
  private mutating func word() -> Bool {
    guard let first = next, first.isNameStart else { return false }
    while let byte = next, byte.isNameStart || byte.isDigit || byte == 0x2D || byte == 0x2E { position += 1 }
    return true
  }

  /// Blanks, comments and processing instructions.
  mutating func skipBetweenElements() throws(ParseFailure) {
    repeat { skipBlanks() } while try skipAside()
  }

  private mutating func skipAside() throws(ParseFailure) -> Bool {
    guard position + 1 < text.count, text[position] == UInt8(ascii: "<"), !text[position + 1].isLetter else {
      return false
    }
    if take("<!--") {
      try skip(to: "--")
      try expect(">")
      return true
    }
    guard take("<?") else { return false }
    let start = position
    guard word(), !text[start..<position].isXML else { throw .malformed }
    guard isNext("?>") || skipBlanks() else { throw .malformed }
    try skip(to: "?>")
    return true
  }

  // MARK: Elements

  mutating func startTag() throws(ParseFailure) -> Tag {
    try expect("<")
    let name = try elementName()
    while skipBlanks(), word() {
      for byte in try setting() where byte == UInt8(ascii: "<") || byte == UInt8(ascii: "&") {
        throw .malformed
      }
    }
    let isEmpty = take("/")
    try expect(">")
    let tag = Tag(name: name, isEmpty: isEmpty)
    lastTag = tag
    return tag
  }

  mutating func endTag(_ name: Name) throws(ParseFailure) {
    try expect("</")
    guard try elementName() == name else { throw .malformed }
    skipBlanks()
    try expect(">")
  }

  private mutating func elementName() throws(ParseFailure) -> Name {
    let start = position
    guard word() else { throw .malformed }
    guard position - start <= 8 else { throw .malformed }
    var code: UInt64 = 0
    for index in start..<position { code = code << 8 | UInt64(text[index]) }
    for element in Name.all where element.code == code { return element.name }
    throw .malformed
  }

  /// The text of an element up to its end tag, which is passed as well.
  ///
  /// What is not kept is checked all the same.
  mutating func content(of tag: Tag, keeps: Bool) throws(ParseFailure) -> StringTable.Piece {
    let start = table.end
    if !tag.isEmpty {
      while true {
        try characters()
        if isAtEndTag { break }
        if try skipAside() { continue }
        if take("<![CDATA[") {
          try section()
          continue
        }
        throw .malformed
      }
      try endTag(tag.name)
    }
    if !keeps { table.cut(to: start) }
    return StringTable.Piece(start: start, end: table.end)
  }

  /// Text up to the next markup; line ends become LF, as XML has it.
  private mutating func characters() throws(ParseFailure) {
    while let byte = next, byte != UInt8(ascii: "<") {
      switch byte {
      case UInt8(ascii: "&"): try reference()
      case 0x0D: lineEnd()
      case UInt8(ascii: "]"):
        guard !isNext("]]>") else { throw .malformed }
        table.append(byte)
        position += 1
      default: run()
      }
    }
  }

  private mutating func run() {
    let start = position
    while let byte = next, !byte.endsRun { position += 1 }
    table.append(text[start..<position])
  }

  private mutating func lineEnd() {
    position += 1
    if next == 0x0A { position += 1 }
    table.append(0x0A)
  }

  private mutating func section() throws(ParseFailure) {
    while !isNext("]]>") {
      guard let byte = next else { throw .malformed }
      if byte == 0x0D {
        lineEnd()
      } else {
        table.append(byte)
        position += 1
      }
    }
    position += 3
  }

  private mutating func reference() throws(ParseFailure) {
    if take("&#") { return table.append(try numbered()) }
    if take("&amp;") {
      table.append(UInt8(ascii: "&"))
    } else if take("&lt;") {
      table.append(UInt8(ascii: "<"))
    } else if take("&gt;") {
      table.append(UInt8(ascii: ">"))
    } else if take("&quot;") {
      table.append(UInt8(ascii: "\""))
    } else if take("&apos;") {
      table.append(UInt8(ascii: "'"))
    } else {
      throw .malformed
    }
  }

  private mutating func numbered() throws(ParseFailure) -> Unicode.Scalar {
    let base: UInt32 = take("x") ? 16 : 10
    var value: UInt32 = 0
    let start = position
    while let digit = next?.hexadecimalValue, digit < base {
      // Above the last character it stays above, whatever else follows.
      value = min(value * base + digit, 0x110000)
      position += 1
    }
    guard position > start, take(";"), let scalar = Unicode.Scalar(value) else { throw .malformed }
    let isAllowed = value >= 0x20 ? value & 0xFFFE != 0xFFFE || value > 0xFFFF : [9, 10, 13].contains(value)
    guard isAllowed else { throw .malformed }
    return scalar
  }
}

extension [UInt8] {
  fileprivate func holds(_ word: String, at position: Int) -> Bool {
    guard position < count, self[position] == word.utf8.first else { return false }
    let size = word.utf8.count
    return size <= count - position && word.utf8.elementsEqual(self[position..<position + size])
  }
}

extension ArraySlice<UInt8> {
  /// The name that is kept for the declaration, in whichever case.
  fileprivate var isXML: Bool { lazy.map { $0 | 0x20 }.elementsEqual("xml".utf8) }
}

extension UInt8 {
  fileprivate var isXMLBlank: Bool { self == 0x20 || self == 0x0A || self == 0x0D || self == 0x09 }

  fileprivate var isNameStart: Bool { isLetter || self == 0x5F || self == 0x3A }

  /// What may stand between the first quotes behind `PUBLIC`.
  fileprivate var isPublicIdentifierPart: Bool {
    isLetter || isDigit || isXMLBlank && self != 0x09 || "-'()+,./:=?;!*#@$_%".utf8.contains(self)
  }

  /// Whether text goes on in another way from here.
  fileprivate var endsRun: Bool {
    self == UInt8(ascii: "<") || self == UInt8(ascii: "&") || self == UInt8(ascii: "]") || self == 0x0D
  }
}
