// Bytes made by an independent program from the description of the format, with AES-GCM of another library.

import SealedFormat
import Testing

private func bytes(_ hex: String, paddedTo size: Int = 0) -> [UInt8] {
  let digits = hex.filter { $0 != " " }.utf8.map { $0 < 0x3A ? $0 - 0x30 : $0 - 0x57 }
  var bytes = stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
  while bytes.count < size { bytes.append(0) }
  return bytes
}

private func bytes16(_ hex: String) -> Bytes16 {
  let all = bytes(hex)
  func word(_ from: Int) -> UInt64 { (0..<8).reduce(0) { $0 | UInt64(all[from + $1]) << UInt64(8 * $1) } }
  return Bytes16(low: word(0), high: word(8))
}

func damageOf(_ body: () throws -> Void) -> FormatDamage? {
  do { try body() } catch { return error as? FormatDamage }
  return nil
}

private let volume = bytes16("000102030405060708090a0b0c0d0e0f")
private let file = bytes16("404142434445464748494a4b4c4d4e4f")

@Suite struct GoldenTests {
  private let header = bytes(
    """
    89454152310d0a1a01000000010c010000000000000000000000000000000000 \
    000102030405060708090a0b0c0d0e0f404142434445464748494a4b4c4d4e4f \
    0100000001000000000000000000000000000000000000000000000000000000 \
    0000000000000000 000102030405060708090a0b \
    ad070cc7e530f07969a50bf1627f2d888d8b38af3aeb59dde567d8929f313ccf0b6bc46df4af8bb91fbc91f87fdb9000
    """, paddedTo: 512)

  @Test func staticSector() throws {
    let wrapped = WrappedKey(
      nonce: Nonce(random: 0x0706_0504_0302_0100, counter: 0x0B0A_0908),
      ciphertext: Bytes32(
        bytes16("ad070cc7e530f07969a50bf1627f2d88"), bytes16("8d8b38af3aeb59dde567d8929f313ccf")),
      tag: bytes16("0b6bc46df4af8bb91fbc91f87fdb9000"))
    let sector = StaticSector(.complete, volume: volume, file: file, wrapped: wrapped)
    var made = [UInt8](repeating: 0xFF, count: 512)
    var span = made.mutableSpan
    try sector.encode(into: &span)
    #expect(made == header)
    let read = try StaticSector(decoding: header.span)
    #expect(read == sector)
    #expect(StaticSector.associatedLabel == Array("EAR1/filekey".utf8))
    #expect(StaticSector.authenticated == 0..<104)
  }

  @Test(arguments: [
    (0, FormatDamage.magic), (8, .unknown(.version(3))), (12, .unknown(.suite(3))),
    (13, .unknown(.blockSize(14))),
    (14, .unknown(.protectionClass(0))), (15, .reserved), (16, .unknown(.required(2))),
    (64, .unknown(.serial(3))),
    (68, .field(.wrap)), (72, .reserved), (103, .reserved),
  ])
  func staticSectorOfAnotherKind(_ offset: Int, _ damage: FormatDamage) {
    var changed = header
    changed[offset] = offset == 14 ? 0 : changed[offset] ^ 2
    #expect(damageOf { _ = try StaticSector(decoding: changed.span) } == damage)
  }

  @Test func slot() throws {
    let slot = Slot(
      sequence: 3, fileSize: 5, committed: 0, highest: 1, session: 7, committedPages: 0, pages: 2)
    let seal = Seal(
      nonce: slot.nonce(random: 0xB3B3_B3B3_B3B3_B3B3), tag: bytes16("9786dcfe3e9c8b76ff8e7246ef05482a"))
    var made = [UInt8](repeating: 0xFF, count: 512)
    var span = made.mutableSpan
    try slot.encode(into: &span)
    try Slot.put(seal, into: &span)
    let expected =
      bytes(
        """
        0300000000000000 0500000000000000 0000000000000000 0100000000000000 0700000000000000
        """.filter { $0 != "\n" }, paddedTo: 48) + bytes("0200000000000000", paddedTo: 432)
      + bytes("b3b3b3b3b3b3b3b303000000 9786dcfe3e9c8b76ff8e7246ef05482a 00000000")
    #expect(made == expected)
    let read = try Slot(decoding: made.span)
    #expect(read == slot)
    let readSeal = try Slot.seal(of: made.span)
    #expect(readSeal == seal)
    let prefix = Slot.associatedPrefix(file: file)
    #expect(prefix.indices.map { prefix[$0] } == bytes("454152312f64796e 404142434445464748494a4b4c4d4e4f"))
    #expect(Slot.offset(.first) == 1024 && Slot.offset(.second) == 1536)
  }

