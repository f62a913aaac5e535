// Little-endian numbers in stored bytes. Every read is checked: what lies on disk may be anything.

/// A position in stored bytes that moves on as numbers are taken.
struct ByteCursor {
  var offset = 0

  /// The next number of the type wanted.
  mutating func next<Number: FixedWidthInteger>(
    _ type: Number.Type, of bytes: Span<UInt8>
  ) throws(Damage) -> Number {
    let size = Number.bitWidth / 8
    guard bytes.count - offset >= size else { throw .tooShort }
    var bits: UInt64 = 0
    for index in 0..<size {
      bits |= UInt64(bytes[offset + index]) << (8 * UInt64(index))
    }
    offset += size
    return Number(truncatingIfNeeded: bits)
  }

  /// Takes what a record begins with.
  ///
  /// The version is looked at before the length and the checksum, so that a record of a later version is called by its name
  /// and not damaged.
  mutating func begin(
    _ bytes: Span<UInt8>, magic: UInt8, version: UInt8, headerSize: Int
  ) throws(Damage) {
    let foundMagic = try next(UInt8.self, of: bytes)
    guard foundMagic == magic else { throw .foreignMagic(foundMagic) }
    let foundVersion = try next(UInt8.self, of: bytes)
    guard foundVersion == version else { throw .unknownVersion(foundVersion) }
    guard bytes.count >= headerSize else { throw .tooShort }
  }

  /// Takes the checksum, which is one of all other bytes.
  mutating func requireChecksum(of bytes: Span<UInt8>) throws(Damage) {
    let computed = CRC32C.of(bytes, withoutField: offset)
    let stored = try next(UInt32.self, of: bytes)
    guard stored == computed else { throw .checksum(stored: stored, computed: computed) }
  }
}

extension [UInt8] {
  mutating func append<Number: FixedWidthInteger>(littleEndian number: Number) {
    for index in 0..<Number.bitWidth / 8 {
      append(UInt8(truncatingIfNeeded: number >> Number(8 * index)))
    }
  }

  /// Computes the checksum of a finished record and puts it at `offset`.
  mutating func seal(at offset: Int) {
    let sum = CRC32C.of(span, withoutField: offset)
    guard count >= offset + 4 else { return }
    for index in 0..<4 {
      self[offset + index] = UInt8(truncatingIfNeeded: sum >> UInt32(8 * index))
    }
  }
}
