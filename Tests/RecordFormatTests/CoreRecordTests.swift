// The core record: golden bytes, round trips, and every way a record can be wrong.

import FlagRules
import Randomness
import RecordFormat
import Testing

@Suite("The core record") struct CoreRecordTests {
  struct Golden: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let record: CoreRecord
    let bytes: [UInt8]
  }

  static let golden: [Golden] = [
    Golden(
      testDescription: "a hidden file: nothing but the header",
      record: {
        var record = CoreRecord()
        record.flags = .hidden
        return record
      }(),
      bytes: bytes(
        "a7 01",  // magic, version
        "0000",  // presence: none
        "00800000",  // flags: hidden
        "dfb9228a",  // checksum
        "00 00 0000")),  // protection class, compression policy, reserved
    Golden(
      testDescription: "a copied-up, locked file with a list: the longest common record, 60 bytes",
      record: {
        var record = CoreRecord()
        record.marks = .accessList
        record.flags = .userImmutable
        record.protectionClass = .b
        record.origin = CoreRecord.Origin(
          fileSystemTag: 0x0102_0304, inode: 0x1122_3344_5566_7788, generation: 7, ownInode: 0x99,
          ownGeneration: 8)
        record.links = CoreRecord.LinkCount(-2, relativeTo: .upper)
        record.birthTime = CoreRecord.BirthTime(seconds: -1, nanoseconds: 999_999_999)
        return record
      }(),
      bytes: bytes(
        "a7 01",  // magic, version
        "9103",  // presence: access list, origin, links, relative to upper, birth time
        "02000000",  // flags: uchg
        "ae2e2276",  // checksum
        "02 00 0000",  // protection class B, compression policy, reserved
        "04030201 8877665544332211 07000000",  // origin: file system, inode, generation
        "9900000000000000 08000000",  // the item's own inode and generation
        "feffffff",  // links: 2 fewer
        "ffffffffffffffff ffc99a3b")),  // birth time: one nanosecond before 1970
    Golden(
      testDescription: "a hidden file whose content is being replaced",
      record: {
        var record = CoreRecord()
        record.flags = .hidden
        record.replaced = .init(size: 300_000, modified: .init(seconds: 1_700_000_000, nanoseconds: 5))
        return record
      }(),
      bytes: bytes(
        "a7 01",  // magic, version
        "0004",  // presence: being replaced
        "00800000",  // flags: hidden
        "2f0588eb",  // checksum
        "00 00 0000",  // protection class, compression policy, reserved
        "e093040000000000",  // the size that programs see
        "00f1536500000000 05000000")),  // the time of modification that they see
    Golden(
      testDescription: "a compressed file owned by a group, in a directory that compresses",
      record: {
        var record = CoreRecord()
        record.flags = [.compressed, .systemImmutable]
        record.compressionPolicy = 1
        record.logicalSize = 65537
        record.ownerGroup = 50
        return record
      }(),
      bytes: bytes(
        "a7 01",  // magic, version
        "0810",  // presence: compressed, owner group
        "20000200",  // flags: schg, compressed
        "259161c7",  // checksum
        "00 01 0000",  // protection class, compression policy, reserved
        "0100010000000000",  // logical size
        "32000000")),  // owner group
  ]

  @Test(arguments: golden) func keepsItsBytes(_ row: Golden) throws {
    #expect(hex(row.record.encoded()) == hex(row.bytes))
    #expect(try CoreRecord(decoding: row.bytes.span) == row.record)
  }

  @Test("A record that says nothing is void, and only that one") func voidRecord() throws {
    let empty = CoreRecord()
    #expect(empty.isVoid)
    #expect(empty.encoded().count == 16)
    #expect(try CoreRecord(decoding: empty.encoded().span).isVoid)
    for change: (inout CoreRecord) -> Void in [
      { $0.marks = .names }, { $0.flags = .noDump }, { $0.protectionClass = .c },
      { $0.compressionPolicy = 1 },
      { $0.logicalSize = 0 }, { $0.links = CoreRecord.LinkCount(0, relativeTo: .lower) },
      { $0.ownerGroup = 0 }, { $0.replaced = .init(size: 0, modified: .init(seconds: 0, nanoseconds: 0)) },
      { $0.birthTime = CoreRecord.BirthTime(seconds: 0, nanoseconds: 0) },
    ] {
      var record = CoreRecord()
      change(&record)
      #expect(!record.isVoid)
    }
  }

  @Test("Bits that belong to sections cannot be set as marks") func marksAreMarks() throws {
    var record = CoreRecord()
    record.marks = CoreRecord.Presence(rawValue: 0xFFFF)
    #expect(record.presence == .marks)
    #expect(try CoreRecord(decoding: record.encoded().span).marks == .marks)
  }

  @Test("Random records survive", arguments: [21, 22] as [UInt64]) func roundTrips(seed: UInt64) throws {
    var generator = Dice(seed: seed)
    for round in 0..<2_000 {
      let record = CoreRecord.random(using: &generator)
      let bytes = record.encoded()
      #expect(try CoreRecord(decoding: bytes.span) == record, "seed \(seed), round \(round)")
      #expect(bytes.count <= 92)
    }
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

  static let plain = CoreRecord().encoded()

  static let wrong = [
    Wrong("nothing", [], .tooShort),
    Wrong("half a header", Array(plain[..<15]), .tooShort),
    Wrong("another magic", plain.replacing(0, with: 0x7A), .foreignMagic(0x7A)),
    Wrong("a later version, whatever its checksum means", plain.replacing(1, with: 2), .unknownVersion(2)),
    Wrong("a later version, shorter than ours", [0xA7, 2], .unknownVersion(2)),
    Wrong(
      "a changed flag", plain.replacing(4, with: 2),
      .checksum(
        stored: CRC32C.of(plain.span, withoutField: 8),
        computed: CRC32C.of(plain.replacing(4, with: 2).span, withoutField: 8))),
    Wrong("a redirect", sealed(plain.replacing(2, with: 0x20)), .unknownPresence(0x0020)),
    Wrong("metacopy", sealed(plain.replacing(3, with: 0x08)), .unknownPresence(0x0800)),
    Wrong("bit 14", sealed(plain.replacing(3, with: 0x40)), .unknownPresence(0x4000)),
    Wrong("bits 14 and 15", sealed(plain.replacing(3, with: 0xC0)), .unknownPresence(0xC000)),
    Wrong(
      "a protection class of tomorrow", sealed(plain.replacing(12, with: 4)), .badField(.protectionClass)),
    Wrong("a reserved byte", sealed(plain.replacing(15, with: 1)), .badField(.reserved)),
    Wrong("a base without a count of links", sealed(plain.replacing(3, with: 0x01)), .badField(.linkBase)),
    Wrong("a section that is not there", sealed(plain.replacing(3, with: 0x10)), .tooShort),
    Wrong("a section cut short", sealed(plain.replacing(3, with: 0x10) + [1, 2, 3]), .tooShort),
    Wrong("a byte too many", sealed(plain + [0]), .trailingBytes),
    Wrong("a section nobody announced", sealed(plain + [0, 0, 0, 0]), .trailingBytes),
    Wrong(
      "nanoseconds of a second",
      sealed(plain.replacing(3, with: 0x02) + bytes("0000000000000000 00ca9a3b")), .badField(.nanoseconds)),
  ]

  @Test(arguments: wrong) func refuses(_ row: Wrong) {
    #expect(throws: row.damage) { try CoreRecord(decoding: row.bytes.span) }
  }

  @Test("A record cut or changed in one byte is never believed") func fuzz() {
    for row in CoreRecordTests.golden {
      for length in 0..<row.bytes.count {
        if (try? CoreRecord(decoding: Array(row.bytes[..<length]).span)) != nil {
          Issue.record("\(row.testDescription) was believed with \(length) bytes")
        }
      }
      for index in row.bytes.indices {
        for byte in UInt8.min...UInt8.max where byte != row.bytes[index] {
          let changed = row.bytes.replacing(index, with: byte)
          if (try? CoreRecord(decoding: changed.span)) != nil {
            Issue.record("\(row.testDescription) was believed with byte \(index) = \(byte)")
          }
          // With a fitting checksum it may be another record, which then has exactly these bytes.
          let fitting = sealed(changed)
          if let record = try? CoreRecord(decoding: fitting.span), record.encoded() != fitting {
            Issue.record("\(hex(fitting)) is read as something else than it says")
          }
        }
      }
    }
  }

  @Test("Random bytes behind a good header do not stop the reader", arguments: [23] as [UInt64])
  func randomBytes(seed: UInt64) {
    var generator = Dice(seed: seed)
    for _ in 0..<5_000 {
      var noise = (0..<Int.random(in: 0...80, using: &generator)).map { _ in
        UInt8.random(in: 0...255, using: &generator)
      }
      _ = try? CoreRecord(decoding: noise.span)
      if noise.count >= 16 { noise.replaceSubrange(0..<2, with: [0xA7, 1]) }
      let fitting = sealed(noise)
      if let record = try? CoreRecord(decoding: fitting.span), record.encoded() != fitting {
        Issue.record("seed \(seed): \(hex(fitting)) is read as something else than it says")
      }
    }
  }
}

