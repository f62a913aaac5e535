import Foundation
import PropertyLists
import Randomness

/// `LONG=1` runs as many rounds as somebody can wait for.
func many(_ few: Int, _ all: Int) -> Int { ProcessInfo.processInfo.environment["LONG"] == "1" ? all : few }

/// What a reader found, in a form that can be compared.
struct Found: Equatable, CustomStringConvertible {
  var pairs: [[String]]

  init(_ table: StringTable) {
    pairs = (0..<table.count).map {
      [
        String(decoding: table.key(at: $0), as: UTF8.self),
        String(decoding: table.value(at: $0), as: UTF8.self),
      ]
    }
  }

  init(_ pairs: [[String]]) { self.pairs = pairs }

  var description: String { pairs.description }

  /// Without the order, which binary lists and dictionaries do not keep.
  var sorted: Found {
    Found(pairs.sorted { $0.map { Array($0.utf8) }.lexicographicallyPrecedes($1.map { Array($0.utf8) }) })
  }
}

extension [UInt8] {
  fileprivate static func < (left: [UInt8], right: [UInt8]) -> Bool { left.lexicographicallyPrecedes(right) }
}

extension [[UInt8]] {
  fileprivate func lexicographicallyPrecedes(_ other: [[UInt8]]) -> Bool {
    lexicographicallyPrecedes(other) { $0 < $1 }
  }
}

/// The pairs of a file, or why it has none.
func read(_ bytes: [UInt8], _ limits: PropertyListLimits = .strings) -> Result<Found, ParseFailure> {
  do throws(ParseFailure) {
    return .success(Found(try PropertyList.strings(in: bytes, within: limits)))
  } catch {
    return .failure(error)
  }
}

func read(_ text: String, _ limits: PropertyListLimits = .strings) -> Result<Found, ParseFailure> {
  read(Array(text.utf8), limits)
}

func utf16(_ text: String, bigEndian: Bool, mark: Bool) -> [UInt8] {
  let units = (mark ? [0xFEFF] : []) + Array(text.utf16)
  return units.flatMap { unit in
    let bytes = [UInt8(unit >> 8), UInt8(unit & 0xFF)]
    return bigEndian ? bytes : bytes.reversed()
  }
}

extension Dice {
  /// Text of all kinds of characters that XML can carry as well.
  mutating func text() -> String {
    let samples = [
      "a", "B", "7", " ", ".", "é", "ß", "\\", "\"", "'", "<", "&", ">", "]]>", "Ω", "я", "名", "가", "😀",
      "e\u{301}",
      "\u{200D}", "\u{2028}", "\u{A0}", "=", ";", "/", "//", "/*", "\n", "\t", "{", "}",
    ]
    return (0..<below(12)).map { _ in pick(samples) }.joined()
  }
}
