// The content of a keyfile: its secret, in the clear or under a passphrase. It is read and made in the secure heap.

package import Ciphers
package import SealedFormat

/// What is done with the 96 bytes of a keyfile.
package enum KeyfileContent {
  /// What the content says without a passphrase.
  ///
  /// The whole file must be there, and nothing behind it.
  package static func header(of content: borrowing SecretBytes) throws(KeyFailure) -> Keyfile {
    try content.withBytes { bytes throws(KeyFailure) in
      do throws(FormatDamage) {
        return try Keyfile(decoding: bytes)
      } catch {
        throw .damaged(.format(error))
      }
    }
  }

  /// The secret of a keyfile without a passphrase.
  package static func secret(of content: borrowing SecretBytes) throws(KeyFailure) -> HandedSecret {
    let keyfile = try header(of: content)
    guard keyfile.kind == .raw else { throw .wrongKey }
    let key: Key
    do throws(CipherFailure) {
      let isSound = try content.withBytes { bytes throws(CipherFailure) in
        let digest = try SHA256.hash(bytes.extracting(Keyfile.checksummed))
        return SHA256.areEqual(digest.span.extracting(first: 16), bytes.extracting(Keyfile.tag))
      }
      guard isSound else { throw CipherFailure.notAuthentic }
      key = try Key(content, at: Keyfile.secret.lowerBound)
    } catch {
      throw error == .notAuthentic ? .damaged(.code) : .ciphers(error)
    }
    return HandedSecret(keyfile: keyfile.id.tag, secret: key)
  }

  /// The secret of a keyfile under a passphrase, whose bytes are the first `count` of `passphrase`.
  ///
  /// `.wrongKey`: the passphrase is wrong or the keyfile is damaged, which cannot be told apart.
  package static func secret(
    of content: borrowing SecretBytes, passphrase: borrowing SecretBytes, count: Int
  ) throws(KeyFailure) -> HandedSecret {
    let keyfile = try header(of: content)
    guard case .scrypt(let cost) = keyfile.kind else { throw .wrongKey }
    let key: Key
    do throws(CipherFailure) {
      var aead = try context(of: cost, passphrase, count)
      key = try content.withBytes { bytes throws(CipherFailure) in
        let ciphertext = Bytes32(bytes, at: Keyfile.secret.lowerBound).digest
        let tag = Bytes16(bytes, at: Keyfile.tag.lowerBound).tag
        return try aead.unwrap(
          EncryptedKey(ciphertext: ciphertext, tag: tag), nonce: Aead.Nonce(repeating: 0),
          authenticating: bytes.extracting(Keyfile.authenticated))
      }
    } catch {
      throw error == .notAuthentic ? .wrongKey : .ciphers(error)
    }
    return HandedSecret(keyfile: keyfile.id.tag, secret: key)
  }

  /// A new secret, for a new keyfile.
  package static func fresh() throws(KeyFailure) -> HandedSecret {
    try ciphering { () throws(CipherFailure) in
      HandedSecret(keyfile: try Bytes16.random().tag, secret: try Key.random())
    }
  }

  /// A keyfile without a passphrase.
  package static func content(of secret: borrowing HandedSecret) throws(KeyFailure) -> SecretBytes {
    var content = try blank(Keyfile(.raw, id: Bytes16(secret.keyfile)))
    do throws(CipherFailure) {
      try secret.secret.copy(into: &content, at: Keyfile.secret.lowerBound)
      let digest = try content.withBytes { bytes throws(CipherFailure) in
        try SHA256.hash(bytes.extracting(Keyfile.checksummed))
      }
      content.withMutableBytes { bytes in
        for (index, offset) in Keyfile.tag.enumerated() { bytes[offset] = digest[index] }
      }
    } catch {
      throw .ciphers(error)
    }
    return content
  }

  /// A keyfile under a passphrase.
  ///
  /// `cost` has a fresh salt, every time: only then is a nonce that never changes safe.
  package static func content(
    of secret: borrowing HandedSecret, passphrase: borrowing SecretBytes, count: Int,
    cost: Keyfile.Parameters
  ) throws(KeyFailure) -> SecretBytes {
    var content = try blank(Keyfile(.scrypt(cost), id: Bytes16(secret.keyfile)))
    do throws(CipherFailure) {
      var aead = try context(of: cost, passphrase, count)
      let made = try content.withBytes { bytes throws(CipherFailure) in
        try aead.wrap(
          secret.secret, nonce: Aead.Nonce(repeating: 0),
          authenticating: bytes.extracting(Keyfile.authenticated))
      }
      content.withMutableBytes { bytes in
        Bytes32(made.ciphertext).store(in: &bytes, at: Keyfile.secret.lowerBound)
        Bytes16(made.tag).store(in: &bytes, at: Keyfile.tag.lowerBound)
      }
    } catch {
      throw .ciphers(error)
    }
    return content
  }

  /// The usual cost of a passphrase, with a fresh salt.
  package static func defaultCost() throws(KeyFailure) -> Keyfile.Parameters {
    let salt = try ciphering { () throws(CipherFailure) in try Bytes16.random() }
    let cost = Keyfile.Parameters.defaultCost
    let parameters = Keyfile.Parameters(
      logN: cost.logN, blockFactor: cost.blockFactor, parallelism: cost.parallelism, salt: salt)
    guard let parameters else { throw .ciphers(.unusable) }
    return parameters
  }

  /// How many bytes of what was read are the passphrase: one newline at the end is not; nil if nothing is left.
  package static func passphraseLength(
    _ passphrase: borrowing SecretBytes, read count: Int
  ) -> Int? {
    passphrase.withBytes { bytes in
      guard (1...bytes.count).contains(count) else { return nil }
      let length = bytes[count - 1] == UInt8(ascii: "\n") ? count - 1 : count
      return length > 0 ? length : nil
    }
  }

  private static func blank(_ keyfile: Keyfile) throws(KeyFailure) -> SecretBytes {
    var content = try ciphering { () throws(CipherFailure) in try SecretBytes(count: Keyfile.size) }
    try content.withMutableBytes { bytes throws(KeyFailure) in
      do throws(FormatDamage) {
        try keyfile.encode(into: &bytes)
      } catch {
        throw .damaged(.format(error))
      }
    }
    return content
  }

  private static func context(
    of cost: Keyfile.Parameters, _ passphrase: borrowing SecretBytes, _ count: Int
  ) throws(CipherFailure) -> Aead {
    let salt = cost.salt.tag
    let key = try Key(
      passphrase: passphrase, count: count, salt: salt.span, logN: cost.logN,
      blockFactor: cost.blockFactor, parallelism: cost.parallelism, memory: cost.memory)
    var aead = try AeadPool().borrow()
    try aead.use(key)
    return aead
  }
}
