// Keys under other keys. The key goes from the secure heap into ciphertext and back, and nowhere else.

/// A key that was encrypted.
package struct EncryptedKey: Sendable {
  package var ciphertext: InlineArray<32, UInt8>
  package var tag: Tag

  package init(ciphertext: InlineArray<32, UInt8>, tag: Tag) {
    (self.ciphertext, self.tag) = (ciphertext, tag)
  }
}

extension Aead {
  package mutating func wrap(
    _ key: borrowing Key, nonce: Nonce, authenticating first: Span<UInt8>, _ second: Span<UInt8> = Span()
  ) throws(CipherFailure) -> EncryptedKey {
    try unsafe wrap(from: key.start, nonce, first, second)
  }

  package mutating func wrap(
    _ block: borrowing KeyBlock, _ position: KeyBlock.Position, nonce: Nonce,
    authenticating first: Span<UInt8>, _ second: Span<UInt8> = Span()
  ) throws(CipherFailure) -> EncryptedKey {
    try unsafe wrap(from: block.start(position), nonce, first, second)
  }

  /// The key that was wrapped; `.notAuthentic` if it was under another key, or for something else.
  package mutating func unwrap(
    _ encrypted: EncryptedKey, nonce: Nonce, authenticating first: Span<UInt8>,
    _ second: Span<UInt8> = Span()
  ) throws(CipherFailure) -> Key {
    let key = try Key()
    try unsafe unwrap(encrypted, into: key.start, nonce, first, second)
    return key
  }

  package mutating func unwrap(
    _ encrypted: EncryptedKey, into block: borrowing KeyBlock, _ position: KeyBlock.Position, nonce: Nonce,
    authenticating first: Span<UInt8>, _ second: Span<UInt8> = Span()
  ) throws(CipherFailure) {
    try unsafe unwrap(encrypted, into: block.start(position), nonce, first, second)
  }

  @unsafe private mutating func wrap(
    from key: UnsafeRawPointer, _ nonce: Nonce, _ first: Span<UInt8>, _ second: Span<UInt8>
  ) throws(CipherFailure) -> EncryptedKey {
    var ciphertext = InlineArray<32, UInt8>(repeating: 0)
    let tag = try unsafe encrypt(key, &ciphertext, Key.size, nonce, first, second)
    return EncryptedKey(ciphertext: ciphertext, tag: tag)
  }

  @unsafe private mutating func unwrap(
    _ encrypted: EncryptedKey, into key: UnsafeMutableRawPointer, _ nonce: Nonce, _ first: Span<UInt8>,
    _ second: Span<UInt8>
  ) throws(CipherFailure) {
    var ciphertext = encrypted.ciphertext
    try unsafe decrypt(&ciphertext, key, Key.size, encrypted.tag, nonce, first, second)
  }
}
