// Keybags of another volume in the place of the right one: by a hand, or from a backup.

import Ciphers
import SealedFormat
import Testing

@testable import LayeredVolume

@Suite("Keybags of another volume") struct ForeignKeybagTests {
  /// The keybag of another volume that keyfile 1 opens, too.
  private func foreign() throws -> [UInt8] {
    let other = try Vault()
    try other.keyring.makeKeybag(for: try keyfile(1))
    return try #require(other.read("keybag"))
  }

  /// A volume with encrypted files, if `isUsed`, and its keybag.
  private func vault(isUsed: Bool) throws -> (Vault, [UInt8]) {
    let vault = try Vault()
    try vault.keyring.makeKeybag(for: try keyfile(1))
    if isUsed {
      _ = try vault.keyring.unlock(with: try keyfile(1))
      _ = try vault.keyring.sessions.begin()
    }
    vault.restart()
    return (vault, try #require(vault.read("keybag")))
  }

  private func aside(_ vault: Vault) throws -> [[UInt8]?] {
    try vault.names.filter { $0.hasPrefix("keybag.other-") }.map { vault.read($0) }
  }

  @Test(
    "The one that files were written under counts, and the other is kept beside",
    arguments: ["keybag", "keybag.copy"])
  func besideTheRightOne(_ name: String) throws {
    let (vault, own) = try vault(isUsed: true)
    let foreign = try foreign()
    try vault.write(name, foreign)
    let before = try vault.keyring.lookForKeybag()
    #expect(try vault.keyring.slots() == [identifier(1)] && vault.keyring.export() == own)
    #expect(try !vault.keyring.inspect(with: try keyfile(1)).isWhole)
    #expect(try vault.keyring.unlock(with: try keyfile(1)).healed)
    #expect(try before == vault.keyring.volume && before == Keybag.volume(of: own))
    #expect(vault.read("keybag") == own && vault.read("keybag.copy") == own)
    #expect(try aside(vault) == [foreign])
    // Nor does a change of slots lose it.
    try vault.write(name, foreign)
    try vault.keyring.addSlot(for: try keyfile(2), with: try keyfile(1))
    #expect(vault.read("keybag") == vault.read("keybag.copy"))
    #expect(try vault.keyring.slots().count == 2 && aside(vault) == [foreign])
  }

  @Test("Alone it opens nothing, and an export takes its place") func alone() throws {
    let (vault, own) = try vault(isUsed: true)
    let foreign = try foreign()
    for (name, other) in [("keybag", "keybag.copy"), ("keybag.copy", "keybag")] {
      try vault.write(name, foreign)
      try vault.write(other, nil)
      vault.restart()
      #expect(try vault.keyring.lookForKeybag() == Keybag.volume(of: own))
      #expect(failure { _ = try vault.keyring.unlock(with: try keyfile(1)) } == .keybagOfAnother)
      #expect(failure { _ = try vault.keyring.inspect(with: try keyfile(1)) } == .keybagOfAnother)
      #expect(failure { _ = try vault.keyring.export() } == .keybagOfAnother)
      #expect(
        failure { try vault.keyring.addSlot(for: try keyfile(2), with: try keyfile(1)) } == .keybagOfAnother)
      #expect(vault.states == [.locked, .locked, .locked] && vault.read(name) == foreign)
      #expect(try vault.keyring.unlock(with: try keyfile(1), exported: own).healed)
      #expect(vault.read("keybag") == own && vault.read("keybag.copy") == own)
      #expect(try aside(vault) == [foreign])
    }
  }

  @Test("Where nothing was written under either, none is chosen", arguments: [false, true])
  func undecided(_ isSwapped: Bool) throws {
    let (vault, own) = try vault(isUsed: false)
    let foreign = try foreign()
    let (first, copy) = isSwapped ? (own, foreign) : (foreign, own)
    try vault.write("keybag", first)
    try vault.write("keybag.copy", copy)
    for number: UInt8 in [1, 3] {
      #expect(failure { _ = try vault.keyring.unlock(with: try keyfile(number)) } == .keybagsDiffer)
    }
    #expect(failure { _ = try vault.keyring.slots() } == .keybagsDiffer)
    #expect(failure { _ = try vault.keyring.export() } == .keybagsDiffer)
    #expect(failure { _ = try vault.keyring.inspect(with: try keyfile(1)) } == .keybagsDiffer)
    #expect(
      failure { try vault.keyring.addSlot(for: try keyfile(2), with: try keyfile(1)) } == .keybagsDiffer)
    #expect(vault.states == [.locked, .locked, .locked])
    #expect(vault.read("keybag") == first && vault.read("keybag.copy") == copy)
    #expect(try aside(vault).isEmpty)
    // Whoever moves the wrong one away has decided.
    try vault.write(isSwapped ? "keybag.copy" : "keybag", nil)
    #expect(try vault.keyring.unlock(with: try keyfile(1)).healed)
    #expect(vault.read("keybag") == own && vault.read("keybag.copy") == own)
  }

  @Test("A damaged one is no rival, whatever volume it names") func damaged() throws {
    let (vault, own) = try vault(isUsed: false)
    var damaged = try foreign()
    damaged[100] ^= 1
    try vault.write("keybag", damaged)
    #expect(try vault.keyring.unlock(with: try keyfile(1)).healed)
    #expect(vault.read("keybag") == own && vault.read("keybag.copy") == own)
    #expect(try aside(vault) == [damaged])
  }
}

extension Keybag {
  fileprivate static func volume(of stored: [UInt8]) throws -> Bytes16 {
    try Keybag(decoding: stored.span).volume
  }
}
