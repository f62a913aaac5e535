// Inputs at which implementations have gone wrong: points that are no keys, codes that are nearly right, and what is
// empty, cut or long.

import Ciphers
import Testing

@Suite("Inputs at the edge") struct EdgeTests {
  private static let ones = String(repeating: "f", count: 60)

  /// The points of small order, each also with the bit that RFC 7748 says to ignore.
  private static let weak = [
    String(repeating: "0", count: 64), "01" + String(repeating: "0", count: 62),
    "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800",
    "5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157",
    "ec" + ones + "7f", "ed" + ones + "7f", "ee" + ones + "7f",
  ]

  @Test("A point of small order is refused, whatever its highest bit is", arguments: weak)
  func weakPoints(_ digits: String) throws {
    for highest in [UInt8(0), 0x80] {
      var point = bytes(digits)
      point[31] |= highest
      // All scalars are multiples of 8, so none gives anything but zeros.
      for scalar in [[UInt8](repeating: 0, count: 32), [UInt8](repeating: 0xFF, count: 32), [UInt8](1...32)] {
        let made = failure { _ = try Key(agreeingOn: try key(scalar), with: point) }
        #expect(made == .weakPublicKey)
      }
    }
  }

  @Test("A point above the prime counts as what is left of it, and its highest bit is ignored")
  func pointsThatAreNotReduced() throws {
    let scalar = try Key.random()
    // The prime is 2^255 - 19; its first two multiples and their neighbours are points of small order.
    for value in UInt8(2)...18 {
      var small = [UInt8](repeating: 0, count: 32)
      small[0] = value
      var large = [UInt8](repeating: 0xFF, count: 32)
      (large[0], large[31]) = (0xED + value, 0x7F)
      let shared = try exposed(try Key(agreeingOn: scalar, with: small))
      #expect(try exposed(try Key(agreeingOn: scalar, with: large)) == shared)
      small[31] |= 0x80
      large[31] |= 0x80
      #expect(try exposed(try Key(agreeingOn: scalar, with: small)) == shared)
      #expect(try exposed(try Key(agreeingOn: scalar, with: large)) == shared)
    }
  }

  @Test("The bits of a scalar that RFC 7748 fixes change nothing") func clampedScalars() throws {
    let point = try Key.random().publicKey()
    let scalar = [UInt8](0x40...0x5F)
    let (own, shared) = (
      hex(try key(scalar).publicKey()), try exposed(try Key(agreeingOn: key(scalar), with: point))
    )
    for (index, mask) in [(0, UInt8(1)), (0, 2), (0, 4), (31, 0x80), (31, 0x40)] {
      var other = scalar
      other[index] ^= mask
      #expect(hex(try key(other).publicKey()) == own)
      #expect(try exposed(try Key(agreeingOn: key(other), with: point)) == shared)
    }
    for (index, mask) in [(0, UInt8(8)), (31, 0x20), (15, 1)] {
      var other = scalar
      other[index] ^= mask
      #expect(hex(try key(other).publicKey()) != own)
    }
  }

  @Test("A public key of another length is none", arguments: [0, 1, 31, 33, 64]) func lengths(
    _ count: Int
  ) throws {
    let scalar = try Key.random()
    let point = [UInt8](repeating: 9, count: count)
    #expect(failure { _ = try Key(agreeingOn: scalar, with: point) } == .unusable)
  }

  /// Besides those with one changed bit, which `AeadTests` has.
  @Test("A tag that is nearly right is refused, with content and without") func tags() throws {
    var aead = try AeadPool().borrow()
    try aead.use(try Key.random())
    let zero = nonce(String(repeating: "0", count: 24))
    for (plain, data) in [([UInt8](1...40), [UInt8](1...9)), ([], [1]), ([1], []), ([], [])] {
      let made = try aead.encrypted(plain, zero, data)
      let tag = made.tag.indices.map { made.tag[$0] }
      let wrong: [[UInt8]] = [
        [UInt8](repeating: 0, count: 16), [UInt8](repeating: 0xFF, count: 16), tag.map { ~$0 },
        tag.map { $0 ^ 1 }, tag.map { $0 ^ 0x80 }, tag.reversed(), Array(tag[1...] + tag[..<1]),
        Array(tag[..<8]) + [UInt8](repeating: 0, count: 8), Array(tag[..<15]) + [~tag[15]],
      ]
      for other in wrong {
        let read = aead.decrypted(made.bytes, inline(other, as: Tag.self), zero, data)
        #expect(read.failure == .notAuthentic && read.bytes.allSatisfy { $0 == 0 })
      }
      #expect(aead.decrypted(made.bytes, made.tag, zero, data).bytes == plain)
    }
  }

  @Test("What is cut, made longer, or parted otherwise is refused") func lengths() throws {
    var aead = try AeadPool().borrow()
    try aead.use(try Key.random())
    let zero = nonce(String(repeating: "0", count: 24))
    let (plain, data) = ([UInt8](0...70), [UInt8](repeating: 0, count: 33))
    let made = try aead.encrypted(plain, zero, data)
    for count in 0..<plain.count {
      #expect(aead.decrypted(Array(made.bytes[..<count]), made.tag, zero, data).failure == .notAuthentic)
      #expect(
        aead.decrypted(Array(made.bytes[(count + 1)...]), made.tag, zero, data).failure == .notAuthentic)
    }
    for more in [1, 15, 16, 4096] {
      let longer = made.bytes + [UInt8](repeating: 0, count: more)
      #expect(aead.decrypted(longer, made.tag, zero, data).failure == .notAuthentic)
    }
    // Zeros of other lengths are other data, also where they only fill the last block of the authentication.
    for count in [0, 1, 16, 31, 32, 34, 48, 70_000] {
      let other = [UInt8](repeating: 0, count: count)
      #expect(aead.decrypted(made.bytes, made.tag, zero, other).failure == .notAuthentic)
    }
    // What is content is no associated data, and the other way round.
    let sealed = try aead.encrypted([], zero, made.bytes)
    #expect(aead.decrypted(made.bytes, sealed.tag, zero, []).failure == .notAuthentic)
    #expect(aead.decrypted([], made.tag, zero, made.bytes).failure == .notAuthentic)
  }
}
