import CCrypto

// One key, and what is derived from it. None of its bytes is ever outside the secure heap.

/// A key of 32 bytes, wiped when its last owner lets go of it.
@safe package struct Key: ~Copyable, @unchecked Sendable {
  package static let size = 32
  // Written while it is made, by one thread, and only read from then on.
  @unsafe let start: UnsafeMutableRawPointer

  /// Zeros, for whoever makes a key of them.
  init() throws(CipherFailure) {
    try SecureHeap.prepare()
    guard let start = unsafe lv_secure_new(Key.size, 0) else { throw .noMemory }
    unsafe self.start = start
  }

  deinit { unsafe lv_secure_free(start) }

  var bytes: lv_bytes { unsafe lv_bytes(start: start, count: Key.size) }

  /// A fresh key.
  package static func random() throws(CipherFailure) -> Key {
    let key = try Key()
    try check(errorNumber: unsafe lv_random(key.start, Key.size))
    return key
  }

  /// The 32 bytes at `offset` of a secret.
  package init(_ secret: borrowing SecretBytes, at offset: Int = 0) throws(CipherFailure) {
    guard offset >= 0, offset <= secret.count - Key.size else { throw .unusable }
    let made = try Key()
    unsafe made.start.copyMemory(from: secret.start + offset, byteCount: Key.size)
    self = made
  }

  /// HKDF-Expand of RFC 5869 with SHA-256.
  package init(expanding parent: borrowing Key, info: Span<UInt8>) throws(CipherFailure) {
    let made = try Key()
    try unsafe expand(parent.bytes, info, into: made.start)
    self = made
  }

  /// HKDF of RFC 5869 with SHA-256, both steps.
  package init(
    extractingFrom material: borrowing Key, salt: Span<UInt8>, info: Span<UInt8>
  ) throws(CipherFailure) {
    let extracted = try Key()
    try unsafe lend(salt) { salt throws(CipherFailure) in
      try check(
        unsafe lv_hmac(salt, material.bytes, lv_bytes(start: nil, count: 0), extracted.start))
    }
    try self.init(expanding: extracted, info: info)
  }

  /// What two keys have in common (X25519): this one is the scalar.
  ///
  /// `.weakPublicKey` for a public key that gives the same secret, zeros, to everybody.
  package init(
    agreeingOn scalar: borrowing Key, with publicKey: Span<UInt8>
  ) throws(CipherFailure) {
    guard publicKey.count == Key.size else { throw .unusable }
    let made = try Key()
    try unsafe lend(publicKey) { publicKey throws(CipherFailure) in
      guard let point = unsafe publicKey.start else { throw .unusable }
      try check(unsafe lv_x25519_shared(scalar.start, point, made.start), refusal: .weakPublicKey)
    }
    self = made
  }

  /// The public key of this scalar.
  package borrowing func publicKey() throws(CipherFailure) -> Digest {
    var point = Digest(repeating: 0)
    try check(unsafe lv_x25519_public(start, &point))
    return point
  }

  /// HKDF-Expand to a value that is not secret.
  package borrowing func expanded(info: Span<UInt8>) throws(CipherFailure) -> Digest {
    var value = Digest(repeating: 0)
    try unsafe expand(bytes, info, into: &value)
    return value
  }

  /// HMAC-SHA256 under this key.
  package borrowing func code(of bytes: Span<UInt8>) throws(CipherFailure) -> Digest {
    var code = Digest(repeating: 0)
    try unsafe lend(bytes) { bytes throws(CipherFailure) in
      try check(unsafe lv_hmac(self.bytes, bytes, lv_bytes(start: nil, count: 0), &code))
    }
    return code
  }

  /// Puts the key where a secret is assembled, to be handed over or stored.
  package borrowing func copy(into secret: inout SecretBytes, at offset: Int) throws(CipherFailure) {
    guard offset >= 0, offset <= secret.count - Key.size else { throw .unusable }
    unsafe (secret.start + offset).copyMemory(from: start, byteCount: Key.size)
  }
}

/// HKDF-Expand: one round, so its only counter is 1.
@unsafe func expand(
  _ parent: lv_bytes, _ info: Span<UInt8>, into start: UnsafeMutableRawPointer
) throws(CipherFailure) {
  let counter: InlineArray<1, UInt8> = [1]
  try unsafe lend(info) { info throws(CipherFailure) in
    try unsafe lend(counter.span) { counter throws(CipherFailure) in
      try check(unsafe lv_hmac(parent, info, counter, start))
    }
  }
}