  @Test func slotWithAFloor() throws {
    let slot = Slot(
      sequence: 1, fileSize: 2, committed: 3, highest: 4, session: 5, committedPages: 6, pages: 7,
      floor: Floor(block: 8, generation: 9))
    var made = [UInt8](repeating: 0, count: 512)
    var span = made.mutableSpan
    try slot.encode(into: &span)
    #expect(stride(from: 0, to: 72, by: 8).map { made[$0] } == [1, 2, 3, 4, 5, 6, 7, 8, 9])
    let read = try Slot(decoding: made.span)
    #expect(read == slot)
    made[479] = 1
    #expect(damageOf { _ = try Slot(decoding: made.span) } == .reserved)
    // No block has a number behind the largest size.
    for (size, damage) in [
      (Block.largestFileSize, nil), (Block.largestFileSize + 1, FormatDamage.field(.size)),
      (.max, .field(.size)),
    ] {
      var large = slot
      large.fileSize = size
      var encoding = made.mutableSpan
      try large.encode(into: &encoding)
      #expect(damageOf { _ = try Slot(decoding: made.span) } == damage, "\(size)")
    }
  }

  @Test func indexSector() throws {
    let first = try #require(Block(0))
    let page = try #require(Page(1))
    let version = Version(
      page: page, generation: 1, random: 0x0706_0504_0302_0100,
      tag: bytes16("d94d152141eea186a6ecd370f2b3dc44"))
    var sector = [UInt8](repeating: 0, count: 512)
    let empty = try IndexSector.form(sector.span)
    #expect(empty == .empty)
    var span = sector.mutableSpan
    try IndexSector.put(version, into: .first, of: first, in: &span)
    #expect(
      Array(sector[0..<40])
        == bytes("d94d152141eea186a6ecd370f2b3dc44 0001020304050607 0100000000000000 0100000000000000"))
    let nonce = try IndexSector.nonce(for: sector.span, random: 0x1716_1514_1312_1110)
    let seal = Seal(nonce: try #require(nonce), tag: bytes16("507cc173deea410b751850e592db05d1"))
    var closing = sector.mutableSpan
    try IndexSector.close(&closing, with: seal)
    #expect(
      Array(sector[480...]) == bytes("101112131415161701000000 507cc173deea410b751850e592db05d1 00000000"))
    let sealed = try IndexSector.form(sector.span)
    #expect(sealed == .sealed(seal))
    let pair = try IndexSector.pair(of: first, in: sector.span)
    #expect(pair == Pair(version))
    let prefix = IndexSector.associatedPrefix(file: file, block: first)
    #expect(
      prefix.indices.map { prefix[$0] }
        == bytes("454152312f696478 404142434445464748494a4b4c4d4e4f 0000000000000000"))
    let data = version.associatedData(file: file, block: first)
    #expect(
      data.indices.map { data[$0] }
        == bytes("404142434445464748494a4b4c4d4e4f 0000000000000000 0100000000000000 0000000000000000"))
    sector[511] = 1
    let torn = try IndexSector.form(sector.span)
    #expect(torn == .torn)
  }

  @Test func hole() throws {
    let block = try #require(Block(1))
    let version = Version(
      holeOf: 2, random: 0x5555_5555_5555_5555, tag: bytes16("7d42fb7b984358480fb394e1b6ff9047"))
    var sector = [UInt8](repeating: 0, count: 512)
    var span = sector.mutableSpan
    try IndexSector.put(version, into: .second, of: block, in: &span)
    #expect(
      Array(sector[120..<160])
        == bytes("7d42fb7b984358480fb394e1b6ff9047 5555555555555555 0200000000000000 0000000000000100"))
    #expect(version.target == .hole && version.page == nil)
    let nonce = version.nonce.bytes
    #expect(nonce.indices.map { nonce[$0] } == bytes("5555555555555555 02000000"))
  }

  @Test func sessionLog() throws {
    let stored =
      bytes(
        """
        8945534c310d0a1a0100000001000000000102030405060708090a0b0c0d0e0f \
        0700000000000000 0000000000000000 0500000000000000
        """) + [UInt8](repeating: 0, count: 32)
    let log = try SessionLog(decoding: stored.span)
    #expect(log.last == 7 && log.bar == 0 && log.listed == [5] && log.volume == volume)
    #expect(log.encoded() == stored)
    #expect(SessionLog.covered(stored.count) == 0..<56)
    #expect((1...8).filter { log.hasEnded($0) } == [1, 2, 3, 4, 6, 7])
  }

  @Test func keybag() throws {
    let check = Bytes32(
      bytes16("6735cf7193dec6173582d71987c1539e"), bytes16("41479280ce36eb65c8453f9fd76142e9"))
    let slot = Keyslot(
      keyfile: bytes16("101112131415161718191a1b1c1d1e1f"),
      salt: Bytes32(bytes16("c8c9cacbcccdcecfd0d1d2d3d4d5d6d7"), bytes16("d8d9dadbdcdddedfe0e1e2e3e4e5e6e7")),
      wrapped: WrappedKey(
        nonce: Nonce(random: 0xF7F6_F5F4_F3F2_F1F0, counter: 0xFBFA_F9F8),
        ciphertext: Bytes32(
          bytes16("cdc96baa52407c36b0a50c37d767979c"), bytes16("d1f14ab988500a4d38c9d37db2b441ce")),
        tag: bytes16("4db016ce780b2164e654976c47f18556")))
    let keybag = Keybag(volume: volume, checkValue: check, first: slot)
    let stored = bytes(
      """
      89454b42310d0a1a0100800001000000000102030405060708090a0b0c0d0e0f \
      0100000000000000000000000000000000000000000000000000000000000000 \
      6735cf7193dec6173582d71987c1539e41479280ce36eb65c8453f9fd76142e9 \
      0000000000000000000000000000000000000000000000000000000000000000 \
      0100000000000000 101112131415161718191a1b1c1d1e1f \
      c8c9cacbcccdcecfd0d1d2d3d4d5d6d7d8d9dadbdcdddedfe0e1e2e3e4e5e6e7 f0f1f2f3f4f5f6f7f8f9fafb \
      cdc96baa52407c36b0a50c37d767979cd1f14ab988500a4d38c9d37db2b441ce4db016ce780b2164e654976c47f18556
      """, paddedTo: 256)
    #expect(keybag.encoded() == stored)
    let read = try Keybag(decoding: stored.span)
    #expect(read == keybag)
  }

  @Test func keyfile() throws {
    let raw = bytes(
      "89454b46310d0a1a0000000000000000 101112131415161718191a1b1c1d1e1f", paddedTo: 48)
    var stored = raw + [UInt8](0xA0...0xBF) + bytes("086e7f2d33f759ab5da5ea46a34fb114")
    let keyfile = try Keyfile(decoding: stored.span)
    #expect(keyfile == Keyfile(.raw, id: bytes16("101112131415161718191a1b1c1d1e1f")))
    var span = stored.mutableSpan
    try keyfile.encode(into: &span)
    #expect(Array(stored[0..<48]) == raw)
    #expect(Array(stored[Keyfile.secret]) == [UInt8](0xA0...0xBF))

    stored.replaceSubrange(8..<12, with: [1, 10, 8, 1])
    guard case .scrypt(let parameters) = try Keyfile(decoding: stored.span).kind else {
      Issue.record("not scrypt")
      return
    }
    #expect(parameters.memory == 128 * 1024 * 8 + 1 << 20)
  }
}
