// The bytes of `system.nfs4_acl`: XDR, big-endian, as the NFSv4.0 client of Linux and nfs4-acl-tools use it.

/// One entry as it travels.
struct NFSv4WireEntry: Hashable, Sendable {
  var type: UInt32
  var flags: UInt32
  var mask: UInt32
  var who: [UInt8]
}

/// Takes big-endian numbers and strings from bytes that may be anything.
struct BigEndianReader {
  private let bytes: [UInt8]
  private var offset = 0

  init(_ bytes: [UInt8]) {
    self.bytes = bytes
  }

  var remaining: Int { bytes.count - offset }

  mutating func number() -> UInt32? {
    guard remaining >= 4 else { return nil }
    var number: UInt32 = 0
    for byte in bytes[offset..<offset + 4] { number = number << 8 | UInt32(byte) }
    offset += 4
    return number
  }

  /// A length, so many bytes, and zeros up to a multiple of four.
  mutating func string() -> [UInt8]? {
    guard let length = number(), UInt64(length) <= UInt64(remaining) else { return nil }
    let end = offset + Int(length)
    let padding = (4 - Int(length) % 4) % 4
    guard bytes.count - end >= padding else { return nil }
    guard bytes[end..<end + padding].allSatisfy({ $0 == 0 }) else { return nil }
    let text = Array(bytes[offset..<end])
    offset = end + padding
    return text
  }
}

extension [UInt8] {
  mutating func append(bigEndian number: UInt32) {
    for shift: UInt32 in [24, 16, 8, 0] { append(UInt8(truncatingIfNeeded: number >> shift)) }
  }
}

/// The layouts an NFSv4 list is seen in.
enum NFSv4Wire {
  /// Count, then type, flags, mask and who of each entry.
  static func encode(_ entries: [NFSv4WireEntry]) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(4 + entries.count * 28)
    bytes.append(bigEndian: UInt32(truncatingIfNeeded: entries.count))
    for entry in entries {
      bytes.append(bigEndian: entry.type)
      bytes.append(bigEndian: entry.flags)
      bytes.append(bigEndian: entry.mask)
      bytes.append(bigEndian: UInt32(truncatingIfNeeded: entry.who.count))
      bytes += entry.who
      bytes += [UInt8](repeating: 0, count: (4 - entry.who.count % 4) % 4)
    }
    return bytes
  }

  /// Reads the layout of NFSv4.0, and that of NFSv4.1 where the bytes cannot be the other.
  ///
  /// Samba writes 4.1 by default: a word of list flags in front. A buffer that is exactly a 4.0 list is one.
  static func decode(_ bytes: [UInt8]) -> [NFSv4WireEntry]? {
    if let entries = decodeEntries(BigEndianReader(bytes)) { return entries }
    var reader = BigEndianReader(bytes)
    // Automatic inheritance, protected, defaulted: there are no other list flags.
    guard let flags = reader.number(), flags <= 7 else { return nil }
    return decodeEntries(reader)
  }

  private static func decodeEntries(_ reader: BigEndianReader) -> [NFSv4WireEntry]? {
    var reader = reader
    // Sixteen bytes an entry at least: a count from outside does not decide how much memory is taken.
    guard let count = reader.number(), UInt64(count) * 16 <= UInt64(reader.remaining) else { return nil }
    var entries: [NFSv4WireEntry] = []
    entries.reserveCapacity(Int(count))
    for _ in 0..<count {
      guard let type = reader.number(), let flags = reader.number(), let mask = reader.number(),
        let who = reader.string()
      else { return nil }
      entries.append(NFSv4WireEntry(type: type, flags: flags, mask: mask, who: who))
    }
    return reader.remaining == 0 ? entries : nil
  }
}
