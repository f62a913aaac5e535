// From the encodings that strings files come in to UTF-8.

/// A text in UTF-8 throughout.
struct DecodedText {
  enum Source {
    case utf8
    case utf16
  }

  let bytes: [UInt8]
  /// Behind a byte order mark.
  let start: Int
  let source: Source

  /// Goes by the byte order mark; without one it is UTF-8, or UTF-16 if one of the first two bytes is NUL.
  init(_ bytes: [UInt8]) throws(ParseFailure) {
    let first = bytes.first ?? 0x20
    let second = bytes.count > 1 ? bytes[1] : 0x20
    switch (first, second) {
    case (0xFE, 0xFF), (0xFF, 0xFE):
      self.bytes = try DecodedText.utf8(ofUTF16: bytes, from: 2, isBigEndian: first == 0xFE)
      (start, source) = (0, .utf16)
    case (0, _), (_, 0):
      self.bytes = try DecodedText.utf8(ofUTF16: bytes, from: 0, isBigEndian: first == 0)
      (start, source) = (0, .utf16)
    default:
      guard DecodedText.isUTF8(bytes) else { throw .wrongEncoding }
      self.bytes = bytes
      (start, source) = (bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0, .utf8)
    }
  }

  var firstVisible: UInt8? {
    var index = start
    while index < bytes.count, bytes[index].isBlank { index += 1 }
    return index < bytes.count ? bytes[index] : nil
  }

  private static func isUTF8(_ bytes: [UInt8]) -> Bool {
    (try? UTF8Span(validating: bytes.span)) != nil
  }

  private static func utf8(
    ofUTF16 bytes: [UInt8], from start: Int, isBigEndian: Bool
  ) throws(ParseFailure) -> [UInt8] {
    guard (bytes.count - start).isMultiple(of: 2) else { throw .wrongEncoding }
    var text: [UInt8] = []
    text.reserveCapacity((bytes.count - start) / 2)
    var units = UnitReader(offset: start, end: bytes.count, isBigEndian: isBigEndian)
    while let scalar = try units.next(in: bytes) {
      if scalar.value < 0x80 {
        text.append(UInt8(truncatingIfNeeded: scalar.value))
      } else {
        text.append(contentsOf: UTF8.encode(scalar) ?? .init())
      }
    }
    return text
  }
}

/// Goes through UTF-16; half of a pair alone is an error.
struct UnitReader {
  var offset: Int
  let end: Int
  let isBigEndian: Bool

  /// The next character of `bytes`, or nil at the end; the bytes up to `end` have to be there.
  mutating func next(in bytes: [UInt8]) throws(ParseFailure) -> Unicode.Scalar? {
    guard offset + 1 < end else { return nil }
    let first = unit(in: bytes)
    if let scalar = Unicode.Scalar(first) { return scalar }
    guard first < 0xDC00, offset + 1 < end else { throw .wrongEncoding }
    let second = unit(in: bytes)
    guard let scalar = Unicode.Scalar(leading: first, trailing: second) else { throw .wrongEncoding }
    return scalar
  }

  private mutating func unit(in bytes: [UInt8]) -> UInt16 {
    let first = UInt16(bytes[offset])
    let second = UInt16(bytes[offset + 1])
    offset += 2
    return isBigEndian ? first << 8 | second : second << 8 | first
  }
}

extension Unicode.Scalar {
  /// The character of two halves, if they are the two halves of one.
  init?(leading: UInt16, trailing: UInt16) {
    guard 0xD800..<0xDC00 ~= leading, 0xDC00..<0xE000 ~= trailing else { return nil }
    self.init(0x10000 + (UInt32(leading) - 0xD800) << 10 + (UInt32(trailing) - 0xDC00))
  }
}

extension UInt8 {
  /// Blanks of ASCII, line ends among them.
  var isBlank: Bool { self == 0x20 || 0x09...0x0D ~= self }

  var isDigit: Bool { 0x30...0x39 ~= self }

  var isLetter: Bool { 0x41...0x5A ~= self || 0x61...0x7A ~= self }

  var hexadecimalValue: UInt32? {
    switch self {
    case 0x30...0x39: UInt32(self) - 0x30
    case 0x41...0x46: UInt32(self) - 0x41 + 10
    case 0x61...0x66: UInt32(self) - 0x61 + 10
    default: nil
    }
  }
}
