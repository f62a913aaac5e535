// Pages of names: records, padding, limits, and what is taken back.

import LinuxFiles
import Testing

@testable import FUSEDoor
@testable import LayeredVolume

@Suite("Pages of names") struct ListingTests {
  static func listed(_ entry: Entry? = nil) -> ListedName {
    ListedName(inode: 0x0102, kind: .directory, nextOffset: 0x0304, entry: entry)
  }

  func expectTaken(_ buffer: inout ReplyBuffer, _ name: String, _ listed: ListedName, withEntry: Bool) {
    let name = Array(name.utf8)
    let isTaken = buffer.appendListed(name.span, listed, withEntry: withEntry, limit: 4096)
    #expect(isTaken)
  }

  @Test("Plain names: head, name, padding to 8 bytes") func plain() {
    let page = body { buffer in
      expectTaken(&buffer, "abc", Self.listed(), withEntry: false)
      expectTaken(&buffer, "12345678", Self.listed(), withEntry: false)
    }
    #expect(
      page
        == hex(
          "0201000000000000 0403000000000000 03000000 04000000 6162630000000000",
          "0201000000000000 0403000000000000 08000000 04000000 3132333435363738"))
  }

  @Test("Names with entries: the entry comes first") func plus() {
    let page = body { buffer in
      expectTaken(&buffer, "a", Self.listed(entry), withEntry: true)
    }
    #expect(
      page == entryBytes + hex("0201000000000000 0403000000000000 01000000 04000000 6100000000000000"))
  }

  @Test("A name without an entry has node 0, which the kernel passes over") func plusWithoutEntry() {
    let page = body { buffer in
      expectTaken(&buffer, ".", Self.listed(), withEntry: true)
    }
    #expect(page.count == 128 + 24 + 8)
    #expect(page[..<128].allSatisfy { $0 == 0 })
  }

  @Test("A page never exceeds what was asked for, nor its buffer") func limits() {
    for size in 1...255 {
      let name = [UInt8](repeating: 97, count: size)
      for withEntry in [false, true] {
        let needed = ((withEntry ? 152 : 24) + size + 7) / 8 * 8
        for room in [needed - 1, needed] {
          let asked = body(capacity: 4096) { buffer in
            let isTaken = buffer.appendListed(name.span, Self.listed(), withEntry: withEntry, limit: room)
            #expect(isTaken == (room >= needed))
          }
          #expect(asked.count == (room >= needed ? needed : 0))
          let held = body(capacity: room) { buffer in
            let isTaken = buffer.appendListed(name.span, Self.listed(), withEntry: withEntry, limit: 4096)
            #expect(isTaken == (room >= needed))
          }
          #expect(held.count == (room >= needed ? needed : 0))
        }
      }
    }
  }

  @Test("An empty name is not listed: the kernel would take the page for damaged") func emptyName() {
    let page = body { buffer in
      let none: [UInt8] = []
      let isTaken = buffer.appendListed(none.span, Self.listed(), withEntry: false, limit: 4096)
      #expect(!isTaken)
    }
    #expect(page == [])
  }

  @Test("Every node of a page is found again, and only those") func handedOut() {
    var buffer = ReplyBuffer(capacity: 65_536)
    var expected: [NodeID] = []
    for number in 1...200 {
      var one = entry
      one.node = NodeID(number)
      let name = [UInt8](repeating: 98, count: number % 255 + 1)
      let hasEntry = number % 3 != 0
      let isTaken = buffer.appendListed(
        name.span, Self.listed(hasEntry ? one : nil), withEntry: true, limit: 65_536)
      #expect(isTaken)
      if hasEntry { expected.append(one.node) }
    }
    var found: [NodeID] = []
    buffer.listedNodes { found.append($0) }
    #expect(found == expected)
  }
}
