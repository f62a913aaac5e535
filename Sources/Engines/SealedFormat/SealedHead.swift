// What an encrypted file tells without a key: that it is one, its class, and its size.

/// Taken from the first bytes of a file.
///
/// Nothing of it is authenticated.
package struct SealedHead: Hashable, Sendable {
  /// So many bytes tell all of it.
  package static let length = 2048

  package let protectionClass: StaticSector.ProtectionClass
  /// Where no header can be read, nobody reads the content, and the class is a guess.
  package let condition: Condition
  /// The size as programs see it; nil where neither slot can be read.
  package let fileSize: UInt64?

  package enum Condition: Sendable {
    case readable
    /// Both headers are of a form that this version does not know.
    case unknownForm
    case damaged
  }

  /// Nil unless these are the first bytes of an encrypted file; `volume`: of this one, if it is known.
  package init?(_ bytes: Span<UInt8>, of volume: Bytes16?) {
    guard bytes.count >= SealedHead.length else { return nil }
    var (found, guess): (StaticSector.ProtectionClass?, StaticSector.ProtectionClass?) = (nil, nil)
    for half in Half.allCases where found == nil {
      let start = StaticSector.offset(half)
      let bytes = bytes.extracting(start..<start + StaticSector.size)
      guard let name = StaticSector.volume(namedIn: bytes), volume == nil || name == volume else { continue }
      found = (try? StaticSector(decoding: bytes))?.protectionClass
      guess = guess ?? StaticSector.ProtectionClass(rawValue: bytes[14]) ?? .complete
    }
    guard let protection = found ?? guess else { return nil }
    protectionClass = protection
    condition =
      found != nil
      ? .readable
      : Half.allCases.allSatisfy { half in
        let start = StaticSector.offset(half)
        return StaticSector.isOfUnknownForm(bytes.extracting(start..<start + StaticSector.size))
      } ? .unknownForm : .damaged
    fileSize =
      Half.allCases.compactMap { half in
        let start = Slot.offset(half)
        return try? Slot(decoding: bytes.extracting(start..<start + Slot.size))
      }.max { $0.sequence < $1.sequence }?.fileSize
  }
}
