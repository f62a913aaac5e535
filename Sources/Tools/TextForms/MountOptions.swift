// The text after `-o`: words with commas between them, where a backslash protects what follows it.

/// One option of a mount.
package struct MountOption: Equatable, Sendable {
  /// As it was written, backslashes included.
  package let written: [UInt8]
  package let name: String
  /// What follows the first `=`, as it was written.
  package let value: [UInt8]?

  package init(_ written: [UInt8]) {
    let parts = written.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
    self.written = written
    name = String(decoding: parts.first ?? [], as: UTF8.self)
    value = parts.count == 2 ? Array(parts[1]) : nil
  }

  /// The name in a sentence, which is one line whatever was written.
  package var shownName: String {
    PathText.escaped(Array(written.prefix { $0 != UInt8(ascii: "=") }))
  }

  /// Splits the text after `-o`; empty words are left out.
  package static func list(_ text: [UInt8]) -> [MountOption] {
    split(text, at: UInt8(ascii: ",")).filter { !$0.isEmpty }.map { MountOption($0) }
  }

  /// The text of a list of options.
  package static func text(_ options: [MountOption]) -> [UInt8] {
    Array(options.map(\.written).joined(separator: [UInt8(ascii: ",")]))
  }

  /// The pieces of `text` between separators that no backslash protects, as they were written.
  package static func split(_ text: [UInt8], at separator: UInt8) -> [[UInt8]] {
    var pieces: [[UInt8]] = [[]]
    var isProtected = false
    for byte in text {
      if byte == separator, !isProtected {
        pieces.append([])
        continue
      }
      pieces[pieces.count - 1].append(byte)
      isProtected = byte == UInt8(ascii: "\\") && !isProtected
    }
    return pieces
  }

  /// The text without the backslashes that protect something.
  package static func unescaped(_ text: [UInt8]) -> [UInt8] {
    var result: [UInt8] = []
    var isProtected = false
    for byte in text {
      isProtected = byte == UInt8(ascii: "\\") && !isProtected
      if !isProtected { result.append(byte) }
    }
    // A backslash at the end protects nothing.
    return isProtected ? result + [UInt8(ascii: "\\")] : result
  }
}
