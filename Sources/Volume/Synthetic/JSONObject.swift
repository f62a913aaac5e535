// JSON as the daemon writes it.

/// JSON, written by hand: a few flat values, and no library in the daemon.
struct JSONObject: Sendable {
  private var members: [String] = []

  var text: String { "{" + members.joined(separator: ",") + "}" }

  mutating func add(_ name: String, _ value: String) { members.append("\(quoted(name)):\(quoted(value))") }
  mutating func add(_ name: String, _ value: Int) { members.append("\(quoted(name)):\(value)") }
  mutating func add(_ name: String, _ value: Bool) { members.append("\(quoted(name)):\(value)") }
  mutating func add(_ name: String, _ value: JSONObject) { members.append("\(quoted(name)):\(value.text)") }
  mutating func add(_ name: String, _ value: [String]) {
    members.append("\(quoted(name)):[\(value.map(quoted).joined(separator: ","))]")
  }
  mutating func add(_ name: String, _ value: [Int]) {
    members.append("\(quoted(name)):[\(value.map { "\($0)" }.joined(separator: ","))]")
  }
  mutating func add(_ name: String, _ value: [JSONObject]) {
    members.append("\(quoted(name)):[\(value.map(\.text).joined(separator: ","))]")
  }

  /// A name of a file: as text and, if that is not faithful, its bytes in hexadecimal beside it.
  mutating func add(_ name: String, bytes: [UInt8]) {
    let text = String(decoding: bytes, as: UTF8.self)
    add(name, text)
    guard !text.utf8.elementsEqual(bytes) else { return }
    add(name + "Bytes", bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined())
  }

  private func quoted(_ text: String) -> String {
    var result = "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"": result += "\\\""
      case "\\": result += "\\\\"
      case _ where scalar.value < 0x20 || (0x7F..<0xA0).contains(scalar.value):
        let hex = String(scalar.value, radix: 16)
        result += "\\u" + String(repeating: "0", count: 4 - hex.count) + hex
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result + "\""
  }
}
