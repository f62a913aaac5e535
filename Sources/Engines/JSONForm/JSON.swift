// JSON, small: what `--json` prints, what is said over the control socket, the status file and the audit log.

/// A JSON value; objects keep the order of their members.
package indirect enum JSON: Equatable, Sendable {
  package struct Member: Equatable, Sendable {
    package let name: String
    package let value: JSON

    package init(_ name: String, _ value: JSON) {
      self.name = name
      self.value = value
    }
  }

  case null
  case bool(Bool)
  /// A number, in the digits it was written with: no size is lost to rounding.
  case number(String)
  case string(String)
  case array([JSON])
  case object([Member])

  package static func number(_ value: some BinaryInteger) -> JSON {
    .number("\(value)")
  }

  /// The value of a member.
  package subscript(_ name: String) -> JSON? {
    guard case .object(let members) = self else { return nil }
    return members.first { $0.name == name }?.value
  }

  package var string: String? {
    if case .string(let text) = self { text } else { nil }
  }

  package var integer: Int? {
    if case .number(let digits) = self { Int(digits) } else { nil }
  }

  /// The value on one line, for people as well.
  package var text: String { line(blank: " ") }

  /// The value on one line without a blank, for programs.
  package var compactText: String { line(blank: "") }

  private func line(blank: String) -> String {
    switch self {
    case .null: "null"
    case .bool(let value): value ? "true" : "false"
    case .number(let digits): digits
    case .string(let text): JSON.quoted(text)
    case .array(let values): "[" + values.map { $0.line(blank: blank) }.joined(separator: "," + blank) + "]"
    case .object(let members):
      "{"
        + members.map { JSON.quoted($0.name) + ":" + blank + $0.value.line(blank: blank) }
        .joined(separator: "," + blank) + "}"
    }
  }

  /// The value with one member or element a line.
  package func indentedText(_ depth: Int = 0) -> String {
    let outer = String(repeating: "  ", count: depth)
    let inner = outer + "  "
    switch self {
    case .array(let values) where !values.isEmpty:
      let lines = values.map { inner + $0.indentedText(depth + 1) }
      return "[\n" + lines.joined(separator: ",\n") + "\n\(outer)]"
    case .object(let members) where !members.isEmpty:
      let lines = members.map { inner + JSON.quoted($0.name) + ": " + $0.value.indentedText(depth + 1) }
      return "{\n" + lines.joined(separator: ",\n") + "\n\(outer)}"
    default: return text
    }
  }

  private static func quoted(_ text: String) -> String {
    var result = "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"": result += "\\\""
      case "\\": result += "\\\\"
      case "\n": result += "\\n"
      case "\t": result += "\\t"
      // A reader gets the same text; what shows the line is not steered, nor made to write backwards.
      case "\u{0}"..."\u{1F}", "\u{7F}"..."\u{9F}", "\u{61C}", "\u{200E}", "\u{200F}",
        "\u{2028}"..."\u{202E}", "\u{2066}"..."\u{2069}":
        let digits = String(scalar.value, radix: 16)
        result += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result + "\""
  }
}

extension JSON {
  /// The members that name a file: its name as text and, if that is not faithful, its bytes in hexadecimal.
  package static func nameMembers(_ key: String, _ bytes: [UInt8]) -> [Member] {
    let text = String(decoding: bytes, as: UTF8.self)
    guard !text.utf8.elementsEqual(bytes) else { return [Member(key, .string(text))] }
    return [Member(key, .string(text)), Member(key + "Bytes", .string(hexadecimal(bytes)))]
  }

  /// The same for a list of words; the bytes are those of all words, in their order.
  package static func nameListMembers(_ key: String, _ list: [[UInt8]]) -> [Member] {
    let texts = list.map { String(decoding: $0, as: UTF8.self) }
    let member = Member(key, .array(texts.map { .string($0) }))
    guard zip(texts, list).contains(where: { !$0.utf8.elementsEqual($1) }) else { return [member] }
    return [member, Member(key + "Bytes", .array(list.map { .string(hexadecimal($0)) }))]
  }

  /// Bytes as text: two digits for each.
  package static func hexadecimal(_ bytes: [UInt8]) -> String {
    bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  }

  /// The bytes of a file's name from the members that `nameMembers` made; nil if that name does not exist.
  package func nameBytes(_ key: String) -> [UInt8]? {
    guard let digits = self[key + "Bytes"] else { return self[key]?.string.map { Array($0.utf8) } }
    return digits.hexadecimalBytes
  }

  /// The words of a list from the members that `nameListMembers` made; nil if there is no such list.
  package func nameListBytes(_ key: String) -> [[UInt8]]? {
    guard case .array(let words)? = self[key + "Bytes"] else {
      guard case .array(let words)? = self[key] else { return nil }
      return words.compactMap { $0.string.map { Array($0.utf8) } }
    }
    return words.compactMap { $0.hexadecimalBytes }
  }

  /// The bytes of a text that `hexadecimal` made.
  package var hexadecimalBytes: [UInt8]? {
    guard let digits = string.map({ Array($0.utf8) }), digits.count % 2 == 0 else { return nil }
    var bytes: [UInt8] = []
    for place in stride(from: 0, to: digits.count, by: 2) {
      guard let high = Character(Unicode.Scalar(digits[place])).hexDigitValue,
        let low = Character(Unicode.Scalar(digits[place + 1])).hexDigitValue
      else { return nil }
      bytes.append(UInt8(high << 4 | low))
    }
    return bytes
  }
}
