import RecordFormat
import Testing

@Suite("CRC-32C") struct ChecksumTests {
  @Test("The check value of the polynomial") func checkValue() {
    #expect(CRC32C.of(Array("123456789".utf8).span) == 0xE306_9283)
  }

  @Test("The vectors of RFC 3720, B.4") func vectors() {
    #expect(CRC32C.of([UInt8](repeating: 0, count: 32).span) == 0x8A91_36AA)
    #expect(CRC32C.of([UInt8](repeating: 0xFF, count: 32).span) == 0x62A8_AB43)
    #expect(CRC32C.of([UInt8](0..<32).span) == 0x46DD_794E)
    #expect(CRC32C.of([UInt8]().span) == 0)
  }

  @Test("Every value of a byte, against the definition") func definition() {
    for byte in UInt8.min...UInt8.max {
      var state = 0xFFFF_FFFF ^ UInt32(byte)
      for _ in 0..<8 { state = state & 1 == 1 ? (state >> 1) ^ 0x82F6_3B78 : state >> 1 }
      #expect(CRC32C.of([byte].span) == ~state)
    }
  }

  @Test("A field outside the bytes is no field") func fieldOutside() {
    let bytes: [UInt8] = [1, 2, 3, 4]
    for field in [-1, 1, 4, 5, Int.max, Int.min] {
      #expect(CRC32C.of(bytes.span, withoutField: field) == CRC32C.of(bytes.span))
    }
  }

  @Test("Its own field counts as zero") func ownField() {
    let bytes: [UInt8] = [1, 2, 3, 0, 0, 0, 0, 4]
    let filled: [UInt8] = [1, 2, 3, 9, 8, 7, 6, 4]
    #expect(CRC32C.of(filled.span, withoutField: 3) == CRC32C.of(bytes.span))
    #expect(CRC32C.of(filled.span) != CRC32C.of(bytes.span))
  }
}
