// Classes that are locked and opened, and the keys of files.

import Ciphers
import LinuxFiles
import Randomness
import SealedFormat
import Testing

@testable import LayeredVolume

private let classes: [StaticSector.ProtectionClass] = [.complete, .completeUnlessOpen, .untilFirstUnlock]

@Suite("Classes and files", .serialized) struct ClassTests {
  private func opened() throws -> Vault {
    let vault = try Vault()
    try vault.keyring.makeKeybag(for: try keyfile(1))
    _ = try vault.keyring.unlock(with: try keyfile(1))
    return vault
  }

  @Test("A file opens with the keys it was made with", arguments: classes)
  func roundTrip(_ protection: StaticSector.ProtectionClass) throws {
    let vault = try opened()
    let keys = try vault.keyring.makeKeys()
    let header = try vault.header(protection, for: keys)
    let sector = try StaticSector(decoding: header.span)
    #expect(sector.protectionClass == protection && sector.file == keys.file)
    #expect((sector.publicKey == .zero) == (protection != .completeUnlessOpen))
    vault.restart()
    try vault.keyring.lookForKeybag()
    #expect(failure { _ = try vault.keyring.keys(from: header) } == .locked)
    _ = try vault.keyring.unlock(with: try keyfile(1))
    let read = try vault.keyring.keys(from: header)
    #expect(read.file == keys.file)
    let marks = try [nil, 0, 1, 77, 1, .max].map { try vault.keyring.mark(read, segment: $0) }
    #expect(try [nil, 0, 1, 77, 1, .max].map { try vault.keyring.mark(keys, segment: $0) } == marks)
    // The keys of segments differ; the same segment has the same key again.
    #expect(Set(marks).count == 5 && marks[2] == marks[4])
  }

  @Test("Two headers of one file are never alike, and both open") func rewrapping() throws {
    let vault = try opened()
    let keys = try vault.keyring.makeKeys()
    let mark = try vault.keyring.mark(keys)
    var headers: Set<[UInt8]> = []
    for protection in classes + classes { headers.insert(try vault.header(protection, for: keys)) }
    #expect(headers.count == 6)
    for header in headers {
      #expect(try vault.keyring.mark(try vault.keyring.keys(from: header)) == mark)
    }
    #expect(try vault.keyring.makeKeys().file != keys.file)
  }

  @Test("A lock closes what it says, unlocking opens it again") func locking() throws {
    let vault = try opened()
    let headers = try classes.map { try vault.header($0) }
    func open() -> [KeyFailure?] {
      headers.map { header in failure { _ = try vault.keyring.keys(from: header) } }
    }
    func make() -> [KeyFailure?] {
      classes.map { protection in failure { _ = try vault.header(protection) } }
    }
    #expect(open() == [nil, nil, nil])
    let epoch = vault.keyring.epoch
    #expect(vault.keyring.beginLocking(.locking) == .locking)
    #expect(vault.states == [.draining, .draining, .open])
    #expect(open() == [.locked, .locked, nil])
    #expect(make() == [.locked, nil, nil])
    #expect(failure { _ = try vault.keyring.unlock(with: try keyfile(1)) } == .busy)
    #expect(vault.keyring.beginLocking(.locking) == [])
    #expect(vault.keyring.epoch == epoch)
    vault.keyring.finishLocking(.locking)
    #expect(vault.keyring.epoch == epoch + 1)
    #expect(vault.states == [.locked, .locked, .open])
    #expect(open() == [.locked, .locked, nil])
    // Files of the second class are made while it is locked, and open later.
    #expect(make() == [.locked, nil, nil])
    let keys = try vault.keyring.makeKeys()
    let late = try vault.header(.completeUnlessOpen, for: keys)
    let mark = try vault.keyring.mark(keys)
    #expect(failure { _ = try vault.keyring.keys(from: late) } == .locked)

    #expect(vault.keyring.beginLocking(.all) == .untilFirstUnlock)
    vault.keyring.finishLocking(.all)
    #expect(vault.states == [.locked, .locked, .locked])
    #expect(make() == [.locked, nil, .locked])
    #expect(failure { _ = try vault.keyring.unlock(with: try keyfile(9)) } == .wrongKey)
    #expect(vault.states == [.locked, .locked, .locked])
    _ = try vault.keyring.unlock(with: try keyfile(1))
    #expect(open() == [nil, nil, nil])
    #expect(try vault.keyring.mark(try vault.keyring.keys(from: late)) == mark)
  }

