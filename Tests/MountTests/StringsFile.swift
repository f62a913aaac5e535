// Strings files and property lists, in every form and encoding that is read.

enum StringsFile {
  /// How many forms there are.
  static let forms = 9

  /// The bytes of a file with these pairs; `form` is any number.
  static func bytes(_ pairs: [String: String], form: Int = 0) -> [UInt8] {
    let old = old(pairs)
    switch form % forms {
    case 1: return [0xEF, 0xBB, 0xBF] + Array(old.utf8)
    case 2: return [0xFF, 0xFE] + littleEndian(old)
    case 3: return [0xFE, 0xFF] + bigEndian(old)
    case 4: return littleEndian(old)
    case 5: return bigEndian(old)
    case 6: return Array(xml(pairs).utf8)
    case 7: return [0xFE, 0xFF] + bigEndian(xml(pairs))
    case 8: return binary(pairs)
    default: return Array(old.utf8)
    }
  }

  private static func old(_ pairs: [String: String]) -> String {
    func quoted(_ text: String) -> String {
      "\"" + text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"") + "\""
    }
    return pairs.map { "\(quoted($0)) = \(quoted($1));\n" }.joined()
  }

  private static func xml(_ pairs: [String: String]) -> String {
    func escaped(_ text: String) -> String { text.replacing("&", with: "&amp;").replacing("<", with: "&lt;") }
    let elements = pairs.map { "<key>\(escaped($0))</key><string>\(escaped($1))</string>\n" }
    return "<?xml version=\"1.0\"?>\n<plist version=\"1.0\"><dict>\n\(elements.joined())</dict></plist>\n"
  }

  private static func bigEndian(_ text: String) -> [UInt8] {
    text.utf16.flatMap { [UInt8(truncatingIfNeeded: $0 >> 8), UInt8(truncatingIfNeeded: $0)] }
  }

  private static func littleEndian(_ text: String) -> [UInt8] {
    text.utf16.flatMap { [UInt8(truncatingIfNeeded: $0), UInt8(truncatingIfNeeded: $0 >> 8)] }
  }

  /// At most 14 pairs, of texts of at most 255 units.
  private static func binary(_ pairs: [String: String]) -> [UInt8] {
    func object(_ text: String) -> [UInt8] {
      let count = UInt8(clamping: text.utf16.count)
      return (count < 15 ? [0x60 | count] : [0x6F, 0x10, count]) + bigEndian(text)
    }
    func number(_ value: Int, _ bytes: Int) -> [UInt8] {
      (0..<bytes).reversed().map { UInt8(truncatingIfNeeded: value >> ($0 * 8)) }
    }
    let texts = pairs.map(\.key) + pairs.map(\.value)
    var file = Array("bplist00".utf8)
    var offsets = [file.count]
    file.append(0xD0 | UInt8(clamping: pairs.count))
    file += (1...max(texts.count, 1)).prefix(texts.count).map { UInt8(clamping: $0) }
    for text in texts {
      offsets.append(file.count)
      file += object(text)
    }
    let table = file.count
    for offset in offsets { file += number(offset, 2) }
    // Six bytes that say nothing, the widths of an offset and of a reference, how many objects, which is the top, the table.
    return file + [0, 0, 0, 0, 0, 0, 2, 1] + number(offsets.count, 8) + number(0, 8) + number(table, 8)
  }
}
