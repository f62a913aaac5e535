// The old form: `"key" = "value";`, with comments, bare words and escapes.

struct OldStyleReader {
  private let text: [UInt8]
  private var position: Int
  private var table = StringTable()
  private let limits: PropertyListLimits

  static func read(_ text: DecodedText, within limits: PropertyListLimits) throws(ParseFailure) -> StringTable
  {
    var reader = OldStyleReader(text, limits)
    try reader.pairs()
    return reader.table
  }

  private init(_ text: DecodedText, _ limits: PropertyListLimits) {
    self.text = text.bytes
    self.limits = limits
    position = text.start
  }

  private var next: UInt8? { position < text.count ? text[position] : nil }

  private func byte(after distance: Int) -> UInt8? {
    position + distance < text.count ? text[position + distance] : nil
  }

  /// All of the file, with or without braces around it.
  private mutating func pairs() throws(ParseFailure) {
    try skip()
    let isBraced = take("{")
    if isBraced { try skip() }
    while let next, next != UInt8(ascii: "}") {
      let start = table.end
      let key = try string()
      try expect("=")
      try skip()
      let value = try string()
      try expect(";")
      let before = table.count
      try table.add(key, value, within: limits)
      if table.count == before { table.cut(to: start) }
      try skip()
    }
    if isBraced {
      try expect("}")
      try skip()
    }
    guard position == text.count else { throw .malformed }
  }

  private mutating func take(_ character: Unicode.Scalar) -> Bool {
    guard next == UInt8(ascii: character) else { return false }
    position += 1
    return true
  }

  private mutating func expect(_ character: Unicode.Scalar) throws(ParseFailure) {
    try skip()
    guard take(character) else { throw .malformed }
  }

  /// Passes over blanks and comments.
  private mutating func skip() throws(ParseFailure) {
    while let byte = next {
      if byte.isBlank {
        position += 1
      } else if isLineSeparator {
        position += 3
      } else if byte == UInt8(ascii: "/"), self.byte(after: 1) == UInt8(ascii: "/") {
        while let byte = next, byte != 0x0A, byte != 0x0D, !isLineSeparator { position += 1 }
      } else if byte == UInt8(ascii: "/"), self.byte(after: 1) == UInt8(ascii: "*") {
        position += 2
        while self.byte(after: 1) != UInt8(ascii: "/") || next != UInt8(ascii: "*") {
          guard position < text.count else { throw .malformed }
          position += 1
        }
        position += 2
      } else {
        return
      }
    }
  }

  /// U+2028 and U+2029 end lines as well.
  private var isLineSeparator: Bool {
    guard next == 0xE2, byte(after: 1) == 0x80, let last = byte(after: 2) else { return false }
    return last == 0xA8 || last == 0xA9
  }

  private mutating func string() throws(ParseFailure) -> StringTable.Piece {
    take("\"") ? try quoted() : try word()
  }

  private mutating func word() throws(ParseFailure) -> StringTable.Piece {
    let first = position
    while let byte = next, byte.isWordPart { position += 1 }
    guard position > first else { throw .malformed }
    let start = table.end
    table.append(text[first..<position])
    return StringTable.Piece(start: start, end: table.end)
  }

  private mutating func quoted() throws(ParseFailure) -> StringTable.Piece {
    let start = table.end
    while true {
      let first = position
      while let byte = next, byte != UInt8(ascii: "\""), byte != UInt8(ascii: "\\") { position += 1 }
      table.append(text[first..<position])
      guard position < text.count else { throw .malformed }
      if take("\"") { return StringTable.Piece(start: start, end: table.end) }
      position += 1
      try escape()
    }
  }

  /// What stands behind a backslash.
  private mutating func escape() throws(ParseFailure) {
    guard let letter = next else { throw .malformed }
    if 0x30...0x37 ~= letter { return try octal() }
    position += 1
    switch Unicode.Scalar(letter) {
    // A line end stays one. CR LF: the LF is taken as any other character.
    case "\"", "\\", "'", "\n", "\r": table.append(letter)
    case "a": table.append(0x07)
    case "b": table.append(0x08)
    case "f": table.append(0x0C)
    case "n": table.append(0x0A)
    case "r": table.append(0x0D)
    case "t": table.append(0x09)
    case "v": table.append(0x0B)
    case "U": table.append(try unicode())
    default: throw .malformed
    }
  }

  /// One to three digits; beyond ASCII it would be some old encoding.
  private mutating func octal() throws(ParseFailure) {
    var value: UInt32 = 0
    var digits = 0
    while digits < 3, let byte = next, 0x30...0x37 ~= byte {
      value = value << 3 | UInt32(byte - 0x30)
      position += 1
      digits += 1
    }
    guard value < 0x80 else { throw .malformed }
    table.append(UInt8(truncatingIfNeeded: value))
  }

  /// Four digits after `\U`; a character beyond U+FFFF is written as two of these.
  private mutating func unicode() throws(ParseFailure) -> Unicode.Scalar {
    let first = try unit()
    if let scalar = Unicode.Scalar(first) { return scalar }
    guard take("\\"), take("U"), let scalar = Unicode.Scalar(leading: first, trailing: try unit()) else {
      throw .wrongEncoding
    }
    return scalar
  }

  private mutating func unit() throws(ParseFailure) -> UInt16 {
    var value: UInt32 = 0
    for _ in 0..<4 {
      guard let digit = next?.hexadecimalValue else { throw .malformed }
      value = value << 4 | digit
      position += 1
    }
    return UInt16(truncatingIfNeeded: value)
  }
}

extension UInt8 {
  fileprivate var isWordPart: Bool {
    if isLetter || isDigit { return true }
    switch Unicode.Scalar(self) {
    case "_", ".", "$", ":", "/", "-": return true
    default: return false
    }
  }
}
