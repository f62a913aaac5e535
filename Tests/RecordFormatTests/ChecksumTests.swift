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

  @Test("Its own field counts as zero") func ownField() {
    let bytes: [UInt8] = [1, 2, 3, 0, 0, 0, 0, 4]
    let filled: [UInt8] = [1, 2, 3, 9, 8, 7, 6, 4]
    #expect(CRC32C.of(filled.span, withoutField: 3) == CRC32C.of(bytes.span))
    #expect(CRC32C.of(filled.span) != CRC32C.of(bytes.span))
  }
}
