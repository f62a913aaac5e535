// Little-endian numbers at fixed offsets. Every layout checks the length of its bytes once, before it reads the first.

extension Span<UInt8> {
  @inline(__always)
  func word<Number: FixedWidthInteger & UnsignedInteger>(_: Number.Type, at offset: Int) -> Number {
    // One check for all bytes, which then are one load.
    let part = extracting(offset..<offset + MemoryLayout<Number>.size)
    var number: Number = 0
    for index in 0..<MemoryLayout<Number>.size { number |= Number(part[index]) << Number(8 * index) }
    return number
  }

  func isZero(_ range: Range<Int>) -> Bool {
    for index in range where self[index] != 0 { return false }
    return true
  }
}

extension MutableSpan<UInt8> {
  @inline(__always)
  mutating func store<Number: FixedWidthInteger & UnsignedInteger>(_ number: Number, at offset: Int) {
    var part = _mutatingExtracting(offset..<offset + MemoryLayout<Number>.size)
    for index in 0..<MemoryLayout<Number>.size {
      part[index] = UInt8(truncatingIfNeeded: number >> Number(8 * index))
    }
  }

  mutating func store(_ bytes: Span<UInt8>, at offset: Int) {
    for index in bytes.indices { self[offset + index] = bytes[index] }
  }

  mutating func clear(_ range: Range<Int>) {
    for index in range { self[index] = 0 }
  }
}

/// Sixteen bytes that are stored as they are: an identifier or a tag.
package struct Bytes16: Hashable, Sendable {
  package let low: UInt64
  package let high: UInt64

  package init(low: UInt64, high: UInt64) {
    self.low = low
    self.high = high
  }

  package static let zero = Bytes16(low: 0, high: 0)

  package init(_ bytes: Span<UInt8>, at offset: Int) {
    low = bytes.word(UInt64.self, at: offset)
    high = bytes.word(UInt64.self, at: offset + 8)
  }

  package func store(in bytes: inout MutableSpan<UInt8>, at offset: Int) {
    bytes.store(low, at: offset)
    bytes.store(high, at: offset + 8)
  }
}

extension Bytes16 {
  /// As identifiers are written: the bytes in their order, two digits for each.
  package var hexadecimal: String {
    var bytes = InlineArray<16, UInt8>(repeating: 0)
    var span = bytes.mutableSpan
    store(in: &span, at: 0)
    return bytes.indices.map { (bytes[$0] < 16 ? "0" : "") + String(bytes[$0], radix: 16) }.joined()
  }

  /// Nil for anything but 32 digits.
  package init?(hexadecimal text: String) {
    let digits = text.utf8.map { Character(Unicode.Scalar($0)).hexDigitValue }
    guard digits.count == 32 else { return nil }
    var bytes = InlineArray<16, UInt8>(repeating: 0)
    for index in bytes.indices {
      guard let high = digits[2 * index], let low = digits[2 * index + 1] else { return nil }
      bytes[index] = UInt8(truncatingIfNeeded: high << 4 | low)
    }
    self.init(bytes.span, at: 0)
  }
}

/// A salt, a public key or a check value.
package struct Bytes32: Hashable, Sendable {
  package let low: Bytes16
  package let high: Bytes16

  package init(_ low: Bytes16, _ high: Bytes16) {
    self.low = low
    self.high = high
  }

  package static let zero = Bytes32(.zero, .zero)

  package init(_ bytes: Span<UInt8>, at offset: Int) {
    self.init(Bytes16(bytes, at: offset), Bytes16(bytes, at: offset + 16))
  }

  package func store(in bytes: inout MutableSpan<UInt8>, at offset: Int) {
    low.store(in: &bytes, at: offset)
    high.store(in: &bytes, at: offset + 16)
  }
}

/// A key of 32 bytes under another one: nonce, ciphertext and tag, in this order in every layout.
package struct WrappedKey: Hashable, Sendable {
  package let nonce: Nonce
  package let ciphertext: Bytes32
  package let tag: Bytes16

  package init(nonce: Nonce, ciphertext: Bytes32, tag: Bytes16) {
    self.nonce = nonce
    self.ciphertext = ciphertext
    self.tag = tag
  }

  init(_ bytes: Span<UInt8>, at offset: Int) {
    nonce = Nonce(bytes, at: offset)
    ciphertext = Bytes32(bytes, at: offset + 12)
    tag = Bytes16(bytes, at: offset + 44)
  }

  func store(in bytes: inout MutableSpan<UInt8>, at offset: Int) {
    nonce.store(in: &bytes, at: offset)
    ciphertext.store(in: &bytes, at: offset + 12)
    tag.store(in: &bytes, at: offset + 44)
  }
}

/// The nonce of a block, a slot or an index sector: 64 random bits and the low half of a counter.
package struct Nonce: Hashable, Sendable {
  package let random: UInt64
  package let counter: UInt32

  package init(random: UInt64, counter: UInt64) {
    self.random = random
    self.counter = UInt32(truncatingIfNeeded: counter)
  }

  package init(_ bytes: Span<UInt8>, at offset: Int) {
    random = bytes.word(UInt64.self, at: offset)
    counter = bytes.word(UInt32.self, at: offset + 8)
  }

  package var bytes: InlineArray<12, UInt8> {
    var bytes = InlineArray<12, UInt8>(repeating: 0)
    var span = bytes.mutableSpan
    store(in: &span, at: 0)
    return bytes
  }

  func store(in bytes: inout MutableSpan<UInt8>, at offset: Int) {
    bytes.store(random, at: offset)
    bytes.store(counter, at: offset + 8)
  }
}

/// Why stored bytes cannot be read.
package enum FormatDamage: Error, Hashable, Sendable {
  case length
  case magic
  case reserved
  /// A number out of its bounds.
  case field(Field)
  /// Made by a version that knows more than this one.
  case unknown(Feature)

  package enum Field: Sendable { case size, wrap, count, kind, order, parameters }
  package enum Feature: Hashable, Sendable {
    case version(UInt16)
    case suite(UInt8)
    case blockSize(UInt8)
    case protectionClass(UInt8)
    case serial(UInt32)
    case required(UInt64)
  }
}
