// What is stored about the name of an item: that its extension is shown, and room for ids that outlive names.
//
// The stored form, version 1, is described in docs/FORMATS.md. A record that cannot be read means that the extension is
// shown: doubt never shortens a name.

/// What is stored about the name of an item.
package struct NamesRecord: Hashable, Sendable {
  // On disk since format 1. Never renumber.
  static let magic: UInt8 = 0xA9
  static let version: UInt8 = 1
  static let headerSize = 12
  static let checksumOffset = 8
  private static let showsBit: UInt16 = 1 << 0
  private static let idsBit: UInt16 = 1 << 1

  /// Numbers of the object and of the document, by which both can be found again.
  ///
  /// This version gives none and keeps those that are there.
  package struct Identifiers: Hashable, Sendable {
    package var object: UInt64
    package var document: UInt64

    package init(object: UInt64, document: UInt64) {
      self.object = object
      self.document = document
    }
  }

  /// The extension is to be shown, whatever a view would do.
  package var showsExtension = false
  package var identifiers: Identifiers?

  package init() {}

  /// Nothing is said: the attribute is removed rather than stored.
  package var isVoid: Bool { !showsExtension && identifiers == nil }

  package func encoded() -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(NamesRecord.headerSize + 16)
    bytes.append(NamesRecord.magic)
    bytes.append(NamesRecord.version)
    var presence: UInt16 = 0
    if showsExtension { presence |= NamesRecord.showsBit }
    if identifiers != nil { presence |= NamesRecord.idsBit }
    bytes.append(littleEndian: presence)
    bytes.append(littleEndian: UInt32(0))
    bytes.append(littleEndian: UInt32(0))
    if let identifiers {
      bytes.append(littleEndian: identifiers.object)
      bytes.append(littleEndian: identifiers.document)
    }
    bytes.seal(at: NamesRecord.checksumOffset)
    return bytes
  }

  /// Reads a stored record.
  package init(decoding bytes: Span<UInt8>) throws(Damage) {
    var cursor = ByteCursor()
    try cursor.begin(
      bytes, magic: NamesRecord.magic, version: NamesRecord.version, headerSize: NamesRecord.headerSize)
    let presence = try cursor.next(UInt16.self, of: bytes)
    let zero = try cursor.next(UInt32.self, of: bytes)
    try cursor.requireChecksum(of: bytes)
    let unknown = presence & ~(NamesRecord.showsBit | NamesRecord.idsBit)
    guard unknown == 0 else { throw .unknownPresence(unknown) }
    guard zero == 0 else { throw .badField(.reserved) }
    showsExtension = presence & NamesRecord.showsBit != 0
    if presence & NamesRecord.idsBit != 0 {
      identifiers = Identifiers(
        object: try cursor.next(UInt64.self, of: bytes), document: try cursor.next(UInt64.self, of: bytes))
    }
    guard cursor.offset == bytes.count else { throw .trailingBytes }
  }
}
