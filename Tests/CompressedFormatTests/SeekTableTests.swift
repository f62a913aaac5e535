// The seek table of compressed files: golden bytes, every rule broken once, any bytes at all.

import CompressedFormat
import Randomness
import Testing

// A span cannot stand inside an expectation.
private func footer(
  _ bytes: [UInt8], storedSize: UInt64, logicalSize: UInt64
) throws(SeekTableDamage) -> SeekTableFooter {
  try SeekTableFooter(bytes.span, storedSize: storedSize, logicalSize: logicalSize)
}

@Suite("Seek tables") struct SeekTableTests {
  /// Three frames, of which the last is short.
  private static func example() -> SeekTableWriter {
    var writer = SeekTableWriter()
    let taken = [
      writer.add(stored: 1000, raw: 65_536), writer.add(stored: 65_824, raw: 65_536),
      writer.add(stored: 20, raw: 7),
    ]
    #expect(taken == [true, true, true])
    return writer
  }

  private static func read(
    _ table: [UInt8], stored: UInt64 = 66_844, logical: UInt64 = 131_079
  ) throws(SeekTableDamage) -> SeekTable {
    let footer = try SeekTableFooter(
      Array(table.suffix(9)).span, storedSize: stored + UInt64(table.count), logicalSize: logical)
    guard footer.tableOffset == stored else { throw .length }
    return try SeekTable(table.span, footer, logicalSize: logical)
  }

  @Test("The example keeps its bytes") func golden() throws {
    let writer = Self.example()
    #expect(writer.logicalSize == 131_079 && writer.storedSize == 66_844 && writer.frameCount == 3)
    let golden: [UInt8] =
      [0x5E, 0x2A, 0x4D, 0x18, 33, 0, 0, 0]  // a frame to skip, of 33 bytes
      + [0xE8, 3, 0, 0, 0, 0, 1, 0]
      + [0x20, 1, 1, 0, 0, 0, 1, 0]
      + [20, 0, 0, 0, 7, 0, 0, 0]
      + [3, 0, 0, 0, 0, 0xB1, 0xEA, 0x92, 0x8F]
    #expect(writer.table == golden)
    let table = try Self.read(golden)
    #expect(table.frameCount == 3 && table.logicalSize == 131_079)
    let second = try #require(table.frame(1))
    #expect(second.index == 1 && second.storedOffset == 1000 && second.storedSize == 65_824)
    #expect(second.rawOffset == 65_536 && second.rawSize == 65_536)
    #expect(table.frame(holding: 0)?.index == 0)
    #expect(table.frame(holding: 65_535)?.index == 0)
    #expect(table.frame(holding: 65_536)?.index == 1)
    #expect(table.frame(holding: 131_078)?.index == 2)
    #expect(table.frame(holding: 131_079) == nil)
    #expect(table.frame(3) == nil && table.frame(-1) == nil)
  }

  @Test("An empty file has a table without frames") func empty() throws {
    let table = SeekTableWriter().table
    #expect(table.count == 17)
    let read = try Self.read(table, stored: 0, logical: 0)
    #expect(read.frameCount == 0 && read.frame(holding: 0) == nil)
  }

  @Test("Every rule broken once") func broken() {
    let table = Self.example().table
    func damage(
      _ change: (inout [UInt8]) -> Void, stored: UInt64 = 66_844, logical: UInt64 = 131_079
    ) -> SeekTableDamage? {
      var changed = table
      change(&changed)
      do throws(SeekTableDamage) {
        _ = try Self.read(changed, stored: stored, logical: logical)
        return nil
      } catch {
        return error
      }
    }
    #expect(damage { $0[0] ^= 1 } == .magic)
    #expect(damage { $0[4] ^= 1 } == .length)
    #expect(damage { $0[40] ^= 1 } == .magic)
    #expect(damage { $0[36] = 0x80 } == .descriptor(0x80))
    #expect(damage { $0[32] = 2 } == .frameCount)
    #expect(damage { $0[32] = 4 } == .length)
    #expect(damage { $0[35] = 0xFF } == .frameCount)
    #expect(damage { $0[12] = 1 } == .frame(0))  // raw 65,537
    #expect(damage { $0[28] = 0 } == .frame(2))
    #expect(damage { $0[24] = 8 } == .frame(2))
    #expect(damage { $0[16] = 0x21 } == .frame(1))  // longer than zstd makes it
    #expect(damage { $0[8] = 0xE7 } == .storedSize)
    #expect(damage { $0[28] = 6 } == .logicalSize)
    #expect(damage({ _ in }, logical: 131_080) == .logicalSize)
    #expect(damage({ _ in }, logical: 200_000) == .frameCount)
    #expect(damage({ _ in }, logical: .max) == .logicalSize)
    #expect(damage({ _ in }, logical: 2) == .frameCount)
    #expect(damage({ _ in }, stored: 20) == .storedSize)
    #expect(damage({ $0 = Array($0.dropFirst()) }) == .length)
  }

