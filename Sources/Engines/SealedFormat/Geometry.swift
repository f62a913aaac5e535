// Where things lie in a sealed file: index arithmetic, and nothing else.
//
// Page 0 holds the header and the index of the first 24 blocks; after that an index page stands before each 48 data
// pages: 0 | 1...24 | 25 | 26...73 | 74 | ... A block has one index entry pair at a fixed position, and may lie in any
// page that is not page 0 and not an index page.

/// A page of 4096 bytes of the backing file.
package struct Page: Hashable, Comparable, Sendable {
  package static let size = 4096
  /// An entry has 48 bits for a page number.
  package static let limit: UInt64 = 1 << 48

  package let number: UInt64

  package init?(_ number: UInt64) {
    guard number < Page.limit else { return nil }
    self.number = number
  }

  fileprivate init(below number: UInt64) { self.number = number }

  package static let zero = Page(below: 0)

  package var byteOffset: UInt64 { number * UInt64(Page.size) }
  package var isIndex: Bool { number >= 25 && (number - 25) % 49 == 0 }
  package var mayHoldBlock: Bool { number != 0 && !isIndex }

  package static func < (left: Page, right: Page) -> Bool { left.number < right.number }
}

/// A block of 4096 bytes of plaintext.
package struct Block: Hashable, Comparable, Sendable {
  package static let size = 4096
  /// Chosen so that the home of every block has a page number: files end below 1.1 EB.
  package static let limit: UInt64 = (Page.limit / 49 - 1) * 48
  package static let largestFileSize = limit * UInt64(size)
  package static let perSector = 6
  package static let perSegment: UInt64 = 16384
  static let inPageZero: UInt64 = 24
  static let perIndexPage: UInt64 = 48

  package let number: UInt64

  package init?(_ number: UInt64) {
    guard number < Block.limit else { return nil }
    self.number = number
  }

  /// How many blocks a file of `size` bytes has.
  package static func count(_ size: UInt64) -> UInt64 {
    size / UInt64(Block.size) + (size % UInt64(Block.size) == 0 ? 0 : 1)
  }

  /// The segment whose key encrypts the block.
  package var segment: UInt64 { number / Block.perSegment }
  /// The number of its index sector, counted over the whole file.
  package var sector: UInt64 { number / UInt64(Block.perSector) }
  package var positionInSector: Int { Int(number % UInt64(Block.perSector)) }

  /// The page and the offset in it of the index sector with the pair of this block.
  package var sectorAddress: SectorAddress {
    guard number >= Block.inPageZero else {
      return SectorAddress(page: .zero, offset: 2048 + Int(sector) * IndexSector.size)
    }
    let (group, position) = (number - Block.inPageZero).quotientAndRemainder(dividingBy: Block.perIndexPage)
    return SectorAddress(
      page: Page(below: 25 + 49 * group), offset: Int(position) / Block.perSector * IndexSector.size)
  }

  /// The blocks with entries in the same index page.
  package var indexGroup: Range<UInt64> {
    guard number >= Block.inPageZero else { return 0..<Block.inPageZero }
    let start = number - (number - Block.inPageZero) % Block.perIndexPage
    return start..<start + Block.perIndexPage
  }

  /// The blocks with entries in the same index sector.
  package var sectorBlocks: Range<UInt64> {
    let start = sector * UInt64(Block.perSector)
    return start..<start + UInt64(Block.perSector)
  }

  /// The page that a writer tries first.
  ///
  /// Readers follow the entry.
  package var home: Page {
    guard number >= Block.inPageZero else { return Page(below: 1 + number) }
    let (group, position) = (number - Block.inPageZero).quotientAndRemainder(dividingBy: Block.perIndexPage)
    return Page(below: 26 + 49 * group + position)
  }

  /// Whether an index page begins with the entries of this block.
  package var isFirstInIndexPage: Bool {
    number >= Block.inPageZero && (number - Block.inPageZero) % Block.perIndexPage == 0
  }

  /// The number of the first block whose index page does not lie before a page.
  package static func firstIndexed(from page: Page) -> UInt64 {
    page == .zero ? 0 : inPageZero + (max(page.number, 25) - 25 + 48) / 49 * perIndexPage
  }

  package static func < (left: Block, right: Block) -> Bool { left.number < right.number }
}

/// Where an index sector lies.
package struct SectorAddress: Hashable, Sendable {
  package let page: Page
  package let offset: Int

  package init(page: Page, offset: Int) {
    self.page = page
    self.offset = offset
  }

  package var byteOffset: UInt64 { page.byteOffset + UInt64(offset) }

  /// What it means whether the page of this sector lies inside the backing file.
  package enum Presence: Sendable {
    case present
    /// It was never written: its blocks have no entries.
    case empty
    /// It was there and is not: EIO for its blocks.
    case damage
  }

  /// `pages` are the whole pages of the backing file, `required` those it must have (`FileView.requiredPages`).
  package func presence(pages: UInt64, required: UInt64) -> Presence {
    if page.number < pages { return .present }
    return page.number >= required ? .empty : .damage
  }
}
