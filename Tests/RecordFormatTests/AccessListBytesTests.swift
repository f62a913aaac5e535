// The stored form of lists: golden bytes, round trips, and every way a list can be wrong.

import AccessControl
import Randomness
import RecordFormat
import Testing

@Suite("Stored access lists") struct AccessListBytesTests {
  static let example = AccessList(
    [
      AccessEntry(.deny, .user(1000), .delete),
      AccessEntry(.allow, .group(12), [.read, .execute], [.fileInherit, .directoryInherit]),
      AccessEntry(.allow, .everyone, .read, .inherited),
      AccessEntry(.allow, .owner, .writeSecurity),
      AccessEntry(.allow, .owningGroup, [.read, .genericAll, .genericExecute, .genericWrite, .genericRead]),
      AccessEntry(.audit, .nobody, .synchronize, [.auditSuccess, .auditFailure]),
    ], flags: .noInherit)

  static let exampleBytes = bytes(
    "ac 01",  // magic, version
    "0600",  // six entries
    "00000200",  // list flags: no_inherit
    "26667d19",  // checksum
    // class, kind, inheritance, number, rights
    "00 02 0000 e8030000 10000000",  // user 1000, deny, delete
    "01 01 6000 0c000000 0a000000",  // group 12, allow, read and execute, to files and directories
    "02 01 1000 00000000 02000000",  // everyone, allow, inherited, read
    "03 01 0000 00000000 00100000",  // owner, allow, writesecurity
    "04 01 0000 00000000 0200e001",  // owning group, allow, read and the generic rights
    "05 03 0006 00000000 00001000")  // nobody, audit of success and failure, synchronize

  @Test("The example keeps its bytes") func golden() throws {
    #expect(hex(try AccessListBytes.encode(Self.example)) == hex(Self.exampleBytes))
    #expect(try AccessListBytes.decode(Self.exampleBytes.span) == Self.example)
  }

  @Test("A list without entries is a header") func empty() throws {
    let stored = bytes(
      "ac 01",  // magic, version
      "0000",  // no entries
      "00000000",  // list flags
      "93b5a90c")  // checksum
    #expect(hex(try AccessListBytes.encode(AccessList())) == hex(stored))
    #expect(try AccessListBytes.decode(stored.span) == AccessList())
  }

