// What an entry of `index/` is called: the object of a lower that it stands for.

package import RecordFormat

/// `TAG-INODE-GENERATION` in lower-case hexadecimal digits without leading zeros.
package struct IndexName: Hashable, Sendable {
  // On disk since format 1.
  package var tag: UInt32
  package var inode: UInt64
  package var generation: UInt32

  package init(tag: UInt32, inode: UInt64, generation: UInt32) {
    self.tag = tag
    self.inode = inode
    self.generation = generation
  }

  /// Of the object that a record names as the origin.
  package init(_ origin: CoreRecord.Origin) {
    self.init(tag: origin.fileSystemTag, inode: origin.inode, generation: origin.generation)
  }

  package var bytes: [UInt8] {
    Array(
      "\(String(tag, radix: 16))-\(String(inode, radix: 16))-\(String(generation, radix: 16))".utf8)
  }

  /// Nil for every other spelling: one object has one entry.
  package init?(_ bytes: Span<UInt8>) {
    let dash = UInt8(ascii: "-")
    var words = WordCursor()
    guard let tag = words.hexadecimal(UInt32.self, of: bytes, until: dash),
      let inode = words.hexadecimal(UInt64.self, of: bytes, until: dash),
      let generation = words.hexadecimal(UInt32.self, of: bytes, until: nil)
    else { return nil }
    self.init(tag: tag, inode: inode, generation: generation)
  }
}

/// Takes numbers from a text, in the one spelling each of them has.
struct WordCursor {
  var position = 0

  /// The number that ends at the next `end`, or with the text.
  mutating func hexadecimal<Number: FixedWidthInteger & UnsignedInteger>(
    _: Number.Type, of bytes: Span<UInt8>, until end: UInt8?
  ) -> Number? {
    var number: Number = 0
    let start = position
    while position < bytes.count, bytes[position] != end {
      let digit: UInt8
      switch bytes[position] {
      case UInt8(ascii: "0")...UInt8(ascii: "9"): digit = bytes[position] - UInt8(ascii: "0")
      case UInt8(ascii: "a")...UInt8(ascii: "f"): digit = bytes[position] - UInt8(ascii: "a") + 10
      default: return nil
      }
      // No more digits than the type has, and none behind a leading zero.
      guard position - start < Number.bitWidth / 4, position == start || number != 0 else { return nil }
      number = number << 4 | Number(digit)
      position += 1
    }
    guard position > start else { return nil }
    if end != nil {
      guard position < bytes.count else { return nil }
      position += 1
    }
    return number
  }
}
