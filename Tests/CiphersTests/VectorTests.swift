// What the standards print: RFC 4231, 5869, 7748 and 7914, and the cases of the specification of GCM.

import Ciphers
import Testing

@Suite("Published vectors") struct VectorTests {
  private static let longText =
    "This is a test using a larger than block-size key and a larger than block-size data. "
    + "The key needs to be hashed before being used by the HMAC algorithm."

  @Test(
    "HMAC-SHA256",
    arguments: [
      (
        [UInt8](repeating: 0x0B, count: 20), Array("Hi There".utf8),
        "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"
      ),
      (
        Array("Jefe".utf8), Array("what do ya want for nothing?".utf8),
        "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
      ),
      (
        [UInt8](repeating: 0xAA, count: 20), [UInt8](repeating: 0xDD, count: 50),
        "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe"
      ),
      (
        [UInt8](1...25), [UInt8](repeating: 0xCD, count: 50),
        "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b"
      ),
      (
        [UInt8](repeating: 0xAA, count: 131),
        Array("Test Using Larger Than Block-Size Key - Hash Key First".utf8),
        "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"
      ),
      (
        [UInt8](repeating: 0xAA, count: 131), Array(longText.utf8),
        "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2"
      ),
    ])
  func hmac(_ key: [UInt8], _ data: [UInt8], _ code: String) throws {
    #expect(hex(try SHA256.code(of: data, key: key)) == code)
  }

  @Test("SHA-256 of nothing and of abc") func sha256() throws {
    #expect(
      hex(try SHA256.hash([])) == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
    #expect(
      hex(try SHA256.hash(Array("abc".utf8)))
        == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
  }

  @Test(
    "HKDF: the first 32 bytes",
    arguments: [
      (
        [UInt8](repeating: 0x0B, count: 22), [UInt8](0...12), [UInt8](0xF0...0xF9),
        "077709362c2e32df0ddc3f0dc47bba6390b6c73bb50f9c3122ec844ad7c2b3e5",
        "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf"
      ),
      (
        [UInt8](0...79), [UInt8](0x60...0xAF), [UInt8](0xB0...0xFF),
        "06a6b88c5853361a06104c9ceb35b45cef760014904671014a193f40c15fc244",
        "b11e398dc80327a1c8e7f78c596a49344f012eda2d4efad8a050cc4c19afa97c"
      ),
      (
        [UInt8](repeating: 0x0B, count: 22), [], [],
        "19ef24a32c717b167f33a91d6f648bdf96596776afdb6377ac434c1c293ccb04",
        "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d"
      ),
    ])
  func hkdf(
    _ material: [UInt8], _ salt: [UInt8], _ info: [UInt8], _ extracted: String, _ output: String
  ) throws {
    #expect(hex(try SHA256.code(of: material, key: salt)) == extracted)
    let parent = try key(extracted)
    #expect(hex(try parent.expanded(info: info)) == output)
    #expect(try exposed(try Key(expanding: parent, info: info)) == output)
  }

  @Test(
    "X25519",
    arguments: [
      (
        "a546e36bf0527c9d3b16154b82465edd62144c0ac1fc5a18506a2244ba449ac4",
        "e6db6867583030db3594c1a424b15f7c726624ec26b3353b10a903a6d0ab1c4c",
        "c3da55379de9c6908e94ea4df28d084f32eccf03491c71f754b4075577a28552"
      ),
      (
        "4b66e9d4d1b4673c5ad22691957d6af5c11b6421e0ea01d42ca4169e7918ba0d",
        "e5210f12786811d3f4b7959d0538ae2c31dbe7106fc03c3efc4cd549c715a493",
        "95cbde9476e8907d7aade45cb4b873f88b595a68799fa152e6f8f7647aac7957"
      ),
      (
        "5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb",
        "8520f0098930a754748b7ddcb43ef75a0dbf3a0d26381af4eba4a98eaa9b4e6a",
        "4a5d9d5ba4ce2de1728e3bf480350f25e07e21c947d19e3376f09b3c1e161742"
      ),
    ])
  func x25519(_ scalar: String, _ point: String, _ shared: String) throws {
    #expect(try exposed(try Key(agreeingOn: try key(scalar), with: bytes(point))) == shared)
  }

