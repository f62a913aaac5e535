// Paths in the file `volume`, which is UTF-8 text of lines whose ends are trimmed.

/// A path as text, and back: any bytes, no line break, no blank at an end.
package enum StoredPath {
  /// Escaped are `\`, `:`, control characters, blanks at an end and whatever is not UTF-8.
  package static func text(of path: [UInt8]) -> String {
    var text: [UInt8] = []
    var index = 0
    while index < path.count {
      let byte = path[index]
      let isAtEnd = index == 0 || index == path.count - 1
      switch byte {
      case backslash, colon: text += [backslash, byte]
      case newline: text += [backslash, UInt8(ascii: "n")]
      case 0x21..<0x7F: text.append(byte)
      case blank where !isAtEnd: text.append(byte)
      default:
        // A whole letter of several bytes, or one byte that is none. At the beginning a letter could join with the
        // blank before it.
        let length = letterLength(path[index...])
        if length > 1, index > 0 {
          text += path[index..<index + length]
          index += length
          continue
        }
        text += escaped(byte)
      }
      index += 1
    }
    return String(decoding: text, as: UTF8.self)
  }

  /// Nil for what is not one path.
  package static func path(of text: String) -> [UInt8]? {
    guard let paths = paths(of: text), paths.count == 1 else { return nil }
    return paths[0]
  }

  /// Several of them, with colons in between.
  package static func text(ofAll paths: [[UInt8]]) -> String {
    paths.map(text).joined(separator: ":")
  }

  /// Nil where an escape is none, or a path is empty; no paths for no text.
  package static func paths(of text: String) -> [[UInt8]]? {
    if text.isEmpty { return [] }
    guard let fields = split(Array(text.utf8)), !fields.contains(where: \.isEmpty) else { return nil }
    return fields
  }

  private static func split(_ text: [UInt8]) -> [[UInt8]]? {
    var fields: [[UInt8]] = [[]]
    var index = 0
    while index < text.count {
      let byte = text[index]
      index += 1
      guard byte == backslash else {
        if byte == colon { fields.append([]) } else { fields[fields.count - 1].append(byte) }
        continue
      }
      guard index < text.count else { return nil }
      let escape = text[index]
      index += 1
      switch escape {
      case backslash, colon: fields[fields.count - 1].append(escape)
      case UInt8(ascii: "n"): fields[fields.count - 1].append(newline)
      case UInt8(ascii: "x"):
        guard index + 1 < text.count, let high = digit(text[index]), let low = digit(text[index + 1])
        else { return nil }
        fields[fields.count - 1].append(high << 4 | low)
        index += 2
      default: return nil
      }
    }
    return fields
  }

  private static func escaped(_ byte: UInt8) -> [UInt8] {
    let digits = Array("0123456789abcdef".utf8)
    return [backslash, UInt8(ascii: "x"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
  }

  private static func digit(_ byte: UInt8) -> UInt8? {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
    default: nil
    }
  }

  /// How many bytes the letter at the beginning has; 1 for a byte that is no letter, or one that ends lines elsewhere.
  private static func letterLength(_ bytes: ArraySlice<UInt8>) -> Int {
    for length in 2...4 where bytes.count >= length {
      let letter = bytes.prefix(length)
      guard let text = String(validating: letter, as: UTF8.self), text.unicodeScalars.count == 1,
        let scalar = text.unicodeScalars.first
      else { continue }
      return scalar.properties.isWhitespace || scalar.value < 0xA0 ? 1 : length
    }
    return 1
  }

  private static let backslash = UInt8(ascii: "\\")
  private static let colon = UInt8(ascii: ":")
  private static let newline = UInt8(ascii: "\n")
  private static let blank = UInt8(ascii: " ")
}