  @Test("After a lock of everything, keys of sessions are all that is left in the secure heap") func wiped()
    throws
  {
    let vault = try Vault()
    // What the library looks up when it is first asked stays.
    _ = try opened()
    let empty = SecureHeap.used
    try vault.keyring.makeKeybag(for: try keyfile(1))
    #expect(SecureHeap.used == empty)
    _ = try vault.keyring.unlock(with: try keyfile(1))
    let header = try vault.header(.complete)
    do {
      let keys = try vault.keyring.keys(from: header)
      let held = SecureHeap.used
      _ = try vault.keyring.mark(keys, segment: 5)
      #expect(SecureHeap.used == held)
    }
    #expect(SecureHeap.used > empty + 32)
    _ = vault.keyring.beginLocking(.all)
    vault.keyring.finishLocking(.all)
    #expect(SecureHeap.used == empty + 32)
    // Neither a keyfile that does not open leaves anything, nor a change of slots while all is locked.
    _ = failure { _ = try vault.keyring.unlock(with: try keyfile(2)) }
    try vault.keyring.addSlot(for: try keyfile(3), with: try keyfile(1))
    try vault.keyring.removeSlot(of: identifier(1), with: try keyfile(3))
    try vault.keyring.addSlot(for: try keyfile(1), with: try keyfile(3))
    #expect(SecureHeap.used == empty + 32)
    for _ in 0..<50 {
      _ = try vault.keyring.unlock(with: try keyfile(1))
      _ = vault.keyring.beginLocking(.all)
      vault.keyring.finishLocking(.all)
    }
    #expect(SecureHeap.used == empty + 32)
    vault.restart()
    #expect(SecureHeap.used == empty)
  }

  @Test("A header of another volume is told from a damaged one") func foreign() throws {
    let vault = try opened()
    #expect(failure { _ = try vault.keyring.keys(from: Golden.header) } == .foreignVolume)
    #expect(KeyFailure.foreignVolume.number == .noKey)
    #expect(
      failure { _ = try vault.keyring.keys(from: [UInt8](repeating: 0, count: 512)) }
        == .damagedHeader(.format(.magic)))
    #expect(failure { _ = try vault.keyring.keys(from: []) } == .damagedHeader(.format(.length)))
    #expect(KeyFailure.damagedHeader(.tag).number == .inputOutput)
  }

  @Test("No bit of a header can be changed", arguments: classes)
  func everyBit(_ protection: StaticSector.ProtectionClass) throws {
    let vault = try opened()
    let header = try vault.header(protection)
    for offset in 0..<164 {
      for bit in 0..<8 {
        var changed = header
        changed[offset] ^= 1 << UInt8(bit)
        let found = failure { _ = try vault.keyring.keys(from: changed) }
        switch found {
        case .damagedHeader: break
        // The volume it names.
        case .foreignVolume where (32..<48).contains(offset): break
        // X25519 ignores the highest bit of a public key; the tag does not.
        default: Issue.record("byte \(offset), bit \(bit): \(String(describing: found))")
        }
      }
    }
  }

  @Test("A public key of small order in a header is damage, not a key that everybody has") func weakPoint()
    throws
  {
    let vault = try opened()
    var header = try vault.header(.completeUnlessOpen)
    header.replaceSubrange(72..<104, with: [UInt8](repeating: 0, count: 32))
    #expect(failure { _ = try vault.keyring.keys(from: header) } == .damagedHeader(.tag))
  }

  @Test("Headers at random open nothing") func noise() throws {
    var dice = Dice(for: "headers")
    let vault = try opened()
    let good = try classes.map { try vault.header($0) }
    for _ in 0..<5000 {
      var bytes = dice.pick(good)
      if dice.once(in: 10) { bytes.removeLast(dice.below(512)) }
      let original = bytes
      for _ in 0...dice.below(4) where !bytes.isEmpty {
        bytes[dice.below(min(bytes.count, 164))] = UInt8(truncatingIfNeeded: dice.next())
      }
      if bytes == original { continue }
      if failure({ _ = try vault.keyring.keys(from: bytes) }) == nil { Issue.record("\(bytes)") }
    }
  }

  @Test("Another keybag in place of the one that opened this mount is refused") func exchanged() throws {
    let vault = try opened()
    try vault.write("keybag", Golden.keybag)
    try vault.write("keybag.copy", Golden.keybag)
    #expect(failure { _ = try vault.keyring.unlock(with: try Golden.keyfile()) } == .foreignKeybag)
    #expect(vault.states == [.open, .open, .open])
    _ = try vault.header(.complete)
  }

  @Test("A keybag that nobody can read is not taken for none") func unreadable() throws {
    let vault = try Vault(["keybag": [1, 2, 3]])
    #expect(failure { try vault.keyring.lookForKeybag() } == .keybagsDamaged)
    #expect(failure { _ = try vault.keyring.slots() } == .damaged(.format(.magic)))
    #expect(failure { try vault.keyring.makeKeybag(for: try keyfile(1)) } == .keyNeeded)
  }

  @Test("Locking, unlocking and using keys at once") func threads() throws {
    let vault = try opened()
    let keyring = vault.keyring
    let header = try vault.header(.complete)
    let mark = try keyring.mark(try keyring.keys(from: header))
    let stop = Flag()
    let bad = Flag()
    var threads: [Running] = []
    for _ in 0..<3 {
      threads.append(
        Running(
          try PlainThread {
            while !stop.isSet {
              do {
                let keys = try keyring.keys(from: header)
                if try keyring.mark(keys) != mark || keyring.mark(keys, segment: 3).isEmpty { bad.set() }
              } catch {
                if error as? KeyFailure != .locked { bad.set() }
              }
            }
          }))
    }
    for _ in 0..<300 {
      keyring.finishLocking(keyring.beginLocking(.all))
      _ = try keyring.unlock(with: try keyfile(1))
    }
    stop.set()
    for thread in threads { thread.join() }
    #expect(!bad.isSet)
  }
}
