// The end of a work file: golden bytes, every rule broken once, and any bytes at all.

import FlagRules
import Foundation
import Randomness
import RecordFormat
import Testing

@Suite("Trailers of work files") struct ReplacementTrailerTests {
  static let example: ReplacementTrailer = ReplacementTrailer(
    .encrypted, inode: 0x1234, generation: 0xAABB_CCDD, mode: 0o4755, user: 1000,
    group: 100, modified: .init(seconds: 1_700_000_000, nanoseconds: 5), storedSize: 8192, size: 5,
    record: CoreRecord().protected(by: .a), capability: [1, 0, 0, 2], path: Array("d/f".utf8))

  static let stored: [UInt8] = bytes(
    "8956525031 0d0a1a",  // magic
    "ec9b86d0",  // checksum
    "0100 02 00",  // version, encrypted
    "3412000000000000 ddccbbaa",  // inode, generation
    "ed09 0000",  // mode
    "00f1536500000000 05000000",  // modified
    "1000 0400",  // length of the record, of the capability
    "0020000000000000 0500000000000000",  // length of the body, size
    "0300 000000000000",  // length of the path
    "e8030000 64000000",  // user, group
    "a7010400 00000000 2436cbe5 01000000",  // record
    "01000002",  // capability
    "642f66",  // path
    "6b000000")  // length of all

  static func decode(_ bytes: [UInt8], behind body: UInt64 = 8192) throws -> ReplacementTrailer {
    try ReplacementTrailer(decodingEndOf: bytes.span, fileSize: body + UInt64(bytes.count))
  }

  @Test("The example keeps its bytes") func golden() throws {
    let stored: [UInt8] = try #require(Self.example.encoded())
    #expect(hex(stored) == hex(Self.stored))
    #expect(try Self.decode(stored) == Self.example)
    // What stands before it is of no matter.
    #expect(try Self.decode([1, 2, 3] + stored, behind: 8189) == Self.example)
  }

