// Keyslots, and what becomes of a keybag that is damaged or gone.

import Ciphers
import Glibc
import LinuxFiles
import Randomness
import SealedFormat
import Testing

@testable import LayeredVolume

@Suite("Keyslots") struct SlotTests {
  @Test("A volume without a keybag has no keys, and asks for nothing") func none() throws {
    let vault = try Vault()
    #expect(try vault.keyring.lookForKeybag() == nil)
    #expect(try vault.keyring.slots() == [])
    #expect(vault.states == [.locked, .locked, .locked])
    #expect(failure { _ = try vault.keyring.unlock(with: try keyfile(1)) } == .noKeybag)
    #expect(failure { _ = try vault.header(.complete) } == .locked)
    #expect(failure { _ = try vault.header(.completeUnlessOpen) } == .locked)
    #expect(failure { _ = try vault.keyring.keys(from: Golden.header) } == .locked)
    #expect(try vault.names == ["lock", "volume", "work"])
  }

  @Test("The first slot makes the keybag, and keeps older versions out before it is there") func first()
    throws
  {
    let vault = try Vault()
    try vault.keyring.makeKeybag(for: try keyfile(1))
    #expect(try vault.names == ["keybag", "keybag.copy", "lock", "sessions", "volume", "work"])
    #expect(vault.read("keybag") == vault.read("keybag.copy"))
    let text = String(decoding: try #require(vault.read("volume")), as: UTF8.self)
    #expect(text.contains("ro_compat = 2\n"))
    #expect(vault.states == [.locked, .locked, .locked])
    #expect(try vault.keyring.slots() == [identifier(1)])
    let volume = try #require(vault.keyring.volume)
    vault.restart()
    #expect(try vault.keyring.lookForKeybag() == volume)
    let outcome = try vault.keyring.unlock(with: try keyfile(1))
    #expect(outcome == Keyring.Unlocking())
    #expect(vault.states == [.open, .open, .open])
    #expect(failure { try vault.keyring.makeKeybag(for: try keyfile(2)) } == .keyNeeded)
  }

  @Test("Where a keybag was lost no other one is made in its place") func lostKeybag() throws {
    let vault = try Vault()
    try vault.keyring.makeKeybag(for: try keyfile(1))
    let keybag = vault.read("keybag")
    let unused = vault.read("sessions")
    // No session has begun, so nothing was ever written: this is what a crash leaves.
    try vault.write("keybag", nil)
    try vault.write("keybag.copy", nil)
    vault.restart()
    try vault.keyring.makeKeybag(for: try keyfile(2))
    #expect(vault.read("sessions") != unused)
    _ = try vault.keyring.unlock(with: try keyfile(2))
    _ = try vault.keyring.sessions.begin()
    try vault.keyring.sessions.end()
    let sessions = vault.read("sessions")
    try vault.write("keybag", nil)
    try vault.write("keybag.copy", nil)
    for log in [sessions, [], [1, 2, 3], Golden.sessions] {
      try vault.write("sessions", log)
      vault.restart()
      #expect(failure { try vault.keyring.makeKeybag(for: try keyfile(3)) } == .keybagLost)
      #expect(failure { _ = try vault.keyring.unlock(with: try keyfile(2)) } == .keybagLost)
      #expect(failure { _ = try vault.keyring.export() } == .keybagLost)
      #expect(failure { _ = try vault.keyring.export(with: try keyfile(2)) } == .keybagLost)
      #expect(failure { _ = try vault.keyring.slots() } == .keybagLost)
      #expect(vault.read("keybag") == nil && vault.read("sessions") == log)
    }
    // It is the log that forbids one.
    try vault.write("sessions", nil)
    try vault.keyring.makeKeybag(for: try keyfile(3))
    #expect(try vault.keyring.slots() == [identifier(3)])
    #expect(vault.read("keybag") != keybag)
  }

  @Test("A keybag is copied without a keyfile, and looked at with one; nothing is opened or changed")
  func looked() throws {
    let vault = try Vault()
    #expect(failure { _ = try vault.keyring.export() } == .noKeybag)
    #expect(failure { _ = try vault.keyring.inspect(with: try keyfile(1)) } == .noKeybag)
    try vault.keyring.makeKeybag(for: try keyfile(1))
    try vault.keyring.addSlot(for: try keyfile(2), with: try keyfile(1))
    let stored = try #require(vault.read("keybag"))
    #expect(try vault.keyring.export() == stored)
    var opening = try vault.keyring.inspect(with: try keyfile(2))
    #expect(opening.slots == 2 && opening.isWhole)
    #expect(failure { _ = try vault.keyring.inspect(with: try keyfile(3)) } == .wrongKey)
    // The copy is taken where the first cannot be read.
    try vault.write("keybag", [1, 2, 3])
    #expect(try vault.keyring.export() == stored)
    opening = try vault.keyring.inspect(with: try keyfile(1))
    #expect(opening.slots == 2 && !opening.isWhole)
    try vault.write("keybag.copy", [])
    #expect(failure { _ = try vault.keyring.export() } == .damaged(.format(.magic)))
    #expect(vault.read("keybag") == [1, 2, 3])
    #expect(vault.states == [.locked, .locked, .locked])
  }

  @Test("Slots are added and removed by whoever has one") func changes() throws {
    let vault = try Vault()
    try vault.keyring.makeKeybag(for: try keyfile(1))
    try vault.keyring.addSlot(for: try keyfile(2), with: try keyfile(1))
    try vault.keyring.addSlot(for: try keyfile(3), with: try keyfile(2))
    #expect(try vault.keyring.slots() == [identifier(1), identifier(2), identifier(3)])
    #expect(failure { try vault.keyring.addSlot(for: try keyfile(4), with: try keyfile(5)) } == .wrongKey)
    #expect(failure { try vault.keyring.addSlot(for: try keyfile(3), with: try keyfile(1)) } == .slotExists)
    for number: UInt8 in 1...3 { _ = try vault.keyring.unlock(with: try keyfile(number)) }

    try vault.keyring.removeSlot(of: identifier(1), with: try keyfile(1))
    #expect(try vault.keyring.slots() == [identifier(2), identifier(3)])
    vault.restart()
    #expect(failure { _ = try vault.keyring.unlock(with: try keyfile(1)) } == .wrongKey)
    #expect(vault.states == [.locked, .locked, .locked])
    _ = try vault.keyring.unlock(with: try keyfile(3))
    #expect(
      failure { try vault.keyring.removeSlot(of: identifier(9), with: try keyfile(3)) } == .slots(.noSuchSlot)
    )
    try vault.keyring.removeSlot(of: identifier(3), with: try keyfile(2))
    #expect(
      failure { try vault.keyring.removeSlot(of: identifier(2), with: try keyfile(2)) } == .slots(.lastSlot))
    // Every change counts.
    let stored = try #require(vault.read("keybag"))
    let keybag = try Keybag(decoding: stored.span)
    #expect(keybag.generation == 5)
  }

  @Test("Files stay readable when slots change") func filesStay() throws {
    let vault = try Vault()
    try vault.keyring.makeKeybag(for: try keyfile(1))
    _ = try vault.keyring.unlock(with: try keyfile(1))
    let keys = try vault.keyring.makeKeys()
    let header = try vault.header(.complete, for: keys)
    let mark = try vault.keyring.mark(keys)
    try vault.keyring.addSlot(for: try keyfile(2), with: try keyfile(1))
    try vault.keyring.removeSlot(of: identifier(1), with: try keyfile(2))
    vault.restart()
    _ = try vault.keyring.unlock(with: try keyfile(2))
    #expect(try vault.keyring.mark(try vault.keyring.keys(from: header)) == mark)
  }

  @Test("64 keyfiles, and not one more") func full() throws {
    let vault = try Vault()
    try vault.keyring.makeKeybag(for: try keyfile(1))
    for number: UInt8 in 2...64 { try vault.keyring.addSlot(for: try keyfile(number), with: try keyfile(1)) }
    #expect(
      failure { try vault.keyring.addSlot(for: try keyfile(65), with: try keyfile(1)) } == .slots(.full))
    #expect(try vault.keyring.slots().count == 64)
    _ = try vault.keyring.unlock(with: try keyfile(64))
    #expect(vault.read("keybag")?.count == Keybag.longest)
  }

  @Test("A keyfile whose number was changed still opens its slot") func renumbered() throws {
    let vault = try Vault(["keybag": Golden.keybag])
    _ = try vault.keyring.unlock(with: try handed([UInt8](repeating: 7, count: 16), [UInt8](0xA0...0xBF)))
    #expect(vault.states == [.open, .open, .open])
  }

  @Test("An exported keybag opens a volume that has lost its own, and becomes it") func exported() throws {
    let vault = try Vault()
    try vault.keyring.makeKeybag(for: try keyfile(1))
    _ = try vault.keyring.unlock(with: try keyfile(1))
    let keys = try vault.keyring.makeKeys()
    let header = try vault.header(.complete, for: keys)
    let mark = try vault.keyring.mark(keys)
    let export = try vault.keyring.export(with: try keyfile(1))
    #expect(failure { _ = try vault.keyring.export(with: try keyfile(2)) } == .wrongKey)
    #expect(export == vault.read("keybag"))
    try vault.write("keybag", nil)
    try vault.write("keybag.copy", nil)
    vault.restart()
    #expect(failure { _ = try vault.keyring.unlock(with: try keyfile(2), exported: export) } == .wrongKey)
    #expect(vault.read("keybag") == nil)
    let outcome = try vault.keyring.unlock(with: try keyfile(1), exported: export)
    #expect(outcome == Keyring.Unlocking(healed: true))
    #expect(try vault.keyring.mark(try vault.keyring.keys(from: header)) == mark)
    #expect(vault.read("keybag") == export && vault.read("keybag.copy") == export)

    let other = try Vault()
    #expect(try other.keyring.unlock(with: try keyfile(1), exported: export).lostSessions)
    let text = String(decoding: try #require(other.read("volume")), as: UTF8.self)
    #expect(text.contains("ro_compat = 2\n"))
  }

  @Test("An exported keybag of another volume does not become that of one which lost its own")
  func foreignExportInPlaceOfLost() throws {
    let vault = try Vault()
    try vault.keyring.makeKeybag(for: try keyfile(1))
    let export = try vault.keyring.export(with: try keyfile(1))
    _ = try vault.keyring.unlock(with: try keyfile(1))
    _ = try vault.keyring.sessions.begin()
    try vault.write("keybag", nil)
    try vault.write("keybag.copy", nil)
    vault.restart()
    #expect(
      failure { _ = try vault.keyring.unlock(with: try Golden.keyfile(), exported: Golden.keybag) }
        == .foreignKeybag)
    #expect(vault.states == [.locked, .locked, .locked])
    #expect(vault.read("keybag") == nil && vault.read("keybag.copy") == nil)
    // A damaged one says as little as none.
    try vault.write("keybag", [1, 2, 3])
    #expect(
      failure { _ = try vault.keyring.unlock(with: try Golden.keyfile(), exported: Golden.keybag) }
        == .foreignKeybag)
    try vault.write("keybag", nil)
    #expect(try vault.keyring.unlock(with: try keyfile(1), exported: export).healed)
  }

  @Test("An exported keybag of another volume is refused, one of this volume is used and not kept")
  func foreignExport() throws {
    let vault = try Vault()
    try vault.keyring.makeKeybag(for: try keyfile(1))
    #expect(
      failure { _ = try vault.keyring.unlock(with: try Golden.keyfile(), exported: Golden.keybag) }
        == .foreignKeybag)
    #expect(vault.states == [.locked, .locked, .locked])
    let export = try vault.keyring.export(with: try keyfile(1))
    try vault.keyring.addSlot(for: try keyfile(2), with: try keyfile(1))
    let present = vault.read("keybag")
    _ = try vault.keyring.unlock(with: try keyfile(1), exported: export)
    #expect(vault.read("keybag") == present)
  }

  private func unlock(
    _ first: [UInt8]?, _ copy: [UInt8]?, with secret: consuming HandedSecret
  ) throws -> (KeyFailure?, first: [UInt8]?, copy: [UInt8]?) {
    let vault = try Vault()
    if let first { try vault.write("keybag", first) }
    if let copy { try vault.write("keybag.copy", copy) }
    var result: KeyFailure?
    do throws(KeyFailure) {
      _ = try vault.keyring.unlock(with: secret)
    } catch {
      result = error
    }
    let isOpen = vault.states == [.open, .open, .open]
    #expect(isOpen == (result == nil))
    return (result, vault.read("keybag"), vault.read("keybag.copy"))
  }

  private func changed(_ offset: Int, _ value: UInt8 = 0xEE) -> [UInt8] {
    var bytes = Golden.keybag
    bytes[offset] ^= value
    return bytes
  }

  @Test("What is wrong with a keybag is found in order, and nothing is changed") func damage() throws {
    let wrong = try handed([UInt8](repeating: 7, count: 16), [UInt8](repeating: 7, count: 32))
    let rows: [([UInt8], KeyFailure.Damage)] = [
      ([], .format(.length)), (Array(Golden.keybag.dropLast()), .format(.length)),
      (Golden.keybag + [0], .format(.length)), (changed(0), .format(.magic)),
      (changed(8, 2), .format(.unknown(.version(3)))), (changed(40, 1), .format(.unknown(.required(1)))),
      (changed(128, 2), .format(.field(.kind))), (changed(255), .format(.reserved)),
      // The slot: who it is for, its salt, the wrapped key.
      (changed(151), .slot), (changed(152), .slot), (changed(184), .slot), (changed(200), .slot),
      (changed(16), .slot),
      (changed(64), .checkValue), (changed(95), .checkValue),
      (changed(96), .code), (changed(127), .code), (changed(32), .code), (changed(48), .code),
    ]
    for (stored, expected) in rows {
      let (result, first, copy) = try unlock(stored, nil, with: try Golden.keyfile())
      // With another number in the slot nothing names this keyfile any more.
      let wanted: KeyFailure =
        expected == .slot && stored[151] != Golden.keybag[151] ? .wrongKey : .damaged(expected)
      #expect(result == wanted, "\(expected)")
      #expect(first == stored && copy == nil)
      let (other, _, _) = try unlock(stored, Golden.keybag, with: try Golden.keyfile())
      #expect(other == nil, "\(expected)")
    }
    let (result, _, _) = try unlock(Golden.keybag, Golden.keybag, with: wrong)
    #expect(result == .wrongKey)
  }

  @Test("The good one of two files heals the other") func healing() throws {
    let good = Golden.keybag
    for bad in [nil, [], changed(0), changed(100), changed(200)] as [[UInt8]?] {
      for (first, copy) in [(good, bad), (bad, good)] {
        let (result, newFirst, newCopy) = try unlock(first, copy, with: try Golden.keyfile())
        #expect(result == nil && newFirst == good && newCopy == good)
      }
      let (result, newFirst, newCopy) = try unlock(bad, bad, with: try Golden.keyfile())
      #expect(result != nil && newFirst == bad && newCopy == bad)
    }
  }

  @Test("The copy is not asked whether a wrong keyfile is right after all") func copyAfterWrongKey() throws {
    let vault = try Vault()
    try vault.keyring.makeKeybag(for: try keyfile(1))
    try vault.keyring.addSlot(for: try keyfile(2), with: try keyfile(1))
    let both = vault.read("keybag.copy")
    try vault.keyring.removeSlot(of: identifier(2), with: try keyfile(1))
    // As a crash between the two files leaves it.
    try vault.write("keybag.copy", both)
    vault.restart()
    #expect(failure { _ = try vault.keyring.unlock(with: try keyfile(2)) } == .wrongKey)
    _ = try vault.keyring.unlock(with: try keyfile(1))
    #expect(vault.read("keybag.copy") == vault.read("keybag"))
  }

  @Test("Of two keybags of one volume the newer counts: a keyfile that was removed stays out")
  func newerCopy() throws {
    let vault = try Vault()
    try vault.keyring.makeKeybag(for: try keyfile(1))
    try vault.keyring.addSlot(for: try keyfile(2), with: try keyfile(1))
    let older = vault.read("keybag")
    try vault.keyring.removeSlot(of: identifier(2), with: try keyfile(1))
    let newer = try #require(vault.read("keybag"))
    // A backup brought back the first.
    try vault.write("keybag", older)
    #expect(failure { _ = try vault.keyring.unlock(with: try keyfile(2)) } == .wrongKey)
    #expect(failure { _ = try vault.keyring.inspect(with: try keyfile(2)) } == .wrongKey)
    #expect(try vault.keyring.slots() == [identifier(1)] && vault.keyring.export() == newer)
    #expect(vault.read("keybag") == older && vault.read("keybag.copy") == newer)
    #expect(try vault.keyring.unlock(with: try keyfile(1)).healed)
    #expect(vault.read("keybag") == newer && vault.read("keybag.copy") == newer)
    // A generation that is only claimed is none.
    var forged = newer
    forged[39] = 0x7F
    for name in ["keybag", "keybag.copy"] {
      try vault.write(name, forged)
      #expect(try vault.keyring.unlock(with: try keyfile(1)).healed)
      #expect(vault.read("keybag") == newer && vault.read("keybag.copy") == newer)
    }
  }

  @Test("A copy that a later version made is not written over") func laterCopy() throws {
    let vault = try Vault()
    try vault.keyring.makeKeybag(for: try keyfile(1))
    var later = try #require(vault.read("keybag"))
    later[40] = 2
    try vault.write("keybag.copy", later)
    #expect(try !vault.keyring.unlock(with: try keyfile(1)).healed)
    #expect(vault.read("keybag.copy") == later)
  }

  @Test("No bit of a keybag can be changed") func everyBit() throws {
    let vault = try Vault()
    for offset in Golden.keybag.indices {
      var changed = Golden.keybag
      changed[offset] ^= 1 << UInt8(offset & 7)
      if failure({ _ = try vault.keyring.unlock(with: try Golden.keyfile(), exported: changed) }) == nil {
        Issue.record("byte \(offset)")
      }
    }
    #expect(vault.states == [.locked, .locked, .locked])
    #expect(vault.read("keybag") == nil)
  }

  @Test("Bytes at random are refused") func noise() throws {
    var dice = Dice(for: "keybags")
    let vault = try Vault()
    for _ in 0..<2000 {
      var bytes = Golden.keybag
      switch dice.below(3) {
      case 0: bytes = (0..<dice.below(600)).map { _ in UInt8(truncatingIfNeeded: dice.next()) }
      case 1: bytes += [UInt8](repeating: 0, count: dice.below(4) * 128)
      default: break
      }
      for _ in 0...dice.below(4) where !bytes.isEmpty {
        bytes[dice.below(bytes.count)] = UInt8(truncatingIfNeeded: dice.next())
      }
      guard bytes != Golden.keybag else { continue }
      try vault.write("keybag", bytes)
      try vault.write("keybag.copy", dice.once(in: 2) ? bytes : [])
      if failure({ _ = try vault.keyring.unlock(with: try Golden.keyfile()) }) == nil {
        Issue.record("\(bytes)")
      }
    }
  }

  @Test("What is not a file is not a keybag", arguments: ["directory", "link", "fifo"]) func kinds(
    _ kind: String
  ) throws {
    let vault = try Vault(["keybag.copy": Golden.keybag])
    let path = "\(vault.path)/.varve/keybag"
    switch kind {
    case "directory": try #require(mkdir(path, 0o700) == 0)
    case "link": try #require(symlink("keybag.copy", path) == 0)
    default: try #require(mkfifo(path, 0o600) == 0)
    }
    let outcome = try vault.keyring.unlock(with: try Golden.keyfile())
    // A directory is in the way for good.
    #expect(outcome.healed == (kind != "directory"))
    #expect((outcome.healingFailure == nil) == outcome.healed)
    #expect(vault.states == [.open, .open, .open])
  }
}
