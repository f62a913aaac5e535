// The file that defines format 1: made by the rules of the engine with real ciphers, and read by all who read.

import Ciphers
import Foundation
import KeyFixture
import SealedFormat
import Testing

@testable import LayeredVolume

@Suite struct GoldenFileTests {
  private let vault: Vault
  private let keys: FileKeys

  init() throws {
    vault = try Vault()
    let header = StoredKeys.header
    keys = try vault.keyring.keys(from: header.span)
  }

  private func hex(_ bytes: some Sequence<UInt8>) -> String {
    bytes.map { String(UInt16($0) | 0x100, radix: 16).dropFirst() }.joined()
  }

  private func slot(_ slot: Slot, random: UInt64, _ aead: inout Aead) throws -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: Slot.size)
    var span = bytes.mutableSpan
    try slot.encode(into: &span)
    let (prefix, nonce) = (Slot.associatedPrefix(file: keys.file), slot.nonce(random: random))
    try keys.useForSeals(&aead)
    let tag = try aead.seal(prefix.span, bytes.span.extracting(Slot.covered), nonce: nonce.bytes)
    var sealed = bytes.mutableSpan
    try Slot.put(Seal(nonce: nonce, tag: Bytes16(tag)), into: &sealed)
    return bytes
  }

  /// The index sector with the entry of a block that is in page 1.
  private func sector(_ block: Block, tag: Bytes16, _ aead: inout Aead) throws -> [UInt8] {
    let page = try #require(Page(1))
    let version = Version(page: page, generation: 1, random: 0x0706_0504_0302_0100, tag: tag)
    var bytes = [UInt8](repeating: 0, count: IndexSector.size)
    var span = bytes.mutableSpan
    try IndexSector.put(version, into: .first, of: block, in: &span)
    let made = try IndexSector.nonce(for: bytes.span, random: 0x1716_1514_1312_1110)
    let nonce = try #require(made)
    let prefix = IndexSector.associatedPrefix(file: keys.file, block: block)
    try keys.useForSeals(&aead)
    let seal = try aead.seal(prefix.span, bytes.span.extracting(IndexSector.covered), nonce: nonce.bytes)
    var closing = bytes.mutableSpan
    try IndexSector.close(&closing, with: Seal(nonce: nonce, tag: Bytes16(seal)))
    return bytes
  }

  private func made() throws -> [UInt8] {
    var aead = try vault.keyring.contexts.borrow()
    let first = Slot(
      sequence: 3, fileSize: 5, committed: 0, highest: 1, session: 7, committedPages: 0, pages: 2)
    let second = Slot(
      sequence: 2, fileSize: 0, committed: 0, highest: 0, session: 7, committedPages: 0, pages: 1)
    var page = StoredKeys.header + StoredKeys.header
    page += try slot(first, random: 0xB3B3_B3B3_B3B3_B3B3, &aead)
    page += try slot(second, random: 0xB2B2_B2B2_B2B2_B2B2, &aead)
    #expect(
      hex(page[1504..<1536]) == "b3b3b3b3b3b3b3b3030000009786dcfe3e9c8b76ff8e7246ef05482a00000000")
    #expect(
      hex(page[2016..<2048]) == "b2b2b2b2b2b2b2b2020000001faa782ff01d1d99b58ce98525d6339100000000")

    let block = try #require(Block(0))
    var data = Array("hello".utf8) + [UInt8](repeating: 0, count: 4091)
    var span = data.mutableSpan
    try keys.use(&aead, forSegment: block.segment)
    let associated = Version.associatedData(file: keys.file, block: block, generation: 1, isHole: false)
    let tag = try aead.encrypt(
      &span, nonce: Nonce(random: 0x0706_0504_0302_0100, counter: 1).bytes, authenticating: associated.span)
    page += try sector(block, tag: Bytes16(tag), &aead)
    #expect(
      hex(page[2048..<2088])
        == "d94d152141eea186a6ecd370f2b3dc44000102030405060701000000000000000100000000000000")
    #expect(
      hex(page[2528..<2560]) == "10111213141516170100000050"
        + "7cc173deea410b751850e592db05d100000000")
    return page + [UInt8](repeating: 0, count: 4096 - page.count) + data
  }

  @Test(
    "The file that the format is defined by is made to the last byte, and read by the volume and by a stranger"
  )
  func golden() throws {
    let bytes = try made()
    let digest = try SHA256.hash(bytes.span)
    #expect(
      hex(digest.indices.map { digest[$0] })
        == "23463c2385b56a8de1b4daee805d00457cea8391b0ea57f9fd98a4a88affc968")
    try Data(bytes).write(to: URL(fileURLWithPath: "\(vault.path)/golden"))
    // Of a session that nothing is known of, and then of one that has ended.
    for isDoubtful in [true, false] {
      if !isDoubtful {
        try Data(StoredKeys.sessions).write(to: URL(fileURLWithPath: "\(vault.path)/.varve/sessions"))
        try vault.remount(killed: true)
      }
      let file = try vault.file("golden")
      #expect(try file.get(0..<100) == Array("hello".utf8))
      #expect(file.isDoubtful == isDoubtful)
      if StrangerTests.hasPython {
        #expect(try StrangerTests().read(vault, "golden") == Array("hello".utf8))
      }
    }
  }
}
