// Stored bytes as people write them: hexadecimal, blanks where a piece ends.

import RecordFormat

func bytes(_ hex: String...) -> [UInt8] {
  let digits = hex.joined().filter { $0 != " " }
  var result: [UInt8] = []
  var index = digits.startIndex
  while let end = digits.index(index, offsetBy: 2, limitedBy: digits.endIndex), end != index {
    result.append(UInt8(digits[index..<end], radix: 16) ?? 0)
    index = end
    if index == digits.endIndex { break }
  }
  return result
}

func hex(_ bytes: [UInt8]) -> String {
  bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
}

/// The same bytes with a checksum that fits, so that a decoder looks further than the checksum.
func sealed(_ bytes: [UInt8]) -> [UInt8] {
  guard bytes.count >= 12 else { return bytes }
  let sum = CRC32C.of(bytes.span, withoutField: 8)
  var sealed = bytes
  for index in 0..<4 { sealed[8 + index] = UInt8(truncatingIfNeeded: sum >> UInt32(8 * index)) }
  return sealed
}

extension [UInt8] {
  func replacing(_ index: Int, with byte: UInt8) -> [UInt8] {
    var copy = self
    copy[index] = byte
    return copy
  }
}
