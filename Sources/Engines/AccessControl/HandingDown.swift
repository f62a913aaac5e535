// What the administration tool and a volume say to each other when a directory's list is handed down to many
// files in it: one question for hundreds of names, instead of three questions for each.

/// What has become of one name.
package enum HandedDown: UInt8, Sendable {
  /// The list is what it should be.
  case unchanged = 0
  case changed = 1
  /// The file asks to be left alone.
  case blocked = 2
  /// Nothing was done, for a reason that only a question about this name alone tells.
  case aside = 3
}

/// The names of one question.
///
/// The bytes are a number of names (32 bits, little-endian), and then the names, each with a NUL behind it. The answer
/// stands in the same room: one ``HandedDown`` a name, in their order.
package struct HandingDown {
  /// `_IOWR('V', 1, char[16376])`: an ioctl of a directory carries less than 16 KiB.
  package static let control: UInt32 = 3 << 30 | UInt32(room) << 16 | UInt32(UInt8(ascii: "V")) << 8 | 1
  package static let room = 16_376
  private static let headerSize = 4

  /// Always ``room`` bytes.
  package private(set) var bytes: [UInt8]
  package private(set) var count = 0
  private var end = headerSize

  package init() {
    bytes = Array(repeating: 0, count: HandingDown.room)
  }

  /// Adds a name; false if there is no room for it.
  package mutating func add(_ name: [UInt8]) -> Bool {
    guard end + name.count < HandingDown.room else { return false }
    for byte in name {
      bytes[end] = byte
      end += 1
    }
    end += 1
    count += 1
    for position in 0..<HandingDown.headerSize {
      bytes[position] = UInt8(truncatingIfNeeded: count >> (8 * position))
    }
    return true
  }

  /// The names in bytes that somebody sent; nil if they are no such question.
  package static func names(in bytes: Span<UInt8>) -> [[UInt8]]? {
    guard bytes.count > headerSize else { return nil }
    var count = 0
    for position in 0..<headerSize { count |= Int(bytes[position]) << (8 * position) }
    // Each name takes two bytes at least.
    guard count <= (bytes.count - headerSize) / 2 else { return nil }
    var names: [[UInt8]] = []
    names.reserveCapacity(count)
    var offset = headerSize
    for _ in 0..<count {
      var name: [UInt8] = []
      while offset < bytes.count, bytes[offset] != 0 {
        name.append(bytes[offset])
        offset += 1
      }
      guard offset < bytes.count else { return nil }
      offset += 1
      names.append(name)
    }
    return names
  }

  /// What an answer says of `count` names; nil if it is none.
  package static func outcomes(_ answer: [UInt8], of count: Int) -> [HandedDown]? {
    guard answer.count >= count else { return nil }
    var outcomes: [HandedDown] = []
    for byte in answer.prefix(count) {
      guard let outcome = HandedDown(rawValue: byte) else { return nil }
      outcomes.append(outcome)
    }
    return outcomes
  }
}