  @Test("128 entries fit, 129 do not") func limit() throws {
    let entry = AccessEntry(.allow, .user(.max), .specific, .all)
    let full = AccessList(Array(repeating: entry, count: 128))
    let stored = try AccessListBytes.encode(full)
    // Far below what one extended attribute of ext4 may hold.
    #expect(stored.count == 12 + 128 * 12)
    #expect(try AccessListBytes.decode(stored.span) == full)
    #expect(throws: TooManyEntries()) {
      try AccessListBytes.encode(AccessList(Array(repeating: entry, count: 129)))
    }
    #expect(throws: TooManyEntries()) {
      try AccessListBytes.encode(AccessList(Array(repeating: entry, count: 70_000)))
    }
    let tooMany = sealed(
      stored.replacing(2, with: 129) + [UInt8](repeating: 0, count: 12))
    #expect(throws: Damage.tooManyEntries(129)) { try AccessListBytes.decode(tooMany.span) }
  }

  @Test("Bits of requests are stripped on the way in and on the way out") func strips() throws {
    let asked: Rights = [.read, .linkTarget, .checkImmutable, .ignoringFlags, Rights(rawValue: 1 << 31)]
    let stored = try AccessListBytes.encode(AccessList([AccessEntry(.allow, .everyone, asked)]))
    #expect(try AccessListBytes.decode(stored.span).entries.first?.rights == .read)
    let foreign = sealed(stored.replacing(23, with: 0x46))
    #expect(try AccessListBytes.decode(foreign.span).entries.first?.rights == .read)
  }

  struct Wrong: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let bytes: [UInt8]
    let damage: Damage

    init(_ sentence: String, _ bytes: [UInt8], _ damage: Damage) {
      testDescription = sentence
      self.bytes = bytes
      self.damage = damage
    }
  }

  static let wrong = [
    Wrong("nothing", [], .tooShort),
    Wrong("half a header", Array(exampleBytes[..<11]), .tooShort),
    Wrong("another magic", exampleBytes.replacing(0, with: 0xA7), .foreignMagic(0xA7)),
    Wrong("a later version", exampleBytes.replacing(1, with: 2), .unknownVersion(2)),
    Wrong("an entry missing", sealed(Array(exampleBytes.dropLast(12))), .tooShort),
    Wrong("half an entry", sealed(Array(exampleBytes.dropLast(5))), .tooShort),
    Wrong("an entry too many", sealed(exampleBytes + exampleBytes.suffix(12)), .trailingBytes),
    Wrong("a byte too many", sealed(exampleBytes + [0]), .trailingBytes),
    Wrong(
      "a class of tomorrow", sealed(exampleBytes.replacing(24, with: 6)), .badField(.identityClass(entry: 1))),
    Wrong("a kind that is none", sealed(exampleBytes.replacing(13, with: 0)), .badField(.kind(entry: 0))),
    Wrong("a kind of tomorrow", sealed(exampleBytes.replacing(25, with: 5)), .badField(.kind(entry: 1))),
    Wrong(
      "inheritance of tomorrow", sealed(exampleBytes.replacing(27, with: 0x08)),
      .badField(.inheritance(entry: 1))),
    Wrong(
      "everyone with a number", sealed(exampleBytes.replacing(40, with: 1)), .badField(.strayNumber(entry: 2))
    ),
  ]

  @Test(arguments: wrong) func refuses(_ row: Wrong) {
    #expect(throws: row.damage) { try AccessListBytes.decode(row.bytes.span) }
  }

  @Test("A changed byte breaks the checksum") func checksum() {
    let changed = Self.exampleBytes.replacing(16, with: 0xE9)
    let stored = CRC32C.of(Self.exampleBytes.span, withoutField: 8)
    let computed = CRC32C.of(changed.span, withoutField: 8)
    #expect(throws: Damage.checksum(stored: stored, computed: computed)) {
      try AccessListBytes.decode(changed.span)
    }
  }

  @Test("Random lists survive", arguments: [31, 32] as [UInt64]) func roundTrips(seed: UInt64) throws {
    var generator = Dice(seed: seed)
    for round in 0..<500 {
      let list = AccessList(
        (0..<Int.random(in: 0...20, using: &generator)).map { _ in
          .random(
            rights: .storable, inheritance: .all, kinds: [.allow, .deny, .audit, .alarm], using: &generator)
        },
        flags: AccessList.Flags(rawValue: .random(in: 0...UInt32.max, using: &generator)))
      let stored = try AccessListBytes.encode(list)
      #expect(try AccessListBytes.decode(stored.span) == list, "seed \(seed), round \(round)")
    }
  }

  @Test("A list cut or changed in one byte is never believed") func fuzz() throws {
    let sound = Self.exampleBytes
    for length in 0..<sound.count {
      let cut = Array(sound[..<length])
      if (try? AccessListBytes.decode(cut.span)) != nil { Issue.record("believed with \(length) bytes") }
      if (try? AccessListBytes.decode(sealed(cut).span)) != nil { Issue.record("believed \(length), sealed") }
    }
    for index in sound.indices {
      for byte in UInt8.min...UInt8.max where byte != sound[index] {
        let changed = sound.replacing(index, with: byte)
        if (try? AccessListBytes.decode(changed.span)) != nil {
          Issue.record("believed with byte \(index) = \(byte)")
        }
        guard let list = try? AccessListBytes.decode(sealed(changed).span) else { continue }
        let again = try AccessListBytes.encode(list)
        #expect(try AccessListBytes.decode(again.span) == list)
      }
    }
  }
}
