// The marks of overlayfs, which are also ours.

/// Names and values of the marks, behind `trusted.` or `user.`.
package enum Marks {
  package static let opaque = "overlay.opaque"
  package static let redirect = "overlay.redirect"
  package static let metacopy = "overlay.metacopy"
  /// What closes a directory.
  package static let opaqueValue = UInt8(ascii: "y")

  /// What the mark `opaque` says; nil where it says something that we cannot follow.
  ///
  /// `x` speaks of whiteouts in another form, which would show as files.
  package static func isClosed(byMark value: Span<UInt8>?) -> Bool? {
    guard let value else { return false }
    return value.count == 1 && value[0] == opaqueValue ? true : nil
  }

  /// Whether an attribute belongs to overlayfs, and so to the volume.
  ///
  /// Only these prefixes with their dots: `user.overlayfs` is a user's.
  package static func isReserved(_ attribute: Span<UInt8>) -> Bool {
    starts(attribute, with: "trusted.overlay.") || starts(attribute, with: "user.overlay.")
  }

  /// Whether a file has to be asked for `overlay.metacopy` before it is opened.
  ///
  /// A file whose data lies in another layer has none of its own.
  package static func mayBeHollow(size: UInt64, blocksOf512: UInt64) -> Bool {
    blocksOf512 < size / 512 + (size % 512 == 0 ? 0 : 1)
  }

  private static func starts(_ bytes: Span<UInt8>, with prefix: String) -> Bool {
    guard prefix.utf8.count <= bytes.count else { return false }
    var index = 0
    for byte in prefix.utf8 {
      guard bytes[index] == byte else { return false }
      index += 1
    }
    return true
  }
}
