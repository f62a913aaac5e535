// Keyfiles: made, read, damaged.

import Ciphers
import Randomness
import SealedFormat
import Testing

@testable import LayeredVolume

@Suite("Keyfiles") struct KeyfileTests {
  private func open(_ content: [UInt8]) throws -> [UInt8] {
    try exposed(try KeyfileContent.secret(of: try secret(content)))
  }

  private func open(_ content: [UInt8], _ passphrase: [UInt8]) throws -> [UInt8] {
    try exposed(
      try KeyfileContent.secret(
        of: try secret(content), passphrase: try secret(passphrase), count: passphrase.count))
  }

  private func cost(_ salt: UInt64 = 1) throws -> Keyfile.Parameters {
    try #require(
      Keyfile.Parameters(logN: 4, blockFactor: 2, parallelism: 1, salt: Bytes16(low: salt, high: 0)))
  }

  @Test("What is made opens again") func roundTrip() throws {
    let fresh = try KeyfileContent.fresh()
    let expected = try exposed(fresh)
    let raw = exposed(try KeyfileContent.content(of: fresh))
    #expect(try open(raw) == expected)
    let passphrase = Array("correct horse".utf8)
    let closed = exposed(
      try KeyfileContent.content(
        of: fresh, passphrase: try secret(passphrase), count: passphrase.count, cost: try cost()))
    #expect(try open(closed, passphrase) == expected)
    #expect(!closed.indices.contains { closed[$0...].starts(with: expected[16...]) })
    #expect(try exposed(try KeyfileContent.fresh()) != expected)
    let (one, two) = (try KeyfileContent.defaultCost(), try KeyfileContent.defaultCost())
    #expect(one.salt != two.salt && one.logN == 17)
  }

  @Test("A wrong passphrase, and bytes that were changed under one, look the same") func wrong() throws {
    #expect(failure { _ = try open(Golden.scryptKeyfile, Array("password".utf8)) } == .wrongKey)
    // Identifier, salt, secret, tag.
    for offset in [16, 31, 32, 47, 48, 79, 80, 95] {
      var changed = Golden.scryptKeyfile
      changed[offset] ^= 1
      #expect(failure { _ = try open(changed, Golden.passphrase) } == .wrongKey)
    }
    // Another cost that is allowed.
    var changed = Golden.scryptKeyfile
    changed[9] = 9
    #expect(failure { _ = try open(changed, Golden.passphrase) } == .wrongKey)
  }

  @Test("A keyfile of the other kind is not read") func kinds() throws {
    #expect(failure { _ = try open(Golden.scryptKeyfile) } == .wrongKey)
    #expect(failure { _ = try open(Golden.rawKeyfile, Golden.passphrase) } == .wrongKey)
  }

  @Test("Damage is told from a wrong keyfile") func damage() throws {
    for offset in Golden.rawKeyfile.indices {
      for bit in 0..<8 {
        var changed = Golden.rawKeyfile
        changed[offset] ^= 1 << UInt8(bit)
        let found = failure { _ = try open(changed) }
        // One bit makes it a keyfile with a passphrase, of a cost that there is not.
        if case .damaged = found { continue }
        Issue.record("byte \(offset), bit \(bit): \(String(describing: found))")
      }
    }
    for count in [0, 1, 95, 97, 192] {
      let bytes = Array((Golden.rawKeyfile + Golden.rawKeyfile).prefix(count))
      if count == 0 { continue }
      #expect(failure { _ = try open(bytes) } == .damaged(.format(.length)))
    }
  }

  @Test(
    "A cost beyond the bounds is not paid",
    arguments: [
      [0, 8, 1], [21, 8, 1], [20, 9, 1], [17, 0, 1], [17, 8, 0], [10, 65, 1], [10, 13, 5], [255, 255, 255],
    ])
  func bounds(_ cost: [UInt8]) {
    var changed = Golden.scryptKeyfile
    changed.replaceSubrange(9..<12, with: cost)
    #expect(
      failure { _ = try open(changed, Golden.passphrase) } == .damaged(.format(.field(.parameters))))
  }

  @Test(
    "One newline at the end of a passphrase is not part of it",
    arguments: [
      ("text\n", 4), ("text", 4), ("text\n\n", 5), ("\ntext", 5), ("\n\n", 1), ("t", 1),
    ])
  func newline(_ text: String, _ length: Int) throws {
    #expect(
      KeyfileContent.passphraseLength(try secret(Array(text.utf8)), read: text.utf8.count) == length)
  }

  @Test("An empty passphrase is none") func empty() throws {
    #expect(KeyfileContent.passphraseLength(try secret(Array("\n".utf8)), read: 1) == nil)
    #expect(KeyfileContent.passphraseLength(try secret([0]), read: 0) == nil)
    #expect(KeyfileContent.passphraseLength(try secret([1]), read: 2) == nil)
    #expect(failure { _ = try open(Golden.scryptKeyfile, []) } == .ciphers(.unusable))
  }

  @Test("Bytes at random are refused") func noise() throws {
    var dice = Dice(for: "keyfiles")
    for _ in 0..<3000 {
      var bytes = dice.pick([Golden.rawKeyfile, Golden.scryptKeyfile])
      for _ in 0...dice.below(5) { bytes[dice.below(bytes.count)] = UInt8(truncatingIfNeeded: dice.next()) }
      if bytes == Golden.rawKeyfile || bytes == Golden.scryptKeyfile { continue }
      // A cost that is allowed takes its time: only small ones are paid here.
      guard bytes[8] != 1 || bytes[9] < 10 else { continue }
      if failure({ _ = try open(bytes) }) == nil { Issue.record("\(bytes)") }
      if failure({ _ = try open(bytes, Golden.passphrase) }) == nil { Issue.record("\(bytes)") }
    }
  }
}