extension CoreRecord {
  static func random(using generator: inout Dice) -> CoreRecord {
    func number<Number: FixedWidthInteger>(_ type: Number.Type) -> Number {
      Number.random(in: .min ... .max, using: &generator)
    }
    func sometimes() -> Bool { Bool.random(using: &generator) }
    var record = CoreRecord()
    record.marks = Presence(rawValue: number(UInt16.self)).intersection(.marks)
    record.flags = FileFlags(rawValue: number(UInt32.self))
    record.protectionClass = ProtectionClass(rawValue: number(UInt8.self) % 4) ?? .none
    record.compressionPolicy = number(UInt8.self)
    if sometimes() { record.logicalSize = number(UInt64.self) }
    if sometimes() {
      record.origin = Origin(
        fileSystemTag: number(UInt32.self), inode: number(UInt64.self), generation: number(UInt32.self),
        ownInode: number(UInt64.self), ownGeneration: number(UInt32.self))
    }
    if sometimes() { record.links = LinkCount(number(Int32.self), relativeTo: sometimes() ? .upper : .lower) }
    if sometimes() {
      record.birthTime = BirthTime(
        seconds: number(Int64.self), nanoseconds: number(UInt32.self) % 1_000_000_000)
    }
    if sometimes() {
      record.replaced = ReplacedContent(
        size: number(UInt64.self),
        modified: BirthTime(
          seconds: number(Int64.self), nanoseconds: number(UInt32.self) % 1_000_000_000))
    }
    if sometimes() { record.ownerGroup = number(UInt32.self) }
    return record
  }
}
