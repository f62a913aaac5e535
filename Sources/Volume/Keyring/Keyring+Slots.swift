// Keyslots: which keyfiles open the volume.

package import Ciphers
import LinuxFiles
package import SealedFormat
import Synchronization

extension Keyring {
  /// The keyfiles that have a slot; empty without a keybag.
  package func slots() throws(KeyFailure) -> [Bytes16] {
    guard let files = directory.descriptor else { return [] }
    guard let (keybag, _) = try KeybagPair(in: files).readable() else {
      // Without one, is there nothing to open, or was it lost?
      try SessionLogFile(directory).requireUnused()
      return []
    }
    return keybag.slots.compactMap { $0?.keyfile }
  }

  /// A copy of the keybag, which is of no use without a keyfile.
  package func export() throws(KeyFailure) -> [UInt8] {
    guard let files = directory.descriptor else { throw .noKeybag }
    guard let (_, stored) = try KeybagPair(in: files).readable() else {
      try SessionLogFile(directory).requireUnused()
      throw .noKeybag
    }
    return stored
  }

  /// The same of the one that a keyfile opens.
  package func export(with secret: consuming HandedSecret) throws(KeyFailure) -> [UInt8] {
    let secret = secret
    return try changingSlots { files, aead throws(KeyFailure) in
      var place = KeybagPair.Place.first
      let pair = try KeybagPair(in: files)
      if pair.isMissing { try SessionLogFile(directory).requireUnused() }
      let opened = try pair.open(with: secret, &aead, from: &place)
      return try ciphering { () throws(CipherFailure) in try opened.stored() }
    }
  }

  /// Makes the keybag of a volume that has none, with its first slot.
  ///
  /// Opens nothing. Refused where there are encrypted files, unless `besideEncrypted`: it would not open them.
  package func makeKeybag(
    for secret: consuming HandedSecret, besideEncrypted: Bool = false
  ) throws(KeyFailure) {
    let secret = secret
    try changingSlots { files, aead throws(KeyFailure) in
      let pair = try KeybagPair(in: files)
      guard pair.isMissing else { throw .keyNeeded }
      let opened = try ciphering { () throws(CipherFailure) in try OpenKeybag.make(for: secret, &aead) }
      let stored = try ciphering { () throws(CipherFailure) in try opened.stored() }
      let sessionKey = try ciphering { () throws(CipherFailure) in try opened.sessionKey() }
      guard directory.isLocked else { throw .system(.readOnly) }
      let volume = opened.keybag.volume
      try SessionLogFile(directory).requireUnused()
      if !besideEncrypted, let path = EncryptedSearch.file(below: [directory.root] + lowers) {
        throw .encryptedFiles(path)
      }
      // Older versions keep out before there is anything that they would leave unprotected.
      try calling { () throws(Errno) in try directory.announceProtectedContent() }
      try SessionLogFile(directory).makeFirst(of: volume, with: sessionKey)
      try pair.write(stored, of: volume, in: files)
      learn(volume: volume)
    }
  }

  /// Lets another keyfile open the volume.
  package func addSlot(
    for secret: consuming HandedSecret, with present: consuming HandedSecret
  ) throws(KeyFailure) {
    let secret = secret
    let present = present
    try change(with: present) { opened, aead throws(KeyFailure) in
      try opened.addSlot(for: secret, &aead)
    }
  }

  /// Keeps a keyfile out, as far as it has no older keybag.
  package func removeSlot(
    of keyfile: Bytes16, with present: consuming HandedSecret
  ) throws(KeyFailure) {
    let present = present
    try change(with: present) { opened, _ throws(KeyFailure) in
      try opened.removeSlot(of: keyfile)
    }
  }

  private func change(
    with present: borrowing HandedSecret,
    _ body: (inout OpenKeybag, inout Aead) throws(KeyFailure) -> Void
  ) throws(KeyFailure) {
    try changingSlots { files, aead throws(KeyFailure) in
      guard directory.isLocked else { throw .system(.readOnly) }
      var place = KeybagPair.Place.first
      let pair = try KeybagPair(in: files)
      var opened = try pair.open(with: present, &aead, from: &place)
      try body(&opened, &aead)
      let stored = try ciphering { () throws(CipherFailure) in try opened.stored() }
      try pair.write(stored, of: opened.keybag.volume, in: files)
    }
  }

  private func changingSlots<Value>(
    _ body: (SharedDescriptor, inout Aead) throws(KeyFailure) -> Value
  ) throws(KeyFailure) -> Value {
    try turns.withLock { _ throws(KeyFailure) in
      guard let files = directory.descriptor else { throw .system(.readOnly) }
      var aead = try Keyring.ownContext()
      return try body(files, &aead)
    }
  }
}