  @Test("A work file is called by the number of its file") func names() {
    #expect(String(decoding: Self.example.name, as: UTF8.self) == "r-1234-aabbccdd")
    #expect(
      String(decoding: ReplacementTrailer.name(inode: .max, generation: 1), as: UTF8.self)
        == "r-ffffffffffffffff-00000001")
    #expect(ReplacementTrailer.isName(Self.example.name))
    #expect(!ReplacementTrailer.isName(Array("t-1".utf8)))
    #expect(ReplacementTrailer.generation(ofBirth: nil) == 0)
    let birth = CoreRecord.BirthTime(seconds: 1_700_000_000, nanoseconds: 123_456_789)
    #expect(ReplacementTrailer.generation(ofBirth: birth) == 0x8ABF_7E02)
    // One nanosecond before 1970.
    let early = CoreRecord.BirthTime(seconds: -1, nanoseconds: 999_999_999)
    #expect(ReplacementTrailer.generation(ofBirth: early) == 0xA244_1B4D)
  }

  struct Wrong: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let bytes: [UInt8]
    let damage: ReplacementTrailer.Damage

    init(_ sentence: String, _ bytes: [UInt8], _ damage: ReplacementTrailer.Damage) {
      (testDescription, self.bytes, self.damage) = (sentence, bytes, damage)
    }
  }

  private static func changed(_ index: Int, _ byte: UInt8) -> [UInt8] {
    sealed(stored.replacing(index, with: byte))
  }

  static let wrong = [
    Wrong("nothing", [], .length),
    Wrong("a length and nothing else", bytes("04000000"), .length),
    Wrong("a length beyond the file", stored.replacing(103, with: 0x6C), .length),
    Wrong("a length of gigabytes", stored.replacing(106, with: 0x7F), .length),
    Wrong("another magic", changed(0, 0), .magic),
    Wrong("a version of tomorrow", stored.replacing(12, with: 2), .version(2)),
    Wrong("a flipped bit in the path", stored.replacing(100, with: 0x65), .checksum),
    Wrong("a form of tomorrow", changed(14, 4), .field(.body)),
    Wrong("a compressed body of a protected file", changed(14, 3), .field(.form)),
    Wrong("a reserved byte", changed(15, 1), .field(.reserved)),
    Wrong("another reserved byte", changed(71, 1), .field(.reserved)),
    Wrong("a mode with a kind in it", changed(29, 0x81), .field(.mode)),
    Wrong("too many nanoseconds", changed(43, 0xFF), .field(.time)),
    Wrong("a path that is longer", changed(64, 4), .field(.lengths)),
    Wrong("a capability that is longer", changed(46, 5), .field(.lengths)),
    Wrong("a body that is longer", changed(48, 1), .field(.lengths)),
    Wrong("a plain body of a protected file", changed(14, 1), .field(.form)),
    Wrong("no bytes in an encrypted file", changed(56, 0), .field(.form)),
    Wrong("a broken record", changed(80, 0), .record(.foreignMagic(0))),
  ]

  @Test(arguments: wrong) func refuses(_ row: Wrong) {
    #expect(throws: row.damage) { try Self.decode(row.bytes) }
  }

  @Test("What would not be believed is not written") func unwritable() {
    func encodes(_ change: (inout ReplacementTrailer) -> Void) -> Bool {
      var trailer = Self.example
      change(&trailer)
      return trailer.encoded() != nil
    }
    #expect(encodes { _ in })
    #expect(!encodes { $0.path = Array(repeating: 0x61, count: 4096) })
    #expect(!encodes { $0.capability = Array(repeating: 0, count: 1025) })
    #expect(!encodes { $0.record = CoreRecord() })
    #expect(!encodes { $0.record = $0.record.whileReplacing(by: $0) })
    #expect(!encodes { $0.storedSize = 8193 })
    #expect(!encodes { $0.storedSize = 0 })
    #expect(!encodes { $0.body = .plain })
    #expect(!encodes { $0.record.noteCompressed(size: $0.size) })
    func compress(_ trailer: inout ReplacementTrailer) {
      (trailer.body, trailer.record, trailer.storedSize) = (.compressed, CoreRecord(), 77)
      trailer.record.noteCompressed(size: trailer.size)
    }
    #expect(encodes { compress(&$0) })
    for change: (inout ReplacementTrailer) -> Void in [
      { $0.size += 1 }, { $0.storedSize = 0 }, { $0.record.noteCompressed(size: nil) },
      { $0.record.marks.insert(.encrypted) }, { $0.record.protectionClass = .a }, { $0.body = .plain },
    ] {
      #expect(
        !encodes {
          compress(&$0)
          change(&$0)
        })
    }
  }

  private static let shown = CoreRecord.ReplacedContent(size: 7, modified: .init(seconds: 8, nanoseconds: 9))

  @Test("Only what concerns the form is taken over") func forms() {
    var now = CoreRecord()
    now.flags = .hidden
    now.marks = [.accessList]
    now.replaced = Self.shown
    var told = CoreRecord().protected(by: .c)
    told.flags = .userImmutable
    let after = now.withForm(of: told)
    #expect(after.flags == .hidden && after.marks == [.accessList, .encrypted])
    #expect(after.protectionClass == .c)
    let during = after.whileReplacing(by: Self.example)
    #expect(during.replaced == .init(size: Self.example.size, modified: Self.example.modified))
    let back = during.withForm(of: CoreRecord())
    #expect(!back.isReplacing)
    #expect(back.marks == [.accessList] && back.protectionClass == .none && back.flags == .hidden)
    told = CoreRecord()
    told.noteCompressed(size: 5)
    let compressed = now.withForm(of: told)
    #expect(compressed.logicalSize == 5 && compressed.flags == [.hidden, .compressed])
    #expect(compressed.withForm(of: CoreRecord()).flags == .hidden)
  }

  @Test("Any bytes give a trailer or an error, and what is believed is written the same") func fuzz() throws {
    var plain = Self.example
    (plain.body, plain.record, plain.storedSize, plain.size) = (.plain, CoreRecord(), 8192, 8192)
    plain.path = Array(String(repeating: "name/", count: 40).utf8)
    var compressed = Self.example
    (compressed.body, compressed.record) = (.compressed, CoreRecord())
    compressed.record.noteCompressed(size: compressed.size)
    let good = [Self.stored, try #require(plain.encoded()), try #require(compressed.encoded())]
    let rounds = ProcessInfo.processInfo.environment["LONG"] == "1" ? 10_000_000 : 1_000_000
    var dice = Dice(for: "fuzz of trailers")
    let edges: [UInt8] = [0, 1, 0x7F, 0x80, 0xFE, 0xFF]
    var accepted = 0
    for _ in 0..<rounds {
      var bytes = dice.pick(good)
      switch dice.below(8) {
      case 0: bytes = (0..<dice.below(bytes.count + 40)).map { _ in UInt8(truncatingIfNeeded: dice.next()) }
      case 1: bytes.removeLast(dice.below(bytes.count + 1))
      case 2: bytes.append(contentsOf: (0..<dice.below(40)).map { _ in UInt8(0) })
      default: break
      }
      for _ in 0..<dice.below(4) where !bytes.isEmpty {
        let offset = dice.below(bytes.count)
        bytes[offset] = dice.once(in: 2) ? dice.pick(edges) : UInt8(truncatingIfNeeded: dice.next())
      }
      // Most with a checksum that fits, so that the rest is looked at.
      if !dice.once(in: 4) { bytes = sealed(bytes) }
      let body = dice.once(in: 4) ? dice.next() >> 1 : 8192
      guard let trailer = try? Self.decode(bytes, behind: body) else { continue }
      accepted += 1
      let again = trailer.encoded()
      if again == nil || !bytes.suffix(again?.count ?? 0).elementsEqual(again ?? []) {
        Issue.record("\(bytes)")
      }
    }
    #expect(accepted > rounds / 100)
  }
}
