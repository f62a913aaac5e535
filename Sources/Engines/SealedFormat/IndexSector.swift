// The unit in which index entries are written: six pairs and a seal. Entries are read and changed in the bytes of the
// page they came in; nothing is decoded that is not asked for.

/// A tag over bytes that stay readable: nonce, tag and four zero bytes, at the end of a sector.
package struct Seal: Hashable, Sendable {
  static let size = 32

  package let nonce: Nonce
  package let tag: Bytes16

  package init(nonce: Nonce, tag: Bytes16) {
    self.nonce = nonce
    self.tag = tag
  }

  init?(_ bytes: Span<UInt8>, at offset: Int) {
    guard bytes.word(UInt32.self, at: offset + 28) == 0 else { return nil }
    nonce = Nonce(bytes, at: offset)
    tag = Bytes16(bytes, at: offset + 12)
  }

  func store(in bytes: inout MutableSpan<UInt8>, at offset: Int) {
    nonce.store(in: &bytes, at: offset)
    tag.store(in: &bytes, at: offset + 12)
    bytes.store(UInt32(0), at: offset + 28)
  }
}

/// Six pairs of entries and a seal in 512 bytes.
package enum IndexSector {
  // On disk since format 1. Never renumber.
  package static let size = 512
  /// The bytes that the seal covers, after `associatedPrefix`.
  package static let covered = 0..<480
  private static let label: UInt64 = 0x7864_692F_3152_4145  // "EAR1/idx"

  /// What is known before the seal is checked.
  package enum Form: Hashable, Sendable {
    /// 512 zero bytes: valid, without entries.
    case empty
    case sealed(Seal)
    /// No tag can be right.
    case torn
  }

  /// The bytes before those of the sector in the associated data of its seal; `block` is any of its six.
  package static func associatedPrefix(file: Bytes16, block: Block) -> InlineArray<32, UInt8> {
    var bytes = InlineArray<32, UInt8>(repeating: 0)
    var span = bytes.mutableSpan
    span.store(label, at: 0)
    file.store(in: &span, at: 8)
    span.store(block.sector, at: 24)
    return bytes
  }

  package static func form(_ bytes: Span<UInt8>) throws(FormatDamage) -> Form {
    guard bytes.count == size else { throw .length }
    if bytes.isZero(0..<size) { return .empty }
    return Seal(bytes, at: covered.upperBound).map { .sealed($0) } ?? .torn
  }

  package static func pair(of block: Block, in bytes: Span<UInt8>) throws(FormatDamage) -> Pair {
    guard bytes.count == size else { throw .length }
    let offset = block.positionInSector * Pair.size
    return Pair(Version(bytes, at: offset), Version(bytes, at: offset + Version.size))
  }

  /// Puts one version into its half.
  ///
  /// The sector is not valid again before it is sealed.
  package static func put(
    _ version: Version, into half: Half, of block: Block, in bytes: inout MutableSpan<UInt8>
  ) throws(FormatDamage) {
    guard bytes.count == size else { throw .length }
    version.store(in: &bytes, at: block.positionInSector * Pair.size + half.rawValue * Version.size)
  }

  /// The nonce for the seal of a sector as it is now, or none if it has no entries and becomes zeros.
  package static func nonce(for bytes: Span<UInt8>, random: UInt64) throws(FormatDamage) -> Nonce? {
    guard bytes.count == size else { throw .length }
    var highest: UInt64 = 0
    for entry in 0..<2 * Block.perSector {
      highest = max(highest, bytes.word(UInt64.self, at: entry * Version.size + 24))
    }
    return highest == 0 ? nil : Nonce(random: random, counter: highest)
  }

  /// Ends a change: the seal, or zeros for a sector without entries.
  package static func close(
    _ bytes: inout MutableSpan<UInt8>, with seal: Seal?
  ) throws(FormatDamage) {
    guard bytes.count == size else { throw .length }
    guard let seal else { return bytes.clear(0..<size) }
    seal.store(in: &bytes, at: covered.upperBound)
  }
}
