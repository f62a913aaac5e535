import Ciphers
import Glibc

/// The bytes of hexadecimal digits; blanks are for the eye.
func bytes(_ hex: String) -> [UInt8] {
  let digits = hex.filter { !$0.isWhitespace }.utf8.map { $0 < 0x3A ? $0 - 0x30 : $0 - 0x57 }
  return stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
}

func hex(_ bytes: [UInt8]) -> String {
  let digits = Array("0123456789abcdef")
  return String(bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] })
}

func hex<let count: Int>(_ bytes: InlineArray<count, UInt8>) -> String {
  hex(bytes.indices.map { bytes[$0] })
}

func inline<let count: Int>(_ bytes: [UInt8], as: InlineArray<count, UInt8>.Type) -> InlineArray<count, UInt8>
{
  InlineArray { $0 < bytes.count ? bytes[$0] : 0 }
}

func tag(_ hex: String) -> Tag { inline(bytes(hex), as: Tag.self) }
func nonce(_ hex: String) -> Aead.Nonce { inline(bytes(hex), as: Aead.Nonce.self) }

/// Bytes of a test in the secure heap.
func secret(_ bytes: [UInt8]) throws -> SecretBytes {
  var secret = try SecretBytes(count: max(bytes.count, 1))
  secret.withMutableBytes { into in
    for index in bytes.indices { into[index] = bytes[index] }
  }
  return secret
}

func key(_ bytes: [UInt8]) throws -> Key { try Key(try secret(bytes)) }
func key(_ digits: String) throws -> Key { try key(bytes(digits)) }

/// What a key is made of, for a test alone.
func exposed(_ key: borrowing Key) throws -> String {
  var copy = try SecretBytes(count: Key.size)
  try key.copy(into: &copy, at: 0)
  return copy.withBytes { bytes in hex(bytes.indices.map { bytes[$0] }) }
}

/// The failure of `body`, or nil.
func failure(_ body: () throws -> Void) -> CipherFailure? {
  do { try body() } catch { return error as? CipherFailure }
  return nil
}

extension Aead {
  /// Encrypts a copy.
  mutating func encrypted(
    _ plain: [UInt8], _ nonce: Nonce, _ data: [UInt8], _ more: [UInt8] = []
  ) throws -> (bytes: [UInt8], tag: Tag) {
    var bytes = plain
    var span = bytes.mutableSpan
    let tag = try encrypt(&span, nonce: nonce, authenticating: data.span, more.span)
    return (bytes, tag)
  }

  /// What is in the buffer after an attempt to decrypt a copy, and why it failed.
  mutating func decrypted(
    _ encrypted: [UInt8], _ tag: Tag, _ nonce: Nonce, _ data: [UInt8], _ more: [UInt8] = []
  ) -> (bytes: [UInt8], failure: CipherFailure?) {
    var bytes = encrypted
    var span = bytes.mutableSpan
    do throws(CipherFailure) {
      try decrypt(&span, tag: tag, nonce: nonce, authenticating: data.span, more.span)
      return (bytes, nil)
    } catch {
      return (bytes, error)
    }
  }
}

// The macros of tests copy what is in them, which a span does not allow.

extension SHA256 {
  static func hash(_ bytes: [UInt8]) throws -> Digest { try hash(bytes.span) }
  static func code(of bytes: [UInt8], key: [UInt8]) throws -> Digest {
    try code(of: bytes.span, key: key.span)
  }
}

extension Key {
  init(expanding parent: borrowing Key, info: [UInt8]) throws {
    try self.init(expanding: parent, info: info.span)
  }
  init(extractingFrom material: borrowing Key, salt: [UInt8], info: [UInt8]) throws {
    try self.init(extractingFrom: material, salt: salt.span, info: info.span)
  }
  init(agreeingOn scalar: borrowing Key, with publicKey: [UInt8]) throws {
    try self.init(agreeingOn: scalar, with: publicKey.span)
  }
  init(agreeingOn scalar: borrowing Key, with publicKey: Digest) throws {
    try self.init(agreeingOn: scalar, with: publicKey.span)
  }
  borrowing func expanded(info: [UInt8]) throws -> Digest { try expanded(info: info.span) }
  borrowing func expanded(info: Digest) throws -> Digest { try expanded(info: info.span) }
  borrowing func code(of bytes: [UInt8]) throws -> Digest { try code(of: bytes.span) }
}

extension Aead {
  mutating func seal(_ first: [UInt8], _ second: [UInt8] = [], nonce: Nonce) throws -> Tag {
    try seal(first.span, second.span, nonce: nonce)
  }
  mutating func verify(_ tag: Tag, of first: [UInt8], _ second: [UInt8] = [], nonce: Nonce) throws {
    try verify(tag, of: first.span, second.span, nonce: nonce)
  }
  mutating func encrypt(
    _ bytes: inout MutableSpan<UInt8>, nonce: Nonce, authenticating data: [UInt8]
  ) throws -> Tag {
    try encrypt(&bytes, nonce: nonce, authenticating: data.span)
  }
  mutating func decrypt(
    _ bytes: inout MutableSpan<UInt8>, tag: Tag, nonce: Nonce, authenticating data: [UInt8]
  ) throws {
    try decrypt(&bytes, tag: tag, nonce: nonce, authenticating: data.span)
  }
  mutating func wrap(
    _ key: borrowing Key, nonce: Nonce, authenticating first: [UInt8], _ second: [UInt8] = []
  ) throws -> EncryptedKey {
    try wrap(key, nonce: nonce, authenticating: first.span, second.span)
  }
  mutating func unwrap(
    _ encrypted: EncryptedKey, nonce: Nonce, authenticating first: [UInt8], _ second: [UInt8] = []
  ) throws -> Key {
    try unwrap(encrypted, nonce: nonce, authenticating: first.span, second.span)
  }
  mutating func unwrap(
    _ encrypted: EncryptedKey, into block: borrowing KeyBlock, _ position: KeyBlock.Position, nonce: Nonce,
    authenticating first: [UInt8], _ second: [UInt8]
  ) throws {
    try unwrap(
      encrypted, into: block, position, nonce: nonce, authenticating: first.span, second.span)
  }
}
