// Frames of libzstd: made as the format says, and refused when they are anything else.

import CompressedFormat
import Randomness
import Testing
import Zstandard

@Suite("Frames of zstd") struct FrameTests {
  private struct Unmade: Error {}

  private func frame(_ raw: [UInt8], level: Int = 3) throws -> [UInt8] {
    guard let compressor = FrameCompressor(level: level) else { throw Unmade() }
    var room = [UInt8](repeating: 0, count: Int(SeekTableLayout.longestStored(raw: UInt32(raw.count))))
    var span = room.mutableSpan
    guard let made = compressor.compress(raw.span, into: &span) else { throw Unmade() }
    return Array(room[..<made])
  }

  /// Nil if it is refused.
  private func expanded(_ stored: [UInt8], _ count: Int) throws -> [UInt8]? {
    let pool = FrameExpanders(room: max(1, stored.count))
    let expander = try #require(pool.take())
    defer { pool.giveBack(expander) }
    expander.load(stored.count) { span in for index in stored.indices { span[index] = stored[index] } }
    var raw = [UInt8](repeating: 0, count: count)
    var span = raw.mutableSpan
    return expander.expand(0..<stored.count, into: &span) ? raw : nil
  }

  private func soft(_ count: Int) -> [UInt8] {
    (0..<count).map { UInt8(truncatingIfNeeded: $0 / 7 ^ $0 / 100) }
  }

  @Test("Whatever is compressed comes back, in a frame no longer than the format allows")
  func roundTrips() throws {
    var dice = Dice(for: "frames")
    for size in [1, 2, 100, 4095, 32_768, 65_535, 65_536] {
      for level in [1, 3, 19] {
        for raw in [
          soft(size), (0..<size).map { _ in UInt8(dice.below(256)) }, [UInt8](repeating: 0, count: size),
        ] {
          let stored = try frame(raw, level: level)
          #expect(try expanded(stored, size) == raw)
          #expect(try expanded(stored, size + 1) == nil && expanded(stored, size - 1) == nil)
          // The size is in the header and a checksum at the end: the descriptor says so.
          #expect(stored[4] & 0x04 != 0 && stored[4] & 0x20 != 0)
        }
      }
    }
  }

  @Test("A level that is not offered makes nothing") func levels() {
    for level in [-5, 0, 20, 22] {
      #expect(throws: Unmade.self) { try frame([1], level: level) }
    }
  }

  @Test("Two frames, one to skip, one of an old form and a part of one are none") func others() throws {
    let raw = soft(5000)
    let stored = try frame(raw)
    #expect(try expanded(stored + frame([1]), 5001) == nil)
    #expect(try expanded(stored + [0x50, 0x2A, 0x4D, 0x18, 0, 0, 0, 0], 5000) == nil)
    #expect(try expanded([0x50, 0x2A, 0x4D, 0x18, 0, 0, 0, 0], 0) == nil)
    var old = stored
    old[0] = 0x27
    #expect(try expanded(old, 5000) == nil)
    #expect(try expanded(Array(stored.dropLast()), 5000) == nil && expanded([], 1) == nil)
    for place in stored.indices {
      var damaged = stored
      damaged[place] ^= 0x10
      let found = try expanded(damaged, 5000)
      #expect(found == nil || found == raw, "byte \(place)")
    }
  }

  @Test("An expanded frame is copied from any place") func copies() throws {
    let raw = soft(5000)
    let stored = try frame(raw)
    let pool = FrameExpanders(room: stored.count)
    let expander = try #require(pool.take())
    expander.load(stored.count) { span in for index in stored.indices { span[index] = stored[index] } }
    #expect(expander.expanded(0..<stored.count, count: 4999) == nil)
    let frame = try #require(expander.expanded(0..<stored.count, count: 5000))
    var part = [UInt8](repeating: 0, count: 100)
    var span = part.mutableSpan
    frame.copy(from: 4900, to: &span)
    #expect(part == Array(raw[4900...]))
  }
}
