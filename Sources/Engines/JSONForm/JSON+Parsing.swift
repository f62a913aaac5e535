// Reading JSON.

extension JSON {
  /// Reads a complete text; nil if it is not JSON, or nested deeper than anybody means to.
  package init?(_ text: [UInt8]) {
    var reader = Reader(text: text)
    guard let value = reader.value(depth: 0) else { return nil }
    reader.skipBlanks()
    guard reader.position == text.count else { return nil }
    self = value
  }

  private struct Reader {
    let text: [UInt8]
    var position = 0

    private var next: UInt8? { position < text.count ? text[position] : nil }

    mutating func skipBlanks() {
      while let byte = next, [0x20, 0x09, 0x0A, 0x0D].contains(byte) { position += 1 }
    }

    private mutating func take(_ character: Unicode.Scalar) -> Bool {
      skipBlanks()
      guard let next, UInt32(next) == character.value else { return false }
      position += 1
      return true
    }

    private mutating func take(word: String) -> Bool {
      guard text[position...].starts(with: word.utf8) else { return false }
      position += word.utf8.count
      return true
    }

    mutating func value(depth: Int) -> JSON? {
      skipBlanks()
      guard depth < 64, let next else { return nil }
      switch Unicode.Scalar(next) {
      case "{": return object(depth: depth)
      case "[": return array(depth: depth)
      case "\"": return string().map { .string($0) }
      case "t": return take(word: "true") ? .bool(true) : nil
      case "f": return take(word: "false") ? .bool(false) : nil
      case "n": return take(word: "null") ? .null : nil
      default: return number()
      }
    }

    private mutating func object(depth: Int) -> JSON? {
      guard take("{") else { return nil }
      var members: [Member] = []
      if take("}") { return .object(members) }
      repeat {
        skipBlanks()
        guard let name = string(), take(":"), let value = value(depth: depth + 1) else { return nil }
        members.append(Member(name, value))
      } while take(",")
      return take("}") ? .object(members) : nil
    }

    private mutating func array(depth: Int) -> JSON? {
      guard take("[") else { return nil }
      var values: [JSON] = []
      if take("]") { return .array(values) }
      repeat {
        guard let value = value(depth: depth + 1) else { return nil }
        values.append(value)
      } while take(",")
      return take("]") ? .array(values) : nil
    }

    private mutating func number() -> JSON? {
      let start = position
      while let byte = next, byte.isNumberPart { position += 1 }
      let digits = String(decoding: text[start..<position], as: UTF8.self)
      return Double(digits) == nil ? nil : .number(digits)
    }

    private mutating func string() -> String? {
      guard take("\"") else { return nil }
      var bytes: [UInt8] = []
      while let byte = next {
        position += 1
        switch Unicode.Scalar(byte) {
        case "\"": return String(decoding: bytes, as: UTF8.self)
        case "\\":
          guard let scalar = escaped() else { return nil }
          bytes += String(Character(scalar)).utf8
        default:
          guard byte >= 0x20 else { return nil }
          bytes.append(byte)
        }
      }
      return nil
    }

    private mutating func escaped() -> Unicode.Scalar? {
      guard let letter = next else { return nil }
      position += 1
      switch Unicode.Scalar(letter) {
      case "\"", "\\", "/": return Unicode.Scalar(letter)
      case "b": return "\u{8}"
      case "f": return "\u{C}"
      case "n": return "\n"
      case "r": return "\r"
      case "t": return "\t"
      case "u": return unicode()
      default: return nil
      }
    }

    /// The scalar after `\u`; what lies outside the first plane comes as two surrogates.
    private mutating func unicode() -> Unicode.Scalar? {
      guard let first = fourDigits() else { return nil }
      guard (0xD800..<0xDC00).contains(first) else { return Unicode.Scalar(first) }
      guard take(word: "\\u"), let second = fourDigits(), (0xDC00..<0xE000).contains(second) else {
        return nil
      }
      return Unicode.Scalar(0x10000 + (first - 0xD800) << 10 + (second - 0xDC00))
    }

    private mutating func fourDigits() -> UInt32? {
      guard position + 4 <= text.count else { return nil }
      let digits = text[position..<(position + 4)]
      guard digits.allSatisfy({ Character(Unicode.Scalar($0)).isHexDigit }) else { return nil }
      position += 4
      return UInt32(String(decoding: digits, as: UTF8.self), radix: 16)
    }
  }
}

extension UInt8 {
  fileprivate var isNumberPart: Bool {
    switch Unicode.Scalar(self) {
    case "0"..."9", "+", "-", ".", "e", "E": true
    default: false
    }
  }
}
