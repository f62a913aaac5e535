// Stored bytes that were made by another program from the description of the format.

import Ciphers
import SealedFormat
import Testing

@testable import LayeredVolume

@Suite("Keys of the format") struct GoldenTests {
  @Test("A keybag opens with its keyfile, and so does a file under it") func opens() throws {
    let vault = try Vault(["keybag": Golden.keybag, "sessions": Golden.sessions])
    #expect(try vault.keyring.lookForKeybag() == Golden.volume)
    let outcome = try vault.keyring.unlock(with: try Golden.keyfile())
    #expect(outcome == Keyring.Unlocking(healed: true))
    #expect(vault.read("keybag.copy") == Golden.keybag)

    let keys = try vault.keyring.keys(from: Golden.header)
    #expect(keys.file == Golden.file)
    var aead = try vault.keyring.contexts.borrow()
    try keys.useForSeals(&aead)
    var slot = [UInt8](repeating: 0, count: 480)
    (slot[0], slot[8], slot[24], slot[32], slot[48]) = (3, 5, 1, 7, 2)
    let prefix = Slot.associatedPrefix(file: Golden.file)
    try aead.verify(
      bytes16("9786dcfe3e9c8b76ff8e7246ef05482a").tag, of: prefix.span, slot.span,
      nonce: Nonce(random: 0xB3B3_B3B3_B3B3_B3B3, counter: 3).bytes)

    try keys.use(&aead, forSegment: 0)
    var block = Array("hello".utf8) + [UInt8](repeating: 0, count: 4091)
    var span = block.mutableSpan
    let data = Golden.file.bytes + bytes("0000000000000000 0100000000000000 0000000000000000")
    let tag = try aead.encrypt(
      &span, nonce: Nonce(random: 0x0706_0504_0302_0100, counter: 1).bytes, authenticating: data.span)
    #expect(Bytes16(tag) == bytes16("d94d152141eea186a6ecd370f2b3dc44"))
  }

  @Test("The session log tells which sessions ended") func sessions() throws {
    let vault = try Vault(["keybag": Golden.keybag, "sessions": Golden.sessions])
    #expect(!vault.keyring.sessions.hasEnded(7))
    let outcome = try vault.keyring.unlock(with: try Golden.keyfile())
    #expect(!outcome.lostSessions)
    let ended = (0...9).filter { vault.keyring.sessions.hasEnded(UInt64($0)) }
    #expect(ended == [1, 2, 3, 4, 6, 7])
  }

  @Test("A keyfile gives its secret, with a passphrase and without") func keyfiles() throws {
    let expected = [UInt8](0x10...0x1F) + [UInt8](0xA0...0xBF)
    #expect(try exposed(try KeyfileContent.secret(of: try secret(Golden.rawKeyfile))) == expected)
    let opened = try KeyfileContent.secret(
      of: try secret(Golden.scryptKeyfile), passphrase: try secret(Golden.passphrase),
      count: Golden.passphrase.count)
    #expect(try exposed(opened) == expected)
    #expect(exposed(try KeyfileContent.content(of: opened)) == Golden.rawKeyfile)
    guard case .scrypt(let cost) = try KeyfileContent.header(of: try secret(Golden.scryptKeyfile)).kind else {
      Issue.record("not scrypt")
      return
    }
    let made = try KeyfileContent.content(
      of: opened, passphrase: try secret(Golden.passphrase), count: Golden.passphrase.count, cost: cost)
    #expect(exposed(made) == Golden.scryptKeyfile)
  }
}
