// The stored form of names records: golden bytes, and every way a record can be wrong.

import Randomness
import RecordFormat
import Testing

@Suite("Stored names records") struct NamesRecordTests {
  private static func shows(_ identifiers: NamesRecord.Identifiers? = nil) -> NamesRecord {
    var record = NamesRecord()
    record.showsExtension = true
    record.identifiers = identifiers
    return record
  }

  static let shown = bytes(
    "a9 01",  // magic, version
    "0100",  // b0: the extension is shown
    "00000000", "c64a4933")  // zero, checksum

  static let numbered = bytes(
    "a9 01",  // magic, version
    "0300",  // b0 and b1: numbers follow
    "00000000", "dd32c1e7",  // zero, checksum
    "8877665544332211",  // number of the object
    "0200000000000000")  // number of the document

  @Test("Both examples keep their bytes") func golden() throws {
    let identifiers = NamesRecord.Identifiers(object: 0x1122_3344_5566_7788, document: 2)
    for (record, stored) in [(Self.shows(), Self.shown), (Self.shows(identifiers), Self.numbered)] {
      #expect(hex(record.encoded()) == hex(stored))
      #expect(try NamesRecord(decoding: stored.span) == record)
    }
    #expect(NamesRecord().isVoid && !Self.shows().isVoid)
  }

  @Test("Whatever is wrong with it, the record is damaged") func damage() {
    let cases: [([UInt8], Damage)] = [
      ([], .tooShort), (Array(Self.shown.prefix(11)), .tooShort),
      (Self.shown.replacing(0, with: 0xA7), .foreignMagic(0xA7)),
      (Self.shown.replacing(1, with: 2), .unknownVersion(2)),
      (sealed(Self.shown.replacing(2, with: 5)), .unknownPresence(4)),
      (sealed(Self.shown.replacing(4, with: 1)), .badField(.reserved)),
      (sealed(Self.shown + [0]), .trailingBytes), (sealed(Array(Self.numbered.dropLast())), .tooShort),
    ]
    for (bytes, damage) in cases {
      #expect(throws: damage) { try NamesRecord(decoding: bytes.span) }
    }
    for index in Self.numbered.indices {
      let broken = Self.numbered.replacing(index, with: Self.numbered[index] ^ 1)
      #expect(throws: Damage.self) { try NamesRecord(decoding: broken.span) }
    }
  }
}
