// What each key is derived for: labels, and the conversions between stored and secret forms.

import Ciphers
import SealedFormat

/// The labels of derived keys, each with what it is bound to.
enum KeyLabel {
  // On disk since format 1, in every key. Never change.
  static func slotKey(_ volume: Bytes16) -> [UInt8] { label("EAR1/kek", volume) }
  static func checkValue(_ volume: Bytes16) -> [UInt8] { label("EAR1/check", volume) }
  static func keybagCode(_ volume: Bytes16) -> [UInt8] { label("EAR1/keybag-mac", volume) }
  static func sessions(_ volume: Bytes16) -> [UInt8] { label("EAR1/sessions", volume) }

  static func classKey(_ volume: Bytes16, _ protection: StaticSector.ProtectionClass) -> [UInt8] {
    // The class and the serial of its key, as numbers of four bytes.
    label("EAR1/class", volume) + [protection.rawValue, 0, 0, 0] + [1, 0, 0, 0]
  }

  static func wrap(_ volume: Bytes16, _ file: Bytes16) -> [UInt8] {
    label("EAR1/wrap", volume) + file.bytes
  }

  static func publicWrap(_ volume: Bytes16, _ file: Bytes16) -> [UInt8] {
    label("EAR1/wrap-x25519", volume) + file.bytes
  }

  private static func label(_ text: String, _ volume: Bytes16) -> [UInt8] {
    Array(text.utf8) + volume.bytes
  }
}

extension Bytes16 {
  var bytes: [UInt8] {
    var bytes = [UInt8](repeating: 0, count: 16)
    var span = bytes.mutableSpan
    store(in: &span, at: 0)
    return bytes
  }

  var tag: Tag {
    var tag = Tag(repeating: 0)
    var span = tag.mutableSpan
    store(in: &span, at: 0)
    return tag
  }

  init(_ tag: Tag) { self.init(tag.span, at: 0) }

  static func random() throws(CipherFailure) -> Bytes16 {
    Bytes16(low: try SystemRandom.number(), high: try SystemRandom.number())
  }
}

extension Bytes32 {
  var digest: Digest {
    var digest = Digest(repeating: 0)
    var span = digest.mutableSpan
    store(in: &span, at: 0)
    return digest
  }

  init(_ digest: Digest) { self.init(digest.span, at: 0) }

  static func random() throws(CipherFailure) -> Bytes32 {
    Bytes32(try Bytes16.random(), try Bytes16.random())
  }
}

extension WrappedKey {
  var encrypted: EncryptedKey { EncryptedKey(ciphertext: ciphertext.digest, tag: tag.tag) }

  init(_ encrypted: EncryptedKey, nonce: Nonce) {
    self.init(nonce: nonce, ciphertext: Bytes32(encrypted.ciphertext), tag: Bytes16(encrypted.tag))
  }
}

extension Nonce {
  static func random() throws(CipherFailure) -> Nonce {
    Nonce(random: try SystemRandom.number(), counter: try SystemRandom.number())
  }
}
