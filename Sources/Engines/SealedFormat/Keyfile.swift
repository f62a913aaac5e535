// The keyfile: what is not secret in it, and where the secret lies. The secret itself is never copied here.

/// The header of a keyfile.
package struct Keyfile: Hashable, Sendable {
  // On disk since format 1. Never renumber.
  package static let size = 96
  private static let magic: UInt64 = 0x1A0A_0D31_464B_4589
  /// The associated data of the encrypted secret.
  package static let authenticated = 0..<48
  package static let secret = 48..<80
  /// The tag of the encrypted secret; of a raw one, the first bytes of SHA-256 over `checksummed`.
  package static let tag = 80..<96
  package static let checksummed = 0..<80

  package enum Kind: Hashable, Sendable {
    case raw
    case scrypt(Parameters)
  }

  /// The cost of a passphrase.
  package struct Parameters: Hashable, Sendable {
    package let logN: UInt8
    package let blockFactor: UInt8
    package let parallelism: UInt8
    package let salt: Bytes16

    package static let defaultCost: (logN: UInt8, blockFactor: UInt8, parallelism: UInt8) = (17, 8, 1)

    /// Nil beyond what any keyfile may ask of a machine: 2^20, 64 lanes, 1 GiB.
    package init?(logN: UInt8, blockFactor: UInt8, parallelism: UInt8, salt: Bytes16) {
      guard (1...20).contains(logN), blockFactor >= 1, parallelism >= 1 else { return nil }
      guard Int(blockFactor) * Int(parallelism) <= 64 else { return nil }
      guard 128 * (1 << Int(logN)) * Int(blockFactor) <= 1 << 30 else { return nil }
      self.logN = logN
      self.blockFactor = blockFactor
      self.parallelism = parallelism
      self.salt = salt
    }

    /// What libcrypto has to be allowed: its own limit is 32 MiB.
    package var memory: Int { 128 * (1 << Int(logN)) * Int(blockFactor) + 1 << 20 }
  }

  package let kind: Kind
  package let id: Bytes16

  package init(_ kind: Kind, id: Bytes16) {
    self.kind = kind
    self.id = id
  }

  package init(decoding bytes: Span<UInt8>) throws(FormatDamage) {
    guard bytes.count == Keyfile.size else { throw .length }
    guard bytes.word(UInt64.self, at: 0) == Keyfile.magic else { throw .magic }
    guard bytes.isZero(12..<16) else { throw .reserved }
    switch bytes[8] {
    case 0:
      guard bytes.isZero(9..<12), bytes.isZero(32..<48) else { throw .reserved }
      kind = .raw
    case 1:
      let parameters = Parameters(
        logN: bytes[9], blockFactor: bytes[10], parallelism: bytes[11], salt: Bytes16(bytes, at: 32))
      guard let parameters else { throw .field(.parameters) }
      kind = .scrypt(parameters)
    default: throw .field(.kind)
    }
    id = Bytes16(bytes, at: 16)
  }

  /// The first 48 bytes; the secret and its tag follow.
  package func encode(into bytes: inout MutableSpan<UInt8>) throws(FormatDamage) {
    guard bytes.count == Keyfile.size else { throw .length }
    bytes.clear(Keyfile.authenticated)
    bytes.store(Keyfile.magic, at: 0)
    id.store(in: &bytes, at: 16)
    guard case .scrypt(let parameters) = kind else { return }
    bytes[8] = 1
    bytes[9] = parameters.logN
    bytes[10] = parameters.blockFactor
    bytes[11] = parameters.parallelism
    parameters.salt.store(in: &bytes, at: 32)
  }
}
