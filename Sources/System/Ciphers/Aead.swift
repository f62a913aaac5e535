import CCrypto

// AES-256-GCM.
//
// For volumes with keys; libcrypto is loaded when the first is needed. A third of the daemon's time in a sequential read is
// AES-GCM (docs/performance.md, "Encrypted files").

/// The tag of what was encrypted or sealed.
package typealias Tag = InlineArray<16, UInt8>

/// A context of AES-256-GCM, borrowed for one request and given a key by it.
///
/// No call allocates. After a failure what was to be decrypted is zeros.
@safe package struct Aead: ~Copyable {
  package typealias Nonce = InlineArray<12, UInt8>

  private let context: AeadPool.Context
  private let pool: AeadPool
  private let generation: UInt64

  init(_ context: AeadPool.Context, of pool: AeadPool, _ generation: UInt64) {
    (self.context, self.pool, self.generation) = (context, pool, generation)
  }

  deinit { pool.giveBack(context, generation) }

  package mutating func use(_ key: borrowing Key) throws(CipherFailure) {
    try check(unsafe lv_gcm_key(context.start, key.start))
  }

  package mutating func use(
    _ block: borrowing KeyBlock, _ position: KeyBlock.Position
  ) throws(CipherFailure) {
    try check(unsafe lv_gcm_key(context.start, block.start(position)))
  }

  /// Encrypts in place; the associated data are two parts, one after the other.
  package mutating func encrypt(
    _ bytes: inout MutableSpan<UInt8>, nonce: Nonce, authenticating first: Span<UInt8>,
    _ second: Span<UInt8> = Span()
  ) throws(CipherFailure) -> Tag {
    try unsafe bytes.withUnsafeMutableBytes { bytes throws(CipherFailure) in
      try unsafe encrypt(bytes.baseAddress, bytes.baseAddress, bytes.count, nonce, first, second)
    }
  }

  /// Decrypts in place; `.notAuthentic`, and zeros, if the tag does not fit.
  package mutating func decrypt(
    _ bytes: inout MutableSpan<UInt8>, tag: Tag, nonce: Nonce, authenticating first: Span<UInt8>,
    _ second: Span<UInt8> = Span()
  ) throws(CipherFailure) {
    try unsafe bytes.withUnsafeMutableBytes { bytes throws(CipherFailure) in
      try unsafe decrypt(bytes.baseAddress, bytes.baseAddress, bytes.count, tag, nonce, first, second)
    }
  }

  /// The tag over what stays readable.
  package mutating func seal(
    _ first: Span<UInt8>, _ second: Span<UInt8> = Span(), nonce: Nonce
  ) throws(CipherFailure) -> Tag {
    try unsafe encrypt(nil, nil, 0, nonce, first, second)
  }

  /// `.notAuthentic` if the tag is not of these bytes.
  package mutating func verify(
    _ tag: Tag, of first: Span<UInt8>, _ second: Span<UInt8> = Span(), nonce: Nonce
  ) throws(CipherFailure) {
    try unsafe decrypt(nil, nil, 0, tag, nonce, first, second)
  }

  @unsafe func encrypt(
    _ from: UnsafeRawPointer?, _ into: UnsafeMutableRawPointer?, _ count: Int, _ nonce: Nonce,
    _ first: Span<UInt8>, _ second: Span<UInt8>
  ) throws(CipherFailure) -> Tag {
    var tag = Tag(repeating: 0)
    try unsafe lend(nonce.span) { nonce throws(CipherFailure) in
      try unsafe lend(first) { first throws(CipherFailure) in
        try unsafe lend(second) { second throws(CipherFailure) in
          guard let nonce = unsafe nonce.start else { throw .unusable }
          try check(
            unsafe lv_gcm_encrypt(context.start, nonce, first, second, from, into, count, &tag))
        }
      }
    }
    return tag
  }

  @unsafe func decrypt(
    _ from: UnsafeRawPointer?, _ into: UnsafeMutableRawPointer?, _ count: Int, _ tag: Tag, _ nonce: Nonce,
    _ first: Span<UInt8>, _ second: Span<UInt8>
  ) throws(CipherFailure) {
    var tag = tag
    try unsafe lend(nonce.span) { nonce throws(CipherFailure) in
      try unsafe lend(first) { first throws(CipherFailure) in
        try unsafe lend(second) { second throws(CipherFailure) in
          guard let nonce = unsafe nonce.start else { throw .unusable }
          try check(
            unsafe lv_gcm_decrypt(context.start, nonce, first, second, from, into, count, &tag),
            refusal: .notAuthentic)
        }
      }
    }
  }
}