  @Test("The public key of a scalar") func publicKey() throws {
    let scalar = try key("5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb")
    #expect(hex(try scalar.publicKey()) == "de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f")
  }

  /// Points of small order: RFC 7748 wants the check, and a hostile file would bring them.
  @Test(
    "A public key that gives zeros is refused",
    arguments: [
      "0000000000000000000000000000000000000000000000000000000000000000",
      "0100000000000000000000000000000000000000000000000000000000000000",
      "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800",
      "5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157",
      "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
      "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
      "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    ])
  func weakPoints(_ point: String) throws {
    let scalar = try Key.random()
    #expect(failure { _ = try Key(agreeingOn: scalar, with: bytes(point)) } == .weakPublicKey)
  }

  @Test(
    "scrypt: the first 32 bytes",
    arguments: [
      (
        "password", "NaCl", UInt8(10), UInt8(16),
        "fdbabe1c9d3472007856e7190d01e9fe7c6ad7cbc8237830e77376634b373162"
      ),
      (
        "pleaseletmein", "SodiumChloride", 14, 1,
        "7023bdcb3afd7348461c06cd81fd38ebfda8fbba904f8e3ea9b543f6545da1f2"
      ),
    ])
  func scrypt(_ passphrase: String, _ salt: String, _ logN: UInt8, _ lanes: UInt8, _ output: String) throws {
    let made = try Key(
      passphrase: try secret(Array(passphrase.utf8)), count: passphrase.utf8.count,
      salt: Array(salt.utf8).span,
      logN: logN, blockFactor: 8, parallelism: lanes, memory: 128 << Int(logN) * 8 + 1 << 20)
    #expect(try exposed(made) == output)
  }

  private static let longKey = "feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308"
  private static let longPlain =
    "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72"
    + "1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b391aafd255"
  private static let longCipher =
    "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa"
    + "8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f662898015ad"
  private static let zeros = String(repeating: "0", count: 64)

  struct Case: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let key, nonce, plain, data, cipher, tag: String
    init(
      _ name: String, key: String, nonce: String, plain: String, data: String = "", cipher: String,
      tag: String
    ) {
      (testDescription, self.key, self.nonce) = (name, key, nonce)
      (self.plain, self.data, self.cipher, self.tag) = (plain, data, cipher, tag)
    }
  }

  static let cases = [
    Case(
      "13", key: zeros, nonce: String(zeros.prefix(24)), plain: "", cipher: "",
      tag: "530f8afbc74536b9a963b4f1c4cb738b"),
    Case(
      "14", key: zeros, nonce: String(zeros.prefix(24)), plain: String(zeros.prefix(32)),
      cipher: "cea7403d4d606b6e074ec5d3baf39d18", tag: "d0d1c8a799996bf0265b98b5d48ab919"),
    Case(
      "15", key: longKey, nonce: "cafebabefacedbaddecaf888", plain: longPlain, cipher: longCipher,
      tag: "b094dac5d93471bdec1a502270e3cc6c"),
    Case(
      "16", key: longKey, nonce: "cafebabefacedbaddecaf888", plain: String(longPlain.prefix(120)),
      data: "feedfacedeadbeeffeedfacedeadbeefabaddad2", cipher: String(longCipher.prefix(120)),
      tag: "76fc6ece0f4e1768cddf8853bb2d551b"),
  ]

  @Test("AES-256-GCM", arguments: cases) func gcm(_ row: Case) throws {
    let pool = AeadPool()
    var aead = try pool.borrow()
    try aead.use(try key(row.key))
    let data = bytes(row.data)
    let made = try aead.encrypted(bytes(row.plain), nonce(row.nonce), data)
    #expect(hex(made.bytes) == row.cipher)
    #expect(hex(made.tag) == row.tag)
    // The associated data may come in two parts, cut anywhere.
    for cut in 0...data.count {
      let (first, second) = (Array(data[..<cut]), Array(data[cut...]))
      let read = aead.decrypted(made.bytes, made.tag, nonce(row.nonce), first, second)
      #expect(hex(read.bytes) == row.plain)
      #expect(read.failure == nil)
    }
  }
}
