// From a keyfile to an encrypted block: the values that define the format of this project.

import Ciphers
import Testing

@Suite("The chain of keys") struct ChainTests {
  private let volume = [UInt8](0...15)
  private let file = [UInt8](0x40...0x4F)

  private func master() throws -> Key { try key([UInt8](0x60...0x7F)) }

  private func info(_ label: String, _ rest: [UInt8]...) -> [UInt8] {
    Array(label.utf8) + rest.flatMap { $0 }
  }

  private func classKey(_ number: UInt8) throws -> Key {
    try Key(
      expanding: try master(), info: info("EAR1/class", volume, [number, 0, 0, 0], [1, 0, 0, 0]))
  }

  @Test("The keys of the classes") func classes() throws {
    #expect(
      try exposed(try classKey(1)) == "d5d36ffa49f268e6730d0471109164628514dadc3070abfe33e5cd8b69558eb8")
    let scalar = try classKey(2)
    #expect(try exposed(scalar) == "e8f9846574a95195c98404416f46b573e85bd0da139a337da21c75e732ad0ec7")
    #expect(
      hex(try scalar.publicKey()) == "658c2a5c760b017bf65c33d3fd267a0ace7779ea05e3e32dc7d9ce5aa1ffa214")
  }

  @Test("A master key under a keyfile") func slot() throws {
    let wrapping = try Key(
      extractingFrom: try key([UInt8](0xA0...0xBF)), salt: [UInt8](0xC8...0xE7),
      info: info("EAR1/kek", volume))
    #expect(try exposed(wrapping) == "b1b3a91fdde61d7b5dc244745667fc9ad8fd4992e902128dc884205abb76fbc4")
    var aead = try AeadPool().borrow()
    try aead.use(wrapping)
    let slot = [1, 0, 0, 0, 0, 0, 0, 0] + [UInt8](0x10...0x1F) + [UInt8](0xC8...0xE7)
    let made = try aead.wrap(
      try master(), nonce: inline([UInt8](0xF0...0xFB), as: Aead.Nonce.self),
      authenticating: info("EAR1/slot", volume), slot)
    #expect(
      hex(made.ciphertext) + hex(made.tag)
        == "cdc96baa52407c36b0a50c37d767979cd1f14ab988500a4d38c9d37db2b441ce4db016ce780b2164e654976c47f18556")
    let read = try aead.unwrap(
      made, nonce: inline([UInt8](0xF0...0xFB), as: Aead.Nonce.self),
      authenticating: info("EAR1/slot", volume), slot)
    #expect(try exposed(read) == hex([UInt8](0x60...0x7F)))
    let sessions = try Key(expanding: read, info: info("EAR1/sessions", volume))
    #expect(try exposed(sessions) == "dccd81532423a83f3e33cf47641a71c442a20d3101ad8ead989a29517a939ea0")
  }

  @Test("The keys of a file, its seals and its block") func keysOfAFile() throws {
    let wrapping = try Key(expanding: try classKey(1), info: info("EAR1/wrap", volume, file))
    #expect(try exposed(wrapping) == "61104dd732c3cc557ace9a60090e0c71d8b5a4463d13e245b35b4dc62fdb303d")
    var aead = try AeadPool().borrow()
    try aead.use(wrapping)
    let header =
      bytes("89454152310d0a1a 01000000 010c0100") + [UInt8](repeating: 0, count: 16) + volume + file
      + [1, 0, 0, 0, 1, 0, 0, 0] + [UInt8](repeating: 0, count: 32)
    let label = info("EAR1/filekey")
    let made = try aead.wrap(
      try key([UInt8](0x80...0x9F)), nonce: nonce("000102030405060708090a0b"), authenticating: label,
      header)
    #expect(
      hex(made.ciphertext) + hex(made.tag)
        == "ad070cc7e530f07969a50bf1627f2d888d8b38af3aeb59dde567d8929f313ccf0b6bc46df4af8bb91fbc91f87fdb9000")

    let block = try KeyBlock()
    try aead.unwrap(
      made, into: block, .first, nonce: nonce("000102030405060708090a0b"), authenticating: label,
      header)
    try block.expand(.first, info: info("EAR1/hdr", file).span, into: .second)
    try block.expand(
      .first, info: info("EAR1/data", file, [UInt8](repeating: 0, count: 8)).span, into: .third)

    let own = try key([UInt8](0x80...0x9F))
    #expect(
      try exposed(try Key(expanding: own, info: info("EAR1/hdr", file)))
        == "c4a3281a7f871713bfb64d3172bc3cada46144ceb32285a908b3006b38534a71")
    #expect(
      try exposed(try Key(expanding: own, info: info("EAR1/data", file, [UInt8](repeating: 0, count: 8))))
        == "0aca5afe0ebe53c2bde7e291a507340e738f4aa753810b4b5c38f0a4372349eb")

    try aead.use(block, .second)
    var slot = [UInt8](repeating: 0, count: 480)
    (slot[0], slot[8], slot[24], slot[32], slot[48]) = (3, 5, 1, 7, 2)
    let seal = try aead.seal(
      info("EAR1/dyn", file), slot, nonce: nonce("b3b3b3b3b3b3b3b303000000"))
    #expect(hex(seal) == "9786dcfe3e9c8b76ff8e7246ef05482a")
    try aead.verify(
      seal, of: info("EAR1/dyn", file), slot, nonce: nonce("b3b3b3b3b3b3b3b303000000"))

    try aead.use(block, .third)
    let plain = Array("hello".utf8) + [UInt8](repeating: 0, count: 4091)
    let data =
      file + [UInt8](repeating: 0, count: 8) + [1, 0, 0, 0, 0, 0, 0, 0] + [UInt8](repeating: 0, count: 8)
    let encrypted = try aead.encrypted(plain, nonce("000102030405060701000000"), data)
    #expect(hex(encrypted.tag) == "d94d152141eea186a6ecd370f2b3dc44")
    let hole =
      file + [1, 0, 0, 0, 0, 0, 0, 0] + [2, 0, 0, 0, 0, 0, 0, 0] + [1, 0, 0, 0, 0, 0, 0, 0]
    #expect(
      hex(try aead.seal(hole, nonce: nonce("555555555555555502000000")))
        == "7d42fb7b984358480fb394e1b6ff9047")
  }

  @Test("The key of a file that is made while the volume is locked") func publicWrap() throws {
    let ephemeral = try key([UInt8](0x21...0x40))
    let point = try ephemeral.publicKey()
    #expect(hex(point) == "5869aff450549732cbaaed5e5df9b30a6da31cb0e5742bad5ad4a1a768f1a67b")
    let owner = try classKey(2)
    let ownPoint = try owner.publicKey()
    let salt = point.indices.map { point[$0] } + ownPoint.indices.map { ownPoint[$0] }
    let label = info("EAR1/wrap-x25519", volume, file)
    for shared in [
      try exposed(try Key(agreeingOn: ephemeral, with: ownPoint)),
      try exposed(try Key(agreeingOn: owner, with: point)),
    ] {
      let wrapping = try Key(extractingFrom: try key(shared), salt: salt.span, info: label.span)
      #expect(try exposed(wrapping) == "0651febaa591617a2a30455ec3703efe82f8ab65d5ced291b97d2643edf9ccfb")
    }
  }

  @Test("A passphrase") func passphrase() throws {
    let passphrase = Array("p\u{E4}ssword".utf8)
    let wrapping = try Key(
      passphrase: try secret(passphrase), count: passphrase.count, salt: [UInt8](0x30...0x3F).span, logN: 10,
      blockFactor: 8, parallelism: 1, memory: 2 << 20)
    var aead = try AeadPool().borrow()
    try aead.use(wrapping)
    let header =
      bytes("89454b46310d0a1a 010a0801 00000000") + [UInt8](0x10...0x1F) + [UInt8](0x30...0x3F)
    let made = try aead.wrap(
      try key([UInt8](0xA0...0xBF)), nonce: nonce("000000000000000000000000"), authenticating: header)
    #expect(
      hex(made.ciphertext) + hex(made.tag)
        == "51d0bc80ff4d11b5ea4dbad6ba8dab4215e5c591e4de403da0a1cd30638909869cc8c1be4908196820d548c3e0a86b08")
  }
}
