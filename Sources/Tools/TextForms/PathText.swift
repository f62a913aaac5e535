// File names as text: any bytes go in, one line comes out, and the same bytes come back.

/// Writing names down, for files that are read again and for terminals.
package enum PathText {
  /// The bytes with everything that could break a line, steer a terminal or hide written as `\ooo`.
  ///
  /// What is UTF-8 and can be seen stays as it is; a blank at either end is written out, too.
  package static func escaped(_ bytes: [UInt8]) -> String {
    if bytes.allSatisfy({ isPlain($0) }), bytes.first != blank, bytes.last != blank {
      return String(decoding: bytes, as: UTF8.self)
    }
    var text = ""
    var position = 0
    while position < bytes.count {
      let byte = bytes[position]
      let isAtEdge = position == 0 || position == bytes.count - 1
      if isPlain(byte), !(byte == blank && isAtEdge) {
        text.unicodeScalars.append(Unicode.Scalar(byte))
        position += 1
      } else if let scalar = scalar(bytes, at: position), isVisible(scalar) {
        text.unicodeScalars.append(scalar)
        position += UTF8.width(scalar)
      } else {
        text += "\\" + digits(byte, radix: 8, width: 3)
        position += 1
      }
    }
    return text
  }

  /// The bytes an escaped name stands for; nil if a backslash is followed by anything but three octal digits.
  package static func bytes<Text: Collection<UInt8>>(_ text: Text) -> [UInt8]? {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(text.count)
    var rest = text[...]
    while let byte = rest.popFirst() {
      guard byte == backslash else {
        bytes.append(byte)
        continue
      }
      var value = 0
      for _ in 0..<3 {
        guard let digit = rest.popFirst(), (UInt8(ascii: "0")...UInt8(ascii: "7")).contains(digit) else {
          return nil
        }
        value = value * 8 + Int(digit - UInt8(ascii: "0"))
      }
      guard let byte = UInt8(exactly: value), byte != 0 else { return nil }
      bytes.append(byte)
    }
    return bytes
  }

  /// The bytes for a terminal: what could steer it becomes a question mark.
  ///
  /// Also the control characters above ASCII (C1), as one byte or as UTF-8: many terminals obey both.
  package static func forTerminal(_ bytes: [UInt8], keepingNewlines: Bool = false) -> [UInt8] {
    if bytes.allSatisfy({ $0 >= 0x20 && $0 < 0x7F }) { return bytes }
    var shown: [UInt8] = []
    shown.reserveCapacity(bytes.count)
    var position = 0
    while position < bytes.count {
      let byte = bytes[position]
      if byte >= 0xC0, let scalar = scalar(bytes, at: position) {
        let width = UTF8.width(scalar)
        if isVisible(scalar) {
          shown += bytes[position..<position + width]
        } else {
          shown.append(UInt8(ascii: "?"))
        }
        position += width
        continue
      }
      let isSteering = byte < 0x20 || byte == 0x7F || (0x80..<0xA0).contains(byte)
      shown.append(isSteering && !(keepingNewlines && byte == 0x0A) ? UInt8(ascii: "?") : byte)
      position += 1
    }
    return shown
  }

  /// The bytes as one word of a shell, which a person can copy.
  package static func shellWord(_ bytes: [UInt8]) -> String {
    let quote = UInt8(ascii: "'")
    let isBare =
      !bytes.isEmpty
      && bytes.allSatisfy { byte in
        isPlain(byte)
          && (byte >= UInt8(ascii: "a") || "+,-./0123456789:=@_%#".utf8.contains(byte)
            || (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte))
          && !"{|}~`".utf8.contains(byte)
      }
    if isBare { return String(decoding: bytes, as: UTF8.self) }
    let text = escaped(bytes)
    // What has to be written out only `$'...'` can say.
    if Array(text.utf8) == bytes, !bytes.contains(quote) { return "'\(text)'" }
    return "$'"
      + bytes.map {
        $0 == quote || $0 == backslash || !isPlain($0)
          ? "\\" + digits($0, radix: 8, width: 3) : String(UnicodeScalar($0))
      }.joined() + "'"
  }

  private static let backslash = UInt8(ascii: "\\")
  private static let blank = UInt8(ascii: " ")

  private static func isPlain(_ byte: UInt8) -> Bool { byte >= 0x20 && byte < 0x7F && byte != backslash }

  /// Whether a character shows as itself; those that change the direction of writing do not.
  private static func isVisible(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0..<0x20, 0x7F..<0xA0, 0x061C, 0x200E, 0x200F, 0x2028...0x202E, 0x2066...0x2069, 0xFEFF: false
    default: true
    }
  }

  /// The character that begins here, if the bytes are UTF-8.
  private static func scalar(_ bytes: [UInt8], at position: Int) -> Unicode.Scalar? {
    let first = bytes[position]
    guard first >= 0xC2, first < 0xF5 else { return nil }
    let width = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4
    guard position + width <= bytes.count else { return nil }
    let piece = bytes[position..<position + width]
    guard let text = String(validating: piece, as: UTF8.self) else { return nil }
    return text.unicodeScalars.first
  }
}

extension UTF8 {
  fileprivate static func width(_ scalar: Unicode.Scalar) -> Int { UTF8.encode(scalar)?.count ?? 1 }
}
