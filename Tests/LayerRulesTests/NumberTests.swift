// Numbers of items and counts of their links.

import LayerRules
import Randomness
import RecordFormat
import Testing

@Suite("Numbers of items") struct NumberTests {
  @Test("On the device of the upper it is the inode number, in whatever layer") func plain() {
    #expect(Numbering.number(inode: 12, at: .upperDevice) == 12)
    #expect(Numbering.number(inode: (1 << 56) - 1, at: .upperDevice) == (1 << 56) - 1)
  }

  @Test("On another device the place of the device is in front") func placed() {
    #expect(Numbering.number(inode: 12, at: .lowerDevice(1)) == 1 << 56 | 12)
    #expect(Numbering.number(inode: 12, at: .lowerDevice(64)) == 64 << 56 | 12)
  }

  @Test("Folded numbers are none of the others and rarely each other's") func folded() {
    var dice = Dice(for: "folded numbers")
    var seen: Set<UInt64> = []
    var count = 0
    for _ in 0..<20_000 {
      let inode = dice.next() | 1 << 56
      for residence in [Residence.upperDevice, .lowerDevice(3), .foreign(device: 7), .foreign(device: .max)] {
        let number = Numbering.number(inode: inode, at: residence)
        #expect(number >> 63 == 1)
        #expect(number == Numbering.number(inode: inode, at: residence))
        seen.insert(number)
        count += 1
      }
    }
    #expect(seen.count == count)
    #expect(Numbering.number(inode: 5, at: .foreign(device: 1)) >> 63 == 1)
    // A place there cannot be is no reason to trap or to give another item's number.
    #expect(Numbering.number(inode: 5, at: .lowerDevice(0)) >> 63 == 1)
    #expect(Numbering.number(inode: 5, at: .lowerDevice(255)) >> 63 == 1)
  }

  @Test("The generation is the checksum of the birth time, and 0 without one") func generation() {
    #expect(Numbering.generation(of: nil) == 0)
    // 12 bytes: 1_700_000_000 and 5, little-endian.
    let bytes: [UInt8] = [0x00, 0xF1, 0x53, 0x65, 0, 0, 0, 0, 5, 0, 0, 0]
    #expect(
      Numbering.generation(of: .init(seconds: 1_700_000_000, nanoseconds: 5)) == CRC32C.of(bytes.span))
    #expect(Numbering.generation(of: .init(seconds: -1, nanoseconds: 999_999_999)) != 0)
  }

  @Test("An origin is of the item that it names, and of no copy of it") func origin() {
    let origin = CoreRecord.Origin(
      fileSystemTag: 1, inode: 2, generation: 3, ownInode: 4, ownGeneration: 5)
    #expect(origin.isOf(inode: 4, generation: 5))
    #expect(!origin.isOf(inode: 4, generation: 6))
    #expect(!origin.isOf(inode: 2, generation: 3))
  }
}

@Suite("Counts of links") struct LinkCountTests {
  /// The table of events, on an object with three names in a lower.
  @Test("Each event leaves the count right, and its first half one too high") func events() throws {
    var state = LinkState(lowerLinks: 3, entry: .none)
    #expect(state.shown == 3 && state.stored == nil)

    // A name is removed before anything is copied.
    state = try #require(state.settled(by: -1))
    #expect(state == LinkState(lowerLinks: 3, entry: .counts(difference: -1)))
    #expect(state.shown == 2 && !state.isUnused)

    // The first copy: the entry first, then the name, then the difference.
    let first = try #require(state.firstCopy)
    #expect(first == CoreRecord.LinkCount(1, relativeTo: .upper))
    state.entry = .inode(links: 1, difference: first.difference)
    #expect(state.shown == 2)
    state.entry = .inode(links: 2, difference: first.difference)
    #expect(state.shown == 3)
    state = try #require(state.settled(by: -1))
    #expect(state.shown == 2)

    // Its other name comes up.
    state.entry = .inode(links: 3, difference: 0)
    #expect(state.shown == 3)
    state = try #require(state.settled(by: -1))
    #expect(state.shown == 2)

    // A further name in the upper, and all three go.
    state.entry = .inode(links: 4, difference: -1)
    #expect(state.shown == 3 && !state.isUnused)
    state.entry = .inode(links: 1, difference: -1)
    #expect(state.isUnused)
  }

  @Test("A damaged count shows 1 at least and never traps") func damaged() throws {
    for difference in [Int32.min, -5, 0, .max] {
      for links in [UInt32.min, 1, .max] {
        for entry in [
          LinkState.Entry.none, .counts(difference: difference), .inode(links: links, difference: difference),
        ] {
          let state = LinkState(lowerLinks: links, entry: entry)
          #expect(state.shown >= 1)
          _ = state.firstCopy
          _ = state.isUnused
          _ = state.settled(by: -1)?.stored
          _ = state.settled(by: 1)?.shown
        }
      }
    }
    let full = LinkState(lowerLinks: 1, entry: .counts(difference: .min))
    #expect(full.settled(by: -1) == nil)
    #expect(LinkState(lowerLinks: .max, entry: .none).firstCopy == nil)
    #expect(LinkState(lowerLinks: 0, entry: .none).firstCopy == nil)
  }

  @Test("An entry is read by the base of its record") func reading() {
    let counts = LinkState(lowerLinks: 3, entryLinks: 1, record: .init(-1, relativeTo: .lower))
    #expect(counts == LinkState(lowerLinks: 3, entry: .counts(difference: -1)))
    let inode = LinkState(lowerLinks: 3, entryLinks: 2, record: .init(1, relativeTo: .upper))
    #expect(inode == LinkState(lowerLinks: 3, entry: .inode(links: 2, difference: 1)))
    #expect(LinkState(lowerLinks: 3, entryLinks: 2, record: nil) == nil)
  }
}
