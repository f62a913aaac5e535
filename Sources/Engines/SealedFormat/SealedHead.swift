// What an encrypted file tells without a key: that it is one, its class, and its size.

/// Taken from the first bytes of a file.
///
/// Nothing of it is authenticated.
package struct SealedHead: Hashable, Sendable {
  /// So many bytes tell all of it.
  package static let length = 2048

  package let protectionClass: StaticSector.ProtectionClass
  /// The size as programs see it; nil where neither slot can be read.
  package let fileSize: UInt64?

  /// Nil unless these are the first bytes of an encrypted file; `volume`: of this one, if it is known.
  package init?(_ bytes: Span<UInt8>, of volume: Bytes16?) {
    guard bytes.count >= SealedHead.length else { return nil }
    var found: StaticSector.ProtectionClass?
    for half in Half.allCases where found == nil {
      let start = StaticSector.offset(half)
      let sector = try? StaticSector(decoding: bytes.extracting(start..<start + StaticSector.size))
      guard let sector, volume == nil || sector.volume == volume else { continue }
      found = sector.protectionClass
    }
    guard let found else { return nil }
    protectionClass = found
    fileSize =
      Half.allCases.compactMap { half in
        let start = Slot.offset(half)
        return try? Slot(decoding: bytes.extracting(start..<start + Slot.size))
      }.max { $0.sequence < $1.sequence }?.fileSize
  }
}
