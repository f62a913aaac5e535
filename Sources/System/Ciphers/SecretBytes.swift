import CCrypto

// Secrets that are no keys yet, or more than keys: a keyfile while it is read, a passphrase, scratch for blocks.

/// Bytes in the secure heap, zero at first and wiped at the end.
@safe package struct SecretBytes: ~Copyable, @unchecked Sendable {
  // Not shared: whoever owns the value owns the memory, and writes it under exclusive access only.
  @unsafe let start: UnsafeMutableRawPointer
  package let count: Int

  package init(count: Int) throws(CipherFailure) {
    try SecureHeap.prepare()
    guard count > 0, let start = unsafe lv_secure_new(count, 0) else { throw .noMemory }
    unsafe self.start = start
    self.count = count
  }

  deinit { unsafe lv_secure_free(start) }

  /// Lends the bytes, which must not be copied to where they are not wiped.
  package borrowing func withBytes<Value: ~Copyable, Failure: Error>(
    _ body: (Span<UInt8>) throws(Failure) -> Value
  ) throws(Failure) -> Value {
    let bytes = unsafe UnsafeRawBufferPointer(start: start, count: count).assumingMemoryBound(to: UInt8.self)
    return try body(unsafe bytes.span)
  }

  /// Lends the bytes to be written.
  package mutating func withMutableBytes<Value: ~Copyable, Failure: Error>(
    _ body: (inout MutableSpan<UInt8>) throws(Failure) -> Value
  ) throws(Failure) -> Value {
    let bytes = unsafe UnsafeMutableRawBufferPointer(start: start, count: count)
      .assumingMemoryBound(to: UInt8.self)
    var span = unsafe bytes.mutableSpan
    return try body(&span)
  }
}

/// Overwriting what was secret in ordinary memory.
package enum Wiping {
  /// Overwrites the bytes with zeros, also when nobody reads them again.
  package static func wipe(_ bytes: inout MutableSpan<UInt8>) {
    unsafe bytes.withUnsafeMutableBytes { bytes in
      guard let start = bytes.baseAddress else { return }
      unsafe lv_wipe(start, bytes.count)
    }
  }
}

/// Random bytes of the kernel.
package enum SystemRandom {
  /// Fills the span with one system call.
  ///
  /// Nothing is kept for later: what a child or a copy of the machine would share could repeat a nonce.
  package static func fill(_ bytes: inout MutableSpan<UInt8>) throws(CipherFailure) {
    try unsafe bytes.withUnsafeMutableBytes { bytes throws(CipherFailure) in
      guard let start = bytes.baseAddress else { return }
      try check(errorNumber: unsafe lv_random(start, bytes.count))
    }
  }

  /// A number of 64 random bits.
  package static func number() throws(CipherFailure) -> UInt64 {
    var bytes = InlineArray<8, UInt8>(repeating: 0)
    var span = bytes.mutableSpan
    try fill(&span)
    var number: UInt64 = 0
    for index in 0..<8 { number |= UInt64(bytes[index]) << UInt64(8 * index) }
    return number
  }
}
