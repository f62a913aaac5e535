// What of a name is an extension, and how extensions are compared.

/// An extension with ASCII letters in lower case, in a form that is compared without memory of its own.
package struct FileExtension: Hashable, Sendable {
  /// The longest extension that counts as one, in bytes.
  package static let limit = 32

  // Eight bytes each, NUL behind the end.
  private var first: UInt64 = 0
  private var second: UInt64 = 0
  private var third: UInt64 = 0
  private var fourth: UInt64 = 0

  /// The bytes of a range; nil if they cannot be an extension.
  @inline(__always)
  package init?(_ bytes: Span<UInt8>, in range: Range<Int>) {
    guard 1...FileExtension.limit ~= range.count, range.lowerBound >= 0, range.upperBound <= bytes.count
    else {
      return nil
    }
    for (offset, index) in range.enumerated() {
      let byte = bytes[index]
      guard byte.isExtensionPart else { return nil }
      let lower = UInt64(0x41...0x5A ~= byte ? byte | 0x20 : byte) << (UInt64(offset & 7) * 8)
      switch offset >> 3 {
      case 0: first |= lower
      case 1: second |= lower
      case 2: third |= lower
      default: fourth |= lower
      }
    }
  }

  package init?(_ text: String) {
    let bytes = Array(text.utf8)
    self.init(bytes.span, in: bytes.indices)
  }

  /// Where the dot of the extension of a name is; nil if it has none.
  ///
  /// The dot is not the first byte, and something other than dots and spaces stands in front of it.
  @inline(__always)
  package static func dot(in name: Span<UInt8>) -> Int? {
    var index = name.count
    while index > 0, name.count - index <= limit {
      index -= 1
      let byte = name[index]
      if byte == UInt8(ascii: ".") {
        guard index + 1 < name.count, index > 0 else { return nil }
        return hasStem(name, before: index) ? index : nil
      }
      guard byte.isExtensionPart else { return nil }
    }
    return nil
  }

  private static func hasStem(_ name: Span<UInt8>, before dot: Int) -> Bool {
    for index in 0..<dot where name[index] != UInt8(ascii: ".") && name[index] != 0x20 { return true }
    return false
  }
}

extension UInt8 {
  @inline(__always)
  fileprivate var isExtensionPart: Bool {
    switch self {
    case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x5F, 0x2B, 0x2D: true
    default: false
    }
  }
}
