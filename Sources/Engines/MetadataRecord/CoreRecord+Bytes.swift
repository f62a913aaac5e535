// The stored form of the core record, format 1. The layout is described in docs/FORMATS.md.

import FlagRules

extension CoreRecord {
  // On disk since format 1. Never renumber.
  static let magic: UInt8 = 0xA7
  static let version: UInt8 = 1
  static let headerSize = 16
  static let checksumOffset = 8

  /// The record as it is stored.
  ///
  /// A void record encodes too; the caller removes the attribute instead.
  package func encoded() -> [UInt8] {
    var bytes: [UInt8] = []
    // Every section there is: one allocation, whatever is present.
    bytes.reserveCapacity(CoreRecord.headerSize + 76)
    bytes.append(CoreRecord.magic)
    bytes.append(CoreRecord.version)
    bytes.append(littleEndian: presence.rawValue)
    bytes.append(littleEndian: flags.rawValue)
    bytes.append(littleEndian: UInt32(0))
    bytes.append(protectionClass.rawValue)
    bytes.append(compressionPolicy)
    bytes.append(littleEndian: UInt16(0))
    if let logicalSize { bytes.append(littleEndian: logicalSize) }
    if let origin {
      bytes.append(littleEndian: origin.fileSystemTag)
      bytes.append(littleEndian: origin.inode)
      bytes.append(littleEndian: origin.generation)
      bytes.append(littleEndian: origin.ownInode)
      bytes.append(littleEndian: origin.ownGeneration)
    }
    if let links { bytes.append(littleEndian: links.difference) }
    if let birthTime {
      bytes.append(littleEndian: birthTime.seconds)
      bytes.append(littleEndian: birthTime.nanoseconds)
    }
    if let replaced {
      bytes.append(littleEndian: replaced.size)
      bytes.append(littleEndian: replaced.modified.seconds)
      bytes.append(littleEndian: replaced.modified.nanoseconds)
    }
    if let ownerGroup { bytes.append(littleEndian: ownerGroup) }
    bytes.seal(at: CoreRecord.checksumOffset)
    return bytes
  }

  /// Reads a stored record.
  ///
  /// Bytes after the last section are damage: a new section would have a new presence bit.
  package init(decoding bytes: Span<UInt8>) throws(Damage) {
    var cursor = ByteCursor()
    try cursor.begin(
      bytes, magic: CoreRecord.magic, version: CoreRecord.version, headerSize: CoreRecord.headerSize)
    let bits = Presence(rawValue: try cursor.next(UInt16.self, of: bytes))
    flags = FileFlags(rawValue: try cursor.next(UInt32.self, of: bytes))
    try cursor.requireChecksum(of: bytes)
    let unknown = bits.subtracting(.known)
    guard unknown.isEmpty else { throw .unknownPresence(unknown.rawValue) }
    guard let protection = ProtectionClass(rawValue: try cursor.next(UInt8.self, of: bytes)) else {
      throw .badField(.protectionClass)
    }
    protectionClass = protection
    compressionPolicy = try cursor.next(UInt8.self, of: bytes)
    guard try cursor.next(UInt16.self, of: bytes) == 0 else { throw .badField(.reserved) }
    marks = bits.intersection(.marks)
    try readSections(bits, from: bytes, at: &cursor)
    guard cursor.offset == bytes.count else { throw .trailingBytes }
  }

  /// What stored bytes say about a list beside them.
  package enum Announcement: Sendable {
    case none
    case list
    /// One that denies nobody a look.
    case openList
  }

  /// Reads that much before the bytes are decoded; none for what is not a record.
  package static func announcement(_ bytes: Span<UInt8>) -> Announcement {
    let bits = presence(of: bytes)
    guard bits.contains(.accessList) else { return .none }
    return bits.contains(.openList) ? .openList : .list
  }

  /// Whether stored bytes say that the content is being replaced; they may be damaged.
  package static func saysReplacing(_ bytes: Span<UInt8>) -> Bool { presence(of: bytes).contains(.replacing) }

  private static func presence(of bytes: Span<UInt8>) -> Presence {
    guard bytes.count > 3 else { return [] }
    return Presence(rawValue: UInt16(bytes[2]) | UInt16(bytes[3]) << 8)
  }

  /// The sections `bits` announce, in the order of their bits.
  private mutating func readSections(
    _ bits: Presence, from bytes: Span<UInt8>, at cursor: inout ByteCursor
  ) throws(Damage) {
    if bits.contains(.compressed) { logicalSize = try cursor.next(UInt64.self, of: bytes) }
    if bits.contains(.origin) {
      origin = Origin(
        fileSystemTag: try cursor.next(UInt32.self, of: bytes),
        inode: try cursor.next(UInt64.self, of: bytes),
        generation: try cursor.next(UInt32.self, of: bytes),
        ownInode: try cursor.next(UInt64.self, of: bytes),
        ownGeneration: try cursor.next(UInt32.self, of: bytes))
    }
    let isRelativeToUpper = bits.contains(.linksRelativeToUpper)
    if bits.contains(.links) {
      let difference = try cursor.next(Int32.self, of: bytes)
      links = LinkCount(difference, relativeTo: isRelativeToUpper ? .upper : .lower)
    } else if isRelativeToUpper {
      throw .badField(.linkBase)
    }
    if bits.contains(.birthTime) { birthTime = try CoreRecord.time(from: bytes, at: &cursor) }
    if bits.contains(.replacing) {
      let size = try cursor.next(UInt64.self, of: bytes)
      replaced = ReplacedContent(size: size, modified: try CoreRecord.time(from: bytes, at: &cursor))
    }
    if bits.contains(.ownerGroup) { ownerGroup = try cursor.next(UInt32.self, of: bytes) }
  }
  private static func time(from bytes: Span<UInt8>, at cursor: inout ByteCursor) throws(Damage) -> BirthTime {
    let time = BirthTime(
      seconds: try cursor.next(Int64.self, of: bytes), nanoseconds: try cursor.next(UInt32.self, of: bytes))
    guard time.nanoseconds < 1_000_000_000 else { throw .badField(.nanoseconds) }
    return time
  }
}
