import CCrypto

// SHA-256 and HMAC.

/// A digest, a code or a public key.
package typealias Digest = InlineArray<32, UInt8>

/// SHA-256, and HMAC with it.
package enum SHA256 {
  package static func hash(_ bytes: Span<UInt8>) throws(CipherFailure) -> Digest {
    try SecureHeap.prepare()
    var digest = Digest(repeating: 0)
    try unsafe lend(bytes) { bytes throws(CipherFailure) in
      try check(unsafe lv_sha256(bytes, &digest))
    }
    return digest
  }

  /// The code of `bytes` under a key that is in ordinary memory, such as a salt.
  package static func code(of bytes: Span<UInt8>, key: Span<UInt8>) throws(CipherFailure) -> Digest {
    try SecureHeap.prepare()
    var code = Digest(repeating: 0)
    try unsafe lend(key) { key throws(CipherFailure) in
      try unsafe lend(bytes) { bytes throws(CipherFailure) in
        try check(unsafe lv_hmac(key, bytes, lv_bytes(start: nil, count: 0), &code))
      }
    }
    return code
  }

  /// Whether two codes are equal, in a time that does not tell where they differ.
  package static func areEqual(_ left: Span<UInt8>, _ right: Span<UInt8>) -> Bool {
    guard left.count == right.count else { return false }
    return unsafe left.withUnsafeBytes { left in
      unsafe right.withUnsafeBytes { right in
        unsafe lv_equal(left.baseAddress, right.baseAddress, left.count) != 0
      }
    }
  }
}

/// Lends the bytes of a span to C for the length of `body`.
@unsafe @inline(__always)
func lend<Value>(
  _ span: Span<UInt8>, _ body: (lv_bytes) throws(CipherFailure) -> Value
) throws(CipherFailure) -> Value {
  try unsafe span.withUnsafeBytes { bytes throws(CipherFailure) in
    try unsafe body(lv_bytes(start: bytes.baseAddress, count: bytes.count))
  }
}
