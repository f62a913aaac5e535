import FlagRules
import Testing

@Suite("Finder information") struct FinderInfoTests {
  static let plain = [UInt8](repeating: 0, count: 32)

  static func info(_ index: Int, _ byte: UInt8) -> [UInt8] {
    var bytes = plain
    bytes[index] = byte
    return bytes
  }

  @Test("The invisible bit is the flag, the rest is stored") func invisible() throws {
    let info = try #require(FinderInfo(Self.info(8, 0x60)))
    #expect(info.isInvisible)
    #expect(info.rest == Self.info(8, 0x20))
    #expect(info.bytes == Self.info(8, 0x60))
    #expect(info.applied(to: .noDump) == [.noDump, .hidden])
    let visible = try #require(FinderInfo(Self.info(9, 0x40)))
    #expect(!visible.isInvisible)
    #expect(visible.applied(to: [.noDump, .hidden]) == .noDump)
  }

  @Test("What is stored is shown with the flag's bit, whatever bit was stored") func shown() {
    let rows: [(stored: [UInt8]?, flags: FileFlags, bytes: [UInt8])] = [
      (nil, [], Self.plain), (nil, .hidden, Self.info(8, 0x40)),
      (Self.info(8, 0x40), [], Self.plain), (Self.info(0, 0x41), .hidden, Self.merged),
      // Of no use to anybody, and put there behind the mount.
      ([1, 2, 3], [], Self.plain), (Self.plain + [1], .hidden, Self.info(8, 0x40)),
    ]
    for row in rows {
      let info = FinderInfo(stored: row.stored, flags: row.flags)
      #expect(info.bytes == row.bytes)
      #expect(info.isEmpty == (row.bytes == Self.plain))
    }
  }

  private static var merged: [UInt8] {
    var bytes = info(0, 0x41)
    bytes[8] = 0x40
    return bytes
  }

  @Test("Only 32 bytes are Finder information") func length() {
    for count in [0, 1, 31, 33, 64] {
      #expect(FinderInfo([UInt8](repeating: 0, count: count)) == nil)
    }
  }
}
