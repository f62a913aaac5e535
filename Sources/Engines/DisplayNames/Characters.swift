// What names are made of: characters out of UTF-8, and the few properties of them that the rules ask for.

/// A character, or what stands in place of one.
typealias CharacterCode = UInt32

/// The character at `index` and its length in bytes; nil if the byte begins none.
@inline(__always)
func character(in bytes: Span<UInt8>, at index: Int, end: Int) -> (code: CharacterCode, length: Int)? {
  let first = UInt32(bytes[index])
  if first < 0x80 { return (first, 1) }
  let left = end - index
  guard first >= 0xC2, left >= 2 else { return nil }
  let second = UInt32(bytes[index + 1])
  guard second & 0xC0 == 0x80 else { return nil }
  if first < 0xE0 { return ((first & 0x1F) << 6 | second & 0x3F, 2) }
  guard left >= 3 else { return nil }
  let third = UInt32(bytes[index + 2])
  guard third & 0xC0 == 0x80 else { return nil }
  if first < 0xF0 {
    let code = (first & 0x0F) << 12 | (second & 0x3F) << 6 | third & 0x3F
    return code < 0x800 || 0xD800...0xDFFF ~= code ? nil : (code, 3)
  }
  guard left >= 4 else { return nil }
  let fourth = UInt32(bytes[index + 3])
  guard fourth & 0xC0 == 0x80 else { return nil }
  let code = (first & 0x07) << 18 | (second & 0x3F) << 12 | (third & 0x3F) << 6 | fourth & 0x3F
  return 0x10000...0x10FFFF ~= code && first < 0xF5 ? (code, 4) : nil
}

extension CharacterCode {
  /// Characters of which nothing has to be asked: visible, no marks, and the same in NFC wherever they stand.
  ///
  /// Most names are made of these.
  @inline(__always)
  var isPlain: Bool {
    switch self {
    case 0x21...0x7E, 0xA1...0xAC, 0xAE...0x2FF: true
    case 0x388...0x482, 0x48A...0x587, 0x5D0...0x5EA, 0x620...0x64A: true
    case 0x3041...0x3096, 0x30A0...0x30FF, 0x3400...0x4DBF, 0x4E00...0x9FFF, 0xAC00...0xD7A3: true
    case 0x1F300...0x1F3F3, 0x1F400...0x1F64F, 0x1F680...0x1F6D7, 0x1F900...0x1F9FF: true
    default: false
    }
  }

  private var properties: Unicode.Scalar.Properties? { Unicode.Scalar(self)?.properties }

  /// Combining marks: they are drawn over what stands in front of them.
  var isMark: Bool {
    guard self >= 0x300, !isPlain else { return false }
    return traits.contains(.mark)
  }

  /// Characters that join, part or vary their neighbours, which some scripts and emoji need.
  var isJoiner: Bool {
    switch self {
    case 0x34F, 0x61C, 0x180B...0x180D, 0x180F, 0x200C...0x200F, 0xFE00...0xFE0F, 0xE0100...0xE01EF: true
    default: false
    }
  }

  /// What nobody sees, or what changes how its neighbours are read.
  var isDeceptive: Bool {
    switch self {
    case 0...0x1F, 0x7F...0x9F, 0x2028...0x202E, 0x2066...0x2069, 0xFFF9...0xFFFB, 0xFDD0...0xFDEF:
      return true
    default: return self & 0xFFFE == 0xFFFE || traits.contains(.ignorable)
    }
  }

  /// What the properties of a character say, as far as it matters here.
  struct Traits: OptionSet {
    let rawValue: UInt8

    static let mark = Traits(rawValue: 1)
    static let ignorable = Traits(rawValue: 2)
    static let blank = Traits(rawValue: 4)
  }

  /// The traits of scripts that write with marks; made once, because to look them up takes 30 ns for each.
  private static let table: [UInt8] = (CharacterCode(0x300)..<0x3100).map { $0.lookedUp.rawValue }

  private var traits: Traits {
    guard 0x300..<0x3100 ~= self else { return lookedUp }
    return Traits(rawValue: CharacterCode.table[Int(self) - 0x300])
  }

  private var lookedUp: Traits {
    // Halves of pairs are no characters, and never get here.
    guard let properties else { return .ignorable }
    var traits: Traits = []
    switch properties.generalCategory {
    case .nonspacingMark, .spacingMark, .enclosingMark: traits.insert(.mark)
    default: break
    }
    if properties.isDefaultIgnorableCodePoint { traits.insert(.ignorable) }
    if properties.isWhitespace { traits.insert(.blank) }
    return traits
  }

  /// White space, and the Braille pattern without dots.
  var isBlank: Bool {
    if self <= 0x20 { return self == 0x20 || 0x09...0x0D ~= self }
    return !isPlain && (self == 0x2800 || traits.contains(.blank))
  }

  var isTag: Bool { 0xE0020...0xE007E ~= self }
  static let tagEnd: CharacterCode = 0xE007F
  static let blackFlag: CharacterCode = 0x1F3F4

  /// What looks like the dot in front of an extension.
  var looksLikeDot: Bool {
    switch self {
    case 0x2E, 0x2024...0x2026, 0x3002, 0xFE52, 0xFF0E, 0xFF61, 0x6D4, 0x701, 0x702, 0xA4F8, 0xA60E, 0x10A50,
      0x1D16D:
      true
    default: false
    }
  }

  var isLetterOrDigit: Bool {
    switch self {
    case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
    default: false
    }
  }

  /// What may be taken for a letter or digit of ASCII.
  var looksLatin: Bool {
    switch self {
    case 0xAA, 0xB2...0xB3, 0xB5, 0xB9...0xBA, 0xC0...0xD6, 0xD8...0xF6, 0xF8...0x2AF, 0x370...0x58F: true
    case 0x13A0...0x13FF, 0x1D00...0x1DBF, 0x1E00...0x1FFF, 0x2070...0x209C, 0x2100...0x218B: true
    case 0x2460...0x24FF, 0x2C60...0x2CFF, 0xA4D0...0xA4F7, 0xA640...0xA69F, 0xA720...0xA7FF: true
    case 0xAB30...0xABBF, 0xFF10...0xFF19, 0xFF21...0xFF3A, 0xFF41...0xFF5A: true
    case 0x10400...0x1044F, 0x1D400...0x1D7FF, 0x1F100...0x1F189: true
    default: false
    }
  }
}