  @Test("A table that the file has no room for is refused before it is read") func room() {
    let bytes: [UInt8] = [0, 0, 16, 0, 0, 0xB1, 0xEA, 0x92, 0x8F]
    let logical: UInt64 = 64 << 30
    #expect(throws: SeekTableDamage.length) {
      try footer(bytes, storedSize: 100, logicalSize: logical)
    }
    #expect(throws: SeekTableDamage.storedSize) {
      try footer(bytes, storedSize: 9_000_000, logicalSize: logical)
    }
    #expect(throws: SeekTableDamage.frameCount) {
      try footer([1, 0, 32, 0, 0, 0xB1, 0xEA, 0x92, 0x8F], storedSize: 1 << 40, logicalSize: logical)
    }
    #expect(throws: SeekTableDamage.length) {
      try footer([1, 2, 3], storedSize: 100, logicalSize: 5)
    }
  }

  @Test("What no reader would take is not written") func writing() {
    var writer = SeekTableWriter()
    let frames = [(100, 0), (100, 65_537), (8, 5), (65_825, 65_536), (-1, -1), (.max, .max)]
    for (stored, raw) in frames {
      let isTaken = writer.add(stored: stored, raw: raw)
      #expect(!isTaken, "\(stored) bytes for \(raw)")
    }
    #expect(writer.frameCount == 0 && writer.table.count == 17)
  }

  @Test("Every byte of random tables is in one frame, also where frames are short") func frames() throws {
    var dice = Dice(for: "seek tables")
    for _ in 0..<300 {
      var writer = SeekTableWriter()
      // Files of earlier versions have frames of twice the size.
      let (isUniform, size) = (dice.once(in: 2), dice.pick([SeekTableLayout.frameSize, 65_536, 1000]))
      for _ in 0..<dice.below(30) {
        let raw = isUniform ? size : 1 + dice.below(65_536)
        let isTaken = writer.add(stored: 9 + dice.below(raw), raw: raw)
        #expect(isTaken)
      }
      let table = try Self.read(writer.table, stored: writer.storedSize, logical: writer.logicalSize)
      var (stored, raw): (UInt64, UInt64) = (0, 0)
      for index in 0..<table.frameCount {
        let frame = try #require(table.frame(index))
        #expect(frame.storedOffset == stored && frame.rawOffset == raw)
        for offset in [raw, raw + UInt64(frame.rawSize) / 2, raw + UInt64(frame.rawSize) - 1] {
          #expect(table.frame(holding: offset) == frame)
        }
        stored += UInt64(frame.storedSize)
        raw += UInt64(frame.rawSize)
      }
      #expect(stored == writer.storedSize && raw == writer.logicalSize && table.frame(holding: raw) == nil)
    }
  }

  @Test("Any bytes and sizes: damage or a table that fits, never a trap") func fuzz() {
    var dice = Dice(for: "damaged seek tables")
    let sound = Self.example().table
    var accepted = 0
    for _ in 0..<200_000 {
      var table = sound
      for _ in 0..<dice.below(4) { table[dice.below(table.count)] = UInt8(truncatingIfNeeded: dice.next()) }
      if dice.once(in: 5) { table.removeFirst(dice.below(table.count)) }
      let sizes: [UInt64] = [0, 7, 66_844, 131_079, dice.next(), .max, dice.next() >> 30]
      let (storedSize, logical) = (
        dice.once(in: 2) ? 66_844 + UInt64(sound.count) : dice.pick(sizes),
        dice.once(in: 2) ? 131_079 : dice.pick(sizes)
      )
      do throws(SeekTableDamage) {
        let footer = try SeekTableFooter(
          Array(table.suffix(9)).span, storedSize: storedSize, logicalSize: logical)
        #expect(footer.tableOffset + UInt64(footer.tableLength) == storedSize)
        let read = try SeekTable(table.span, footer, logicalSize: logical)
        accepted += 1
        #expect(read.logicalSize == logical)
        for _ in 0..<4 {
          guard let frame = read.frame(holding: dice.next() % (logical + 1)) else { continue }
          #expect(frame.storedOffset + UInt64(frame.storedSize) <= footer.tableOffset)
        }
      } catch {
        continue
      }
    }
    #expect(accepted > 1000)
  }
}
