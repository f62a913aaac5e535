// The keys of files: made, put into the header of a file, and got out of it again.

import Ciphers
package import SealedFormat
import Synchronization

extension Keyring {
  /// A new file's identifier and keys.
  package func makeKeys() throws(KeyFailure) -> FileKeys {
    try ciphering { () throws(CipherFailure) in try FileKeys.random(for: try Bytes16.random()) }
  }

  /// The header of a file: its key, wrapped for a class.
  ///
  /// For a new file, or for another class of an old one. `.locked` while the class is; but files of
  /// `completeUnlessOpen` can be made ever after the first unlock.
  package func header(
    for keys: FileKeys, _ protection: StaticSector.ProtectionClass
  ) throws(KeyFailure) -> StaticSector {
    guard protection == .completeUnlessOpen else {
      guard let volume else { throw .locked }
      let wrapping = try wrappingKey(protection, volume, keys.file, .zero)
      return try wrap(keys, protection, volume, publicKey: .zero, with: wrapping)
    }
    let (known, owner) = self.keys.withLock { ($0.volume, $0.publicKey) }
    guard let volume = known, let owner else { throw .locked }
    let ephemeral = try ciphering { () throws(CipherFailure) in try Key.random() }
    let publicKey = try ciphering { () throws(CipherFailure) in try ephemeral.publicKey() }
    let wrapping = try ciphering { () throws(CipherFailure) in
      let shared = try Key(agreeingOn: ephemeral, with: owner.span)
      return try ClassKeys.wrappingKey(shared, volume, keys.file, publicKey, owner)
    }
    return try wrap(keys, protection, volume, publicKey: Bytes32(publicKey), with: wrapping)
  }

  /// The keys of a file, from the 512 bytes of its header.
  ///
  /// `.foreignVolume`, `.locked`, or `.damagedHeader`.
  package func keys(from header: Span<UInt8>) throws(KeyFailure) -> FileKeys {
    let sector: StaticSector
    do throws(FormatDamage) {
      sector = try StaticSector(decoding: header)
    } catch {
      throw .damagedHeader(.format(error))
    }
    // Without a keybag, or before anybody looked for it, nothing is known of the volume.
    guard let volume else { throw .locked }
    guard volume == sector.volume else { throw .foreignVolume }
    let wrapping = try wrappingKey(sector.protectionClass, volume, sector.file, sector.publicKey)
    do throws(CipherFailure) {
      var aead = try contexts.borrow()
      try aead.use(wrapping)
      let block = try KeyBlock()
      let label = StaticSector.associatedLabel
      try aead.unwrap(
        sector.wrapped.encrypted, into: block, FileKeys.ownKey, nonce: sector.wrapped.nonce.bytes,
        authenticating: label.span, header.extracting(StaticSector.authenticated))
      return try FileKeys(sector.file, block)
    } catch {
      throw error == .notAuthentic ? .damagedHeader(.tag) : .ciphers(error)
    }
  }

  /// What keys of files of an open class are wrapped with.
  private func wrappingKey(
    _ protection: StaticSector.ProtectionClass, _ volume: Bytes16, _ file: Bytes16, _ publicKey: Bytes32
  ) throws(KeyFailure) -> Key {
    guard state(of: protection) == .open else { throw .locked }
    let found: Key?
    do throws(CipherFailure) {
      found = try keys.withLock { keys throws(CipherFailure) in
        try keys.wrappingKey(protection, volume, file, publicKey)
      }
    } catch {
      throw error == .weakPublicKey ? .damagedHeader(.tag) : .ciphers(error)
    }
    // It may have been locked a moment ago.
    guard let key = consume found else { throw .locked }
    return key
  }

  private func wrap(
    _ keys: FileKeys, _ protection: StaticSector.ProtectionClass, _ volume: Bytes16, publicKey: Bytes32,
    with wrapping: borrowing Key
  ) throws(KeyFailure) -> StaticSector {
    func sector(_ wrapped: WrappedKey) -> StaticSector {
      StaticSector(protection, volume: volume, file: keys.file, publicKey: publicKey, wrapped: wrapped)
    }
    let nonce: Nonce
    do throws(CipherFailure) {
      nonce = try Nonce.random()
    } catch {
      throw .ciphers(error)
    }
    var bytes = [UInt8](repeating: 0, count: StaticSector.size)
    do throws(FormatDamage) {
      var span = bytes.mutableSpan
      try sector(WrappedKey(nonce: nonce, ciphertext: .zero, tag: .zero)).encode(into: &span)
    } catch {
      throw .damagedHeader(.format(error))
    }
    do throws(CipherFailure) {
      var aead = try contexts.borrow()
      try aead.use(wrapping)
      let label = StaticSector.associatedLabel
      let made = try aead.wrap(
        keys.block, FileKeys.ownKey, nonce: nonce.bytes, authenticating: label.span,
        bytes.span.extracting(StaticSector.authenticated))
      return sector(WrappedKey(made, nonce: nonce))
    } catch {
      throw .ciphers(error)
    }
  }
}
