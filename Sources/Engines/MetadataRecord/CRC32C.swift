// The checksum of stored records: CRC-32C (Castagnoli), as ext4, btrfs and iSCSI use it.

/// CRC-32C: polynomial 0x1EDC6F41, reflected, start and end inverted.
package struct CRC32C: Hashable, Sendable {
  /// One entry per value of a byte: what eight shifts through the reversed polynomial make of it.
  private static let table: InlineArray<256, UInt32> = InlineArray { index in
    var value = UInt32(index)
    for _ in 0..<8 {
      value = value & 1 == 1 ? (value >> 1) ^ 0x82F6_3B78 : value >> 1
    }
    return value
  }

  private var state: UInt32 = 0xFFFF_FFFF

  package init() {}

  package var value: UInt32 { ~state }

  package mutating func add(_ byte: UInt8) {
    // The index is one byte: always inside the table.
    state = CRC32C.table[Int(UInt8(truncatingIfNeeded: state) ^ byte)] ^ (state >> 8)
  }

  /// The checksum of `bytes`, with the four bytes at `field` counted as zero: a record cannot contain its own.
  package static func of(_ bytes: Span<UInt8>, withoutField field: Int? = nil) -> UInt32 {
    var sum = CRC32C()
    let hole = field.map { $0..<$0 + 4 } ?? 0..<0
    for index in bytes.indices {
      sum.add(hole.contains(index) ? 0 : bytes[index])
    }
    return sum.value
  }
}
