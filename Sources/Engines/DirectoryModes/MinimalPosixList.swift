// `system.posix_acl_access`: a mode as the three entries a POSIX access control list has at least.
//
// Copying programs write such a list in place of a chmod, also for files that never had any.

/// A mode in the bytes of a POSIX access control list, version 2.
package enum MinimalPosixList {
  /// Why bytes are no mode.
  package enum Obstacle: Error, Hashable, Sendable {
    case malformed
    /// There are entries for further users or groups, or a mask: more than a mode can say.
    case extended
  }

  // Numbers of the kernel's interface.
  private static let version: UInt32 = 2
  private static let owner: UInt32 = 0x01
  private static let group: UInt32 = 0x04
  private static let other: UInt32 = 0x20
  private static let furtherTags: Set<UInt32> = [0x02, 0x08, 0x10]
  /// The three entries are about nobody by number.
  private static let noID: UInt32 = .max

  /// A list without entries.
  package static var empty: [UInt8] {
    var bytes: [UInt8] = []
    bytes.append(version, count: 4)
    return bytes
  }

  /// The list that says what the nine permission bits of `mode` say.
  package static func encode(_ mode: Mode) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(28)
    bytes.append(version, count: 4)
    for (tag, shift) in [(owner, 6), (group, 3), (other, 0)] {
      bytes.append(tag, count: 2)
      bytes.append(UInt32(mode.bits) >> UInt32(shift) & 7, count: 2)
      bytes.append(noID, count: 4)
    }
    return bytes
  }

  /// The nine permission bits of a list; `nil` for one without any entries, which asks for nothing.
  package static func decode(_ bytes: [UInt8]) throws(Obstacle) -> UInt16? {
    guard bytes.count >= 4, bytes.count % 8 == 4, number(bytes[0..<4]) == version else { throw .malformed }
    guard bytes.count > 4 else { return nil }
    var found: [UInt32: UInt32] = [:]
    for start in stride(from: 4, to: bytes.count, by: 8) {
      let tag = number(bytes[start..<start + 2])
      let bits = number(bytes[start + 2..<start + 4])
      guard bits <= 7 else { throw .malformed }
      if furtherTags.contains(tag) { throw .extended }
      guard found.updateValue(bits, forKey: tag) == nil else { throw .malformed }
    }
    guard found.count == 3, let owner = found[owner], let group = found[group], let other = found[other]
    else { throw .malformed }
    return UInt16(owner << 6 | group << 3 | other)
  }

  private static func number(_ bytes: ArraySlice<UInt8>) -> UInt32 {
    bytes.reversed().reduce(0) { $0 << 8 | UInt32($1) }
  }
}

extension [UInt8] {
  /// The lowest `count` bytes of a number, lowest first.
  fileprivate mutating func append(_ number: UInt32, count: Int) {
    for index in 0..<count { append(UInt8(truncatingIfNeeded: number >> UInt32(index * 8))) }
  }
}
