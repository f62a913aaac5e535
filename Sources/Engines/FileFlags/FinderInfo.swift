// `com.apple.FinderInfo`: thirty-two bytes of which one bit says what the flag `hidden` says.

/// What the Finder keeps about an item.
///
/// The invisible bit is not kept: the flag is the truth, and both ways to look at it show the same.
package struct FinderInfo: Hashable, Sendable {
  package static let size = 32

  // Big-endian flags stand at offset 8, in files and folders alike; 0x4000 of them is "invisible".
  private static let flagsOffset = 8
  private static let invisible: UInt8 = 0x40

  /// What is stored: everything but the invisible bit.
  package private(set) var rest: [UInt8]
  package var isInvisible: Bool

  /// Reads what a program sets; `nil` unless it has the right length.
  package init?(_ bytes: [UInt8]) {
    guard bytes.count == FinderInfo.size else { return nil }
    rest = bytes
    isInvisible = bytes[FinderInfo.flagsOffset] & FinderInfo.invisible != 0
    rest[FinderInfo.flagsOffset] &= ~FinderInfo.invisible
  }

  /// What is stored of an item, if anything, and its flags.
  ///
  /// A value that is stored and has another length was put there by other means; it counts as none.
  package init(stored: [UInt8]?, flags: FileFlags) {
    self = stored.flatMap { FinderInfo($0) } ?? FinderInfo()
    isInvisible = flags.contains(.hidden)
  }

  private init() {
    rest = [UInt8](repeating: 0, count: FinderInfo.size)
    isInvisible = false
  }

  /// What programs read; nothing but zeros is the same as no attribute.
  package var bytes: [UInt8] {
    var bytes = rest
    if isInvisible { bytes[FinderInfo.flagsOffset] |= FinderInfo.invisible }
    return bytes
  }

  package var isEmpty: Bool { !isInvisible && isRestEmpty }

  package var isRestEmpty: Bool { rest.allSatisfy { $0 == 0 } }

  /// The flags of an item with this information.
  package func applied(to flags: FileFlags) -> FileFlags {
    isInvisible ? flags.union(.hidden) : flags.subtracting(.hidden)
  }
}
