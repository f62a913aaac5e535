// The keys of the classes, and the keys of files under them.

import Ciphers
import SealedFormat

/// What is in memory of the keys of a volume.
struct ClassKeys: ~Copyable, Sendable {
  var volume: Bytes16?
  /// What new files of class `completeUnlessOpen` are made with; stays when the classes are locked.
  private(set) var publicKey: Digest?
  private var complete: Key?
  /// The scalar to `publicKey`.
  private var completeUnlessOpen: Key?
  private var untilFirstUnlock: Key?

  init() {}

  init(_ opened: borrowing OpenKeybag) throws(CipherFailure) {
    volume = opened.keybag.volume
    let scalar = try opened.classKey(.completeUnlessOpen)
    publicKey = try scalar.publicKey()
    complete = try opened.classKey(.complete)
    completeUnlessOpen = consume scalar
    untilFirstUnlock = try opened.classKey(.untilFirstUnlock)
  }

  mutating func wipe(_ classes: ClassSet) {
    if classes.contains(.complete) { complete = nil }
    if classes.contains(.completeUnlessOpen) { completeUnlessOpen = nil }
    if classes.contains(.untilFirstUnlock) { untilFirstUnlock = nil }
  }

  /// What the key of a file is wrapped with; nil while its class is locked.
  ///
  /// `publicKey`: of the file, for `completeUnlessOpen`.
  func wrappingKey(
    _ protection: StaticSector.ProtectionClass, _ volume: Bytes16, _ file: Bytes16, _ publicKey: Bytes32
  ) throws(CipherFailure) -> Key? {
    switch protection {
    case .complete: return try ClassKeys.wrappingKey(complete, volume, file)
    case .untilFirstUnlock: return try ClassKeys.wrappingKey(untilFirstUnlock, volume, file)
    case .completeUnlessOpen:
      guard let owner = self.publicKey else { return nil }
      return try ClassKeys.wrappingKey(completeUnlessOpen, owner, volume, file, publicKey.digest)
    }
  }

  private static func wrappingKey(
    _ key: borrowing Key?, _ volume: Bytes16, _ file: Bytes16
  ) throws(CipherFailure) -> Key? {
    switch key {
    case .none: return nil
    case .some(let key): return try Key(expanding: key, info: KeyLabel.wrap(volume, file).span)
    }
  }

  private static func wrappingKey(
    _ scalar: borrowing Key?, _ owner: Digest, _ volume: Bytes16, _ file: Bytes16, _ publicKey: Digest
  ) throws(CipherFailure) -> Key? {
    switch scalar {
    case .none: return nil
    case .some(let scalar):
      let shared = try Key(agreeingOn: scalar, with: publicKey.span)
      return try wrappingKey(shared, volume, file, publicKey, owner)
    }
  }

  /// Both sides come to the same: who makes a file with a fresh scalar, and who opens it with the scalar of the class.
  static func wrappingKey(
    _ shared: borrowing Key, _ volume: Bytes16, _ file: Bytes16, _ publicKey: Digest, _ owner: Digest
  ) throws(CipherFailure) -> Key {
    let salt = Bytes32(publicKey).bytes + Bytes32(owner).bytes
    return try Key(
      extractingFrom: shared, salt: salt.span, info: KeyLabel.publicWrap(volume, file).span)
  }
}

extension Bytes32 {
  var bytes: [UInt8] { low.bytes + high.bytes }
}
