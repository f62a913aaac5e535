// The static sector: whose file it is, and its key under the key of its class. It stands twice at the start of page 0.

/// A static sector of 512 bytes.
package struct StaticSector: Hashable, Sendable {
  // On disk since format 1. Never renumber.
  package static let size = 512
  private static let magic: UInt64 = 0x1A0A_0D31_5241_4589
  private static let majorVersion: UInt16 = 1
  private static let suite: UInt8 = 1
  private static let blockSizeBits: UInt8 = 12
  private static let serial: UInt32 = 1
  /// The associated data of the wrapped key: this label and then `authenticated`.
  package static let associatedLabel = Array("EAR1/filekey".utf8)
  package static let authenticated = 0..<104

  /// How the key of the file is wrapped follows from its class.
  package enum ProtectionClass: UInt8, CaseIterable, Sendable {
    case complete = 1
    case completeUnlessOpen = 2
    case untilFirstUnlock = 3

    var wrapType: UInt32 { self == .completeUnlessOpen ? 2 : 1 }
  }

  package let protectionClass: ProtectionClass
  package let volume: Bytes16
  package let file: Bytes16
  /// The ephemeral public key of `completeUnlessOpen`, else zeros.
  package let publicKey: Bytes32
  package let wrapped: WrappedKey

  package init(
    _ protectionClass: ProtectionClass, volume: Bytes16, file: Bytes16, publicKey: Bytes32 = .zero,
    wrapped: WrappedKey
  ) {
    self.protectionClass = protectionClass
    self.volume = volume
    self.file = file
    self.publicKey = publicKey
    self.wrapped = wrapped
  }

  /// The offset of the sector in page 0, of the copy for `second`.
  package static func offset(_ half: Half) -> Int { half.rawValue * size }

  /// The volume that a sector names, of whatever version or form it is; nil if it does not begin like one.
  package static func volume(namedIn bytes: Span<UInt8>) -> Bytes16? {
    guard bytes.count == size, bytes.word(UInt64.self, at: 0) == magic else { return nil }
    return Bytes16(bytes, at: 32)
  }

  /// Whether a sector is, or by damage seems to be, of a form that this version does not know.
  package static func isOfUnknownForm(_ bytes: Span<UInt8>) -> Bool {
    do throws(FormatDamage) {
      _ = try StaticSector(decoding: bytes)
      return false
    } catch {
      if case .unknown = error { return true }
      return false
    }
  }

  package init(decoding bytes: Span<UInt8>) throws(FormatDamage) {
    guard bytes.count == StaticSector.size else { throw .length }
    guard bytes.word(UInt64.self, at: 0) == StaticSector.magic else { throw .magic }
    let version = bytes.word(UInt16.self, at: 8)
    guard version == StaticSector.majorVersion else { throw .unknown(.version(version)) }
    guard bytes[12] == StaticSector.suite else { throw .unknown(.suite(bytes[12])) }
    guard bytes[13] == StaticSector.blockSizeBits else { throw .unknown(.blockSize(bytes[13])) }
    guard let protectionClass = ProtectionClass(rawValue: bytes[14]) else {
      throw .unknown(.protectionClass(bytes[14]))
    }
    guard bytes[15] == 0 else { throw .reserved }
    let required = bytes.word(UInt64.self, at: 16)
    guard required == 0 else { throw .unknown(.required(required)) }
    let serial = bytes.word(UInt32.self, at: 64)
    guard serial == StaticSector.serial else { throw .unknown(.serial(serial)) }
    guard bytes.word(UInt32.self, at: 68) == protectionClass.wrapType else { throw .field(.wrap) }
    guard protectionClass == .completeUnlessOpen || bytes.isZero(72..<104) else { throw .reserved }
    self.init(
      protectionClass, volume: Bytes16(bytes, at: 32), file: Bytes16(bytes, at: 48),
      publicKey: Bytes32(bytes, at: 72), wrapped: WrappedKey(bytes, at: 104))
  }

  package func encode(into bytes: inout MutableSpan<UInt8>) throws(FormatDamage) {
    guard bytes.count == StaticSector.size else { throw .length }
    bytes.clear(0..<StaticSector.size)
    bytes.store(StaticSector.magic, at: 0)
    bytes.store(StaticSector.majorVersion, at: 8)
    bytes[12] = StaticSector.suite
    bytes[13] = StaticSector.blockSizeBits
    bytes[14] = protectionClass.rawValue
    volume.store(in: &bytes, at: 32)
    file.store(in: &bytes, at: 48)
    bytes.store(StaticSector.serial, at: 64)
    bytes.store(protectionClass.wrapType, at: 68)
    publicKey.store(in: &bytes, at: 72)
    wrapped.store(in: &bytes, at: 104)
  }
}
