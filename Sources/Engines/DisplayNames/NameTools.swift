// What the rules need and do not do themselves.

package typealias NameDigest = InlineArray<32, UInt8>

/// Normalisation and digest come from outside: they are library work.
package struct NameTools: Sendable {
  /// Appends the NFC of a text in UTF-8.
  package typealias Normaliser = @Sendable (Span<UInt8>, inout [UInt8]) -> Void
  /// SHA-256; nil where there is none to be had, and then a name that needs it is shown as it is.
  package typealias Digester = @Sendable (Span<UInt8>) -> NameDigest?

  let normalise: Normaliser
  let digest: Digester

  package init(normalise: @escaping Normaliser, digest: @escaping Digester) {
    self.normalise = normalise
    self.digest = digest
  }

  /// The NFC of a text, without asking where that is the text itself.
  func normalised(_ text: some Collection<UInt8>) -> [UInt8] {
    let bytes = Array(text)
    guard !NameTools.isNormal(bytes.span) else { return bytes }
    var result: [UInt8] = []
    normalise(bytes.span, &result)
    return result
  }

  /// Certainly in NFC; others may be, too.
  private static func isNormal(_ text: Span<UInt8>) -> Bool {
    var index = 0
    while index < text.count {
      guard let (code, length) = character(in: text, at: index, end: text.count) else { return true }
      guard code < 0x300 || code.isPlain else { return false }
      index += length
    }
    return true
  }
}
