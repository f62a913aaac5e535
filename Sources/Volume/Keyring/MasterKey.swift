// From a keyfile's secret and a keybag to the master key, and what is derived from it before it is wiped.

import Ciphers
import SealedFormat

/// A keybag that a keyfile opened, with its master key.
///
/// Lives as briefly as can be.
struct OpenKeybag: ~Copyable {
  private(set) var keybag: Keybag
  private let master: Key

  /// A keybag with a new master key, which nobody can open yet.
  static func make(
    for secret: borrowing HandedSecret, _ aead: inout Aead
  ) throws(CipherFailure) -> OpenKeybag {
    let master = try Key.random()
    let volume = try Bytes16.random()
    let slot = try OpenKeybag.slot(for: secret, volume, master, &aead)
    let check = Bytes32(try master.expanded(info: KeyLabel.checkValue(volume).span))
    return OpenKeybag(keybag: Keybag(volume: volume, checkValue: check, first: slot), master: master)
  }

  private init(keybag: Keybag, master: consuming Key) {
    self.keybag = keybag
    self.master = master
  }

  /// Opens a stored keybag: a slot first, then the value that commits to the master key, then the code over all of it.
  ///
  /// `.wrongKey` if no slot opens; `.damaged` for everything else that is wrong with the bytes.
  static func open(
    _ stored: [UInt8], with secret: borrowing HandedSecret, _ aead: inout Aead
  ) throws(KeyFailure) -> OpenKeybag {
    let keybag: Keybag
    do throws(FormatDamage) {
      keybag = try Keybag(decoding: stored.span)
    } catch {
      throw .damaged(.format(error))
    }
    let master = try openSlot(of: keybag, stored, with: secret, &aead)
    let volume = keybag.volume
    let check = try ciphering { () throws(CipherFailure) in
      try master.expanded(info: KeyLabel.checkValue(volume).span)
    }
    let expected = keybag.checkValue.digest
    guard SHA256.areEqual(check.span, expected.span) else { throw .damaged(.checkValue) }
    let opened = OpenKeybag(keybag: keybag, master: master)
    guard try opened.isGenuine(stored) else { throw .damaged(.code) }
    return opened
  }

  /// The slots of this keyfile first, then the others: a keyfile may have been given another number.
  private static func openSlot(
    of keybag: Keybag, _ stored: [UInt8], with secret: borrowing HandedSecret, _ aead: inout Aead
  ) throws(KeyFailure) -> Key {
    let keyfile = Bytes16(secret.keyfile)
    for index in keybag.order(for: keyfile) {
      guard let slot = keybag.slots[index] else { continue }
      do throws(CipherFailure) {
        try useKey(of: slot.salt, keybag.volume, secret, &aead)
        let label = Keyslot.associatedLabel + keybag.volume.bytes
        return try aead.unwrap(
          slot.wrapped.encrypted, nonce: slot.wrapped.nonce.bytes, authenticating: label.span,
          stored.span.extracting(Keybag.authenticated(index)))
      } catch {
        guard error == .notAuthentic else { throw .ciphers(error) }
      }
    }
    switch keybag.failure(for: keyfile) {
    case .wrongKey: throw .wrongKey
    case .damaged: throw .damaged(.slot)
    }
  }

  private static func useKey(
    of salt: Bytes32, _ volume: Bytes16, _ secret: borrowing HandedSecret, _ aead: inout Aead
  ) throws(CipherFailure) {
    let salt = salt.digest
    let wrapping = try Key(
      extractingFrom: secret.secret, salt: salt.span, info: KeyLabel.slotKey(volume).span)
    try aead.use(wrapping)
  }

  private static func slot(
    for secret: borrowing HandedSecret, _ volume: Bytes16, _ master: borrowing Key, _ aead: inout Aead
  ) throws(CipherFailure) -> Keyslot {
    let (keyfile, salt, nonce) = (Bytes16(secret.keyfile), try Bytes32.random(), try Nonce.random())
    try useKey(of: salt, volume, secret, &aead)
    // What is authenticated are the bytes as they are stored, before the wrapped key.
    let blank = WrappedKey(nonce: nonce, ciphertext: .zero, tag: .zero)
    var bytes = [UInt8](repeating: 0, count: Keyslot.size)
    var span = bytes.mutableSpan
    Keyslot(keyfile: keyfile, salt: salt, wrapped: blank).encode(into: &span, at: 0)
    let label = Keyslot.associatedLabel + volume.bytes
    let wrapped = try aead.wrap(
      master, nonce: nonce.bytes, authenticating: label.span,
      bytes.span.extracting(Keyslot.authenticated))
    return Keyslot(keyfile: keyfile, salt: salt, wrapped: WrappedKey(wrapped, nonce: nonce))
  }

  /// Whether stored bytes carry the code of this master key.
  borrowing func isGenuine(_ stored: [UInt8]) throws(KeyFailure) -> Bool {
    guard stored.count >= Keybag.code.upperBound else { return false }
    let code = try ciphering { () throws(CipherFailure) in try self.code(of: stored) }
    return SHA256.areEqual(code.span, stored.span.extracting(Keybag.code))
  }

  private borrowing func code(of stored: [UInt8]) throws(CipherFailure) -> Digest {
    var bytes = stored
    for index in Keybag.code { bytes[index] = 0 }
    let key = try Key(expanding: master, info: KeyLabel.keybagCode(keybag.volume).span)
    return try key.code(of: bytes.span)
  }

  /// The keybag with its code, as it is stored.
  borrowing func stored() throws(CipherFailure) -> [UInt8] {
    var bytes = keybag.encoded()
    let code = try self.code(of: bytes)
    for (index, offset) in Keybag.code.enumerated() { bytes[offset] = code[index] }
    return bytes
  }

  mutating func addSlot(
    for secret: borrowing HandedSecret, _ aead: inout Aead
  ) throws(KeyFailure) {
    let keyfile = Bytes16(secret.keyfile)
    guard !keybag.hasSlot(of: keyfile) else { throw .slotExists }
    let slot: Keyslot
    do throws(CipherFailure) {
      slot = try OpenKeybag.slot(for: secret, keybag.volume, master, &aead)
    } catch {
      throw .ciphers(error)
    }
    do throws(Keybag.Refusal) {
      try keybag.add(slot)
    } catch {
      throw .slots(error)
    }
  }

  mutating func removeSlot(of keyfile: Bytes16) throws(KeyFailure) {
    do throws(Keybag.Refusal) {
      guard let index = keybag.slots.firstIndex(where: { $0?.keyfile == keyfile }) else {
        throw .noSuchSlot
      }
      try keybag.remove(at: index)
    } catch {
      throw .slots(error)
    }
  }

  borrowing func classKey(_ protection: StaticSector.ProtectionClass) throws(CipherFailure) -> Key {
    try Key(expanding: master, info: KeyLabel.classKey(keybag.volume, protection).span)
  }

  borrowing func sessionKey() throws(CipherFailure) -> Key {
    try Key(expanding: master, info: KeyLabel.sessions(keybag.volume).span)
  }
}
