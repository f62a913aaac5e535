// Exports that were made before the keyslots of a volume changed.

import Ciphers
import Testing

@testable import LayeredVolume

@Suite("Old keybags") struct OldKeybagTests {
  private func compare(
    _ vault: Vault, _ exported: [UInt8], _ number: UInt8
  ) throws -> (isOlder: Bool, ownLacksKeyslot: Bool) {
    vault.restart()
    let outcome = try vault.keyring.unlock(with: try keyfile(number), exported: exported)
    return (outcome.isOlderKeybag, outcome.ownLacksKeyslot)
  }

  @Test("An export that is older than the volume's own keybag opens it, and that is told") func older() throws
  {
    let vault = try Vault()
    try vault.keyring.makeKeybag(for: try keyfile(1))
    let first = try vault.keyring.export()
    try vault.keyring.addSlot(for: try keyfile(2), with: try keyfile(1))
    let second = try vault.keyring.export()
    #expect(try compare(vault, first, 1) == (true, false))
    #expect(try compare(vault, second, 1) == (false, false))
    try vault.keyring.removeSlot(of: identifier(1), with: try keyfile(2))
    #expect(try compare(vault, second, 1) == (true, true))
    #expect(try compare(vault, second, 2) == (true, false))
    #expect(failure { _ = try vault.keyring.unlock(with: try keyfile(1)) } == .wrongKey)
    // Without an export there is nothing to tell.
    #expect(try vault.keyring.unlock(with: try keyfile(2)) == Keyring.Unlocking())
  }

  @Test("One that takes the place of a damaged keybag is compared with that") func taken() throws {
    let vault = try Vault()
    try vault.keyring.makeKeybag(for: try keyfile(1))
    let first = try vault.keyring.export()
    try vault.keyring.addSlot(for: try keyfile(2), with: try keyfile(1))
    var damaged = try vault.keyring.export()
    // Its code.
    damaged[100] ^= 1
    for name in ["keybag", "keybag.copy"] { try vault.write(name, damaged) }
    vault.restart()
    let outcome = try vault.keyring.unlock(with: try keyfile(1), exported: first)
    #expect(outcome.healed && outcome.isOlderKeybag && !outcome.ownLacksKeyslot)
    #expect(vault.read("keybag") == first)
    #expect(try compare(vault, first, 1) == (false, false))
  }

  @Test("Of two that were made of one keybag neither is the older, and what the own one lacks is told")
  func aside() throws {
    let vault = try Vault()
    try vault.keyring.makeKeybag(for: try keyfile(1))
    let first = try vault.keyring.export()
    try vault.keyring.addSlot(for: try keyfile(2), with: try keyfile(1))
    let second = try vault.keyring.export()
    for name in ["keybag", "keybag.copy"] { try vault.write(name, first) }
    try vault.keyring.addSlot(for: try keyfile(3), with: try keyfile(1))
    #expect(try compare(vault, second, 2) == (false, true))
    #expect(try compare(vault, second, 1) == (false, false))
  }
}
