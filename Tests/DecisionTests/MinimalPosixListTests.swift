import DirectoryModes
import Testing

@Suite("Modes as POSIX lists") struct MinimalPosixListTests {
  private static func list(_ entries: (UInt8, UInt8)...) -> [UInt8] {
    [2, 0, 0, 0] + entries.flatMap { [$0.0, 0, $0.1, 0, 0xFF, 0xFF, 0xFF, 0xFF] }
  }

  @Test("The bytes of cp, for 0640") func bytes() throws {
    let seen = Self.list((1, 6), (4, 4), (0x20, 0))
    #expect(MinimalPosixList.encode(Mode(0o7640)) == seen)
    #expect(try MinimalPosixList.decode(seen) == 0o640)
  }

  @Test("Every mode comes back, in any order of entries") func modes() throws {
    for bits in UInt16(0)...0o777 {
      #expect(try MinimalPosixList.decode(MinimalPosixList.encode(Mode(bits))) == bits)
    }
    #expect(try MinimalPosixList.decode(Self.list((0x20, 1), (1, 7), (4, 2))) == 0o721)
    #expect(try MinimalPosixList.decode(MinimalPosixList.empty) == nil)
  }

  @Test("More than a mode is told apart from nonsense") func refusals() {
    for extended in [
      Self.list((1, 6), (2, 6), (4, 4), (0x10, 6), (0x20, 4)),
      Self.list((1, 6), (4, 4), (0x10, 4), (0x20, 0)),
      Self.list((8, 7)),
    ] {
      #expect(throws: MinimalPosixList.Obstacle.extended) { try MinimalPosixList.decode(extended) }
    }
    let sound = Self.list((1, 6), (4, 4), (0x20, 0))
    let rows: [[UInt8]] = [
      [], [2, 0, 0], [1, 0, 0, 0], [3] + sound.dropFirst(), sound + [0], Array(sound.dropLast()),
      Self.list((1, 6), (4, 4)), Self.list((1, 6), (1, 6), (4, 4)), Self.list((1, 8), (4, 4), (0x20, 0)),
      Self.list((1, 6), (4, 4), (0x40, 0)), Self.list((1, 6), (4, 4), (0x20, 0), (0x20, 0)),
    ]
    for nonsense in rows {
      #expect(throws: MinimalPosixList.Obstacle.malformed) { try MinimalPosixList.decode(nonsense) }
    }
    for length in 0...sound.count {
      for byte: UInt8 in [0, 1, 2, 7, 8, 0x80, 0xFF] {
        for index in 0..<length {
          var changed = Array(sound[..<length])
          changed[index] = byte
          _ = try? MinimalPosixList.decode(changed)
        }
      }
    }
  }
}
