import Randomness
import SealedFormat
import Testing

@Suite struct GeometryTests {
  /// Walks the pages in order and deals blocks out, instead of computing them.
  @Test func everyBlockHasItsOwnHomeAndItsOwnEntry() throws {
    var block: UInt64 = 0
    var entries: Set<SectorAddress> = []
    for number in UInt64(0)..<500 {
      let page = try #require(Page(number))
      let isIndex = number >= 25 && (number - 25) % 49 == 0
      #expect(page.isIndex == isIndex)
      #expect(page.mayHoldBlock == (number != 0 && !isIndex))
      guard page.mayHoldBlock else { continue }
      let here = try #require(Block(block))
      #expect(here.home == page)
      let address = here.sectorAddress
      if block < 24 {
        #expect(address == SectorAddress(page: .zero, offset: 2048 + Int(block) / 6 * 512))
      } else {
        // The index page before the 48 blocks it describes.
        #expect(address.page.isIndex && address.page < page && page.number - address.page.number <= 48)
        #expect(address.offset == Int(page.number - address.page.number - 1) / 6 * 512)
      }
      #expect(entries.insert(address).inserted == (block % 6 == 0))
      #expect(here.positionInSector == Int(block % 6) && here.sector == block / 6)
      block += 1
    }
  }

  @Test func segmentsAreOf64MiB() throws {
    #expect(Block(16383)?.segment == 0 && Block(16384)?.segment == 1)
    #expect(Block.perSegment * 4096 == 64 << 20)
  }

  @Test func sizesAreCountedInBlocks() {
    #expect([0, 1, 4095, 4096, 4097, .max].map { Block.count($0) } == [0, 1, 1, 1, 2, 1 << 52])
  }

  @Test func theLastBlockStillHasAPage() throws {
    let last = try #require(Block(Block.limit - 1))
    #expect(Block(Block.limit) == nil && Page(Page.limit) == nil)
    #expect(last.home.number < Page.limit && last.sectorAddress.page < last.home)
    #expect(last.home.byteOffset < UInt64(Int64.max))
    #expect(Block.count(Block.largestFileSize) == Block.limit)
  }

  @Test func aMissingIndexPageIsDamageOnlyBelowTheRequiredPages() throws {
    let address = try #require(Block(24)).sectorAddress
    #expect(address.page.number == 25)
    #expect(address.presence(pages: 26, required: 0) == .present)
    #expect(address.presence(pages: 25, required: 25) == .empty)
    #expect(address.presence(pages: 25, required: 26) == .damage)
  }
}

@Suite struct FreePagesTests {
  /// The same as a plain set of numbers.
  @Test func agreesWithASet() throws {
    var dice = Dice(for: "free pages")
    for _ in 0..<many(300, 20_000) {
      var free = FreePages(end: 1)
      var end: UInt64 = 1
      var model: Set<UInt64> = []
      var taken: Set<UInt64> = []
      func extend(to pages: UInt64) {
        for number in end..<max(end, pages) where Page(number)?.mayHoldBlock == true { model.insert(number) }
        end = max(end, pages)
      }
      for _ in 0..<dice.below(120) {
        switch dice.below(4) {
        case 0, 1:
          let home = try #require(Block(UInt64(dice.below(120)))).home
          guard let page = free.take(home: home) else { throw ModelFailure.header }
          if home.number >= end || model.contains(home.number) {
            #expect(page == home)
          } else if let lowest = model.min() {
            #expect(page.number == lowest)
          } else {
            #expect(page.number == (Page(end)?.isIndex == true ? end + 1 : end))
          }
          #expect(page.mayHoldBlock && taken.insert(page.number).inserted)
          extend(to: page.number + 1)
          model.remove(page.number)
        case 2:
          guard let number = taken.sorted().first(where: { _ in dice.once(in: 3) }), let page = Page(number)
          else { continue }
          taken.remove(number)
          model.insert(number)
          free.free(page)
        default:
          guard dice.once(in: 5), let length = free.cut(fileSize: 0) else { continue }
          #expect(taken.allSatisfy { $0 < length })
          free.cut(to: length)
          end = length
          model = model.filter { $0 < length }
        }
        #expect(free.end == end)
      }
      var runs: Set<UInt64> = []
      free.forEachRun { runs.formUnion($0) }
      #expect(runs == model)
      let again = FreePages(end: end, used: taken.compactMap { Page($0) }.shuffled(using: &dice))
      for number in 0..<end {
        guard let page = Page(number) else { continue }
        #expect(again.contains(page) == free.contains(page))
      }
    }
  }
}
