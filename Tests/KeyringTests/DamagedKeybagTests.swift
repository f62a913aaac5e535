// A keybag of which one file is damaged, and its copy whole: it opens, and nobody who was removed comes back by that.

import Ciphers
import SealedFormat
import Testing

@testable import LayeredVolume

@Suite("Damaged keybags") struct DamagedKeybagTests {
  /// Changes one byte of a stored keybag.
  private func changed(_ stored: [UInt8], _ offset: Int) -> [UInt8] {
    var bytes = stored
    bytes[offset] ^= 0xAA
    return bytes
  }

  @Test(
    "No byte of one file of the keybag locks anybody out while the other file is whole",
    arguments: [false, true])
  func everyByte(_ hasSessions: Bool) throws {
    for name in ["keybag", "keybag.copy"] {
      let vault = try Vault()
      try vault.keyring.makeKeybag(for: try keyfile(1))
      if hasSessions {
        _ = try vault.keyring.unlock(with: try keyfile(1))
        _ = try vault.keyring.sessions.begin()
      }
      let whole = try #require(vault.read("keybag"))
      for offset in whole.indices {
        if !hasSessions, vault.read("sessions") != nil { try vault.write("sessions", nil) }
        try vault.write(name, changed(whole, offset))
        vault.restart()
        var isWhole = true
        let seen = failure { isWhole = try vault.keyring.inspect(with: try keyfile(1)).isWhole }
        #expect(!isWhole, "\(name), byte \(offset)")
        #expect(seen == nil, "\(name), byte \(offset)")
        var isHealed = false
        let refusal = failure { isHealed = try vault.keyring.unlock(with: try keyfile(1)).healed }
        #expect(refusal == nil, "\(name), byte \(offset)")
        // What could be a later version's is left alone.
        let isLater = 8..<10 ~= offset || 40..<48 ~= offset
        #expect(isHealed == !isLater, "\(name), byte \(offset)")
        if !isLater { #expect(vault.read("keybag") == whole && vault.read("keybag.copy") == whole) }
        try vault.write(name, whole)
      }
    }
  }

  @Test("A slot that lost its name does not keep a change of slots from being made, in both files")
  func change() throws {
    let vault = try Vault()
    try vault.keyring.makeKeybag(for: try keyfile(1))
    try vault.write("keybag", changed(try #require(vault.read("keybag")), 140))
    try vault.keyring.addSlot(for: try keyfile(2), with: try keyfile(1))
    #expect(try vault.keyring.slots() == [identifier(1), identifier(2)])
    #expect(vault.read("keybag") == vault.read("keybag.copy"))
  }

  @Test(
    "A keyfile that was removed stays out while the file without it is sound, also where the copy is older")
  func removed() throws {
    let vault = try Vault()
    try vault.keyring.makeKeybag(for: try keyfile(1))
    try vault.keyring.addSlot(for: try keyfile(2), with: try keyfile(1))
    let older = try #require(vault.read("keybag"))
    try vault.keyring.removeSlot(of: identifier(2), with: try keyfile(1))
    let newer = try #require(vault.read("keybag"))
    // A crash between the two files leaves the first; a backup of one of them the other.
    for (first, copy) in [(newer, older), (older, newer)] {
      try vault.write("keybag", first)
      try vault.write("keybag.copy", copy)
      vault.restart()
      #expect(failure { _ = try vault.keyring.unlock(with: try keyfile(2)) } == .wrongKey)
      #expect(failure { _ = try vault.keyring.inspect(with: try keyfile(2)) } == .wrongKey)
      #expect(
        failure { try vault.keyring.addSlot(for: try keyfile(3), with: try keyfile(2)) } == .wrongKey)
      #expect(vault.read("keybag") == first && vault.read("keybag.copy") == copy)
      // Nor where the copy is damaged: then there is nothing that opens.
      try vault.write("keybag", newer)
      try vault.write("keybag.copy", changed(older, 100))
      #expect(failure { _ = try vault.keyring.unlock(with: try keyfile(2)) } == .wrongKey)
    }
  }

  @Test("Beside a keybag without a form, a session log that names another volume is told as that")
  func otherLog() throws {
    let vault = try Vault()
    try vault.keyring.makeKeybag(for: try keyfile(1))
    _ = try vault.keyring.unlock(with: try keyfile(1))
    _ = try vault.keyring.sessions.begin()
    let (whole, log) = (try #require(vault.read("keybag")), try #require(vault.read("sessions")))
    // A byte of the volume that it names.
    try vault.write("sessions", changed(log, 20))
    for (name, other) in [("keybag", "keybag.copy"), ("keybag.copy", "keybag")] {
      try vault.write(name, [])
      try vault.write(other, whole)
      vault.restart()
      #expect(failure { _ = try vault.keyring.unlock(with: try keyfile(1)) } == .keybagOfAnother)
      #expect(failure { _ = try vault.keyring.inspect(with: try keyfile(1)) } == .keybagOfAnother)
    }
    // As that says: the log is moved away.
    try vault.write("sessions", nil)
    #expect(try vault.keyring.unlock(with: try keyfile(1)).healed)
  }
}
