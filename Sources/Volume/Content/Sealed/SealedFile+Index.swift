// The index of an encrypted file: read, checked, kept, and written by whole sectors.

import Ciphers
import LinuxFiles
import SealedFormat
import Synchronization

/// One entry that changes.
struct EntryChange {
  let block: Block
  let half: Half
  let version: BlockVersion
}

extension SealedFile {
  /// The bytes of an index page; zeros where the backing file never had it.
  func indexPage(_ number: UInt64) throws(Errno) -> IndexCache.Page {
    let (kept, changes, pages, required) = state.withLock {
      ($0.index[number], $0.index.changes, $0.pages, $0.requiredPages)
    }
    if let kept { return kept }
    var bytes = [UInt8](repeating: 0, count: Page.size)
    switch presence(number, pages, required) {
    case .empty: return IndexCache.Page(bytes: bytes, checked: .max)
    case .damage: throw .inputOutput
    case .present: break
    }
    var span = bytes.mutableSpan
    guard try store.read(into: &span, at: number * UInt64(Page.size)) == Page.size else {
      throw .inputOutput
    }
    state.withLock { $0.index.learn(number, bytes, readAt: changes) }
    return IndexCache.Page(bytes: bytes)
  }

  private func presence(_ page: UInt64, _ pages: UInt64, _ required: UInt64) -> SectorAddress.Presence {
    guard let page = Page(page) else { return .damage }
    return SectorAddress(page: page, offset: 0).presence(pages: pages, required: required)
  }

  /// The entries of a block; EIO where its sector's seal has to hold and does not.
  func pair(of block: Block, _ cipher: inout FileCipher) throws(Errno) -> Pair {
    let address = block.sectorAddress
    let (changes, lenient) = state.withLock { ($0.index.changes, $0.rules.acceptsTornSector) }
    let page = try indexPage(address.page.number)
    let sector = page.bytes.span.extracting(address.offset..<address.offset + IndexSector.size)
    if !page.isChecked(address) {
      if try cipher.holds(sector, of: block) {
        state.withLock { $0.index.noteChecked(address, readAt: changes) }
      } else if !lenient {
        throw damaged(block, cipher.file)
      }
    }
    return try IndexSector.pairOrDamage(of: block, in: sector)
  }

  /// Writes entries, and a slot beside them: those in page 0 go with it in one call.
  ///
  /// Entries are in the order of their blocks, and their sectors were checked.
  func put(
    _ entries: [EntryChange], slot: (half: Half, slot: Slot)? = nil, _ cipher: inout FileCipher
  ) throws(Errno) {
    var rest = entries[...]
    var slot = slot
    while let first = rest.first {
      let number = first.block.sectorAddress.page.number
      let end = rest.firstIndex { $0.block.sectorAddress.page.number != number } ?? rest.endIndex
      try put(rest[..<end], slot: number == 0 ? slot : nil, in: number, &cipher)
      if number == 0 { slot = nil }
      rest = rest[end...]
    }
    if let slot { try put([], slot: slot, in: 0, &cipher) }
  }

  private func put(
    _ entries: ArraySlice<EntryChange>, slot: (half: Half, slot: Slot)?, in number: UInt64,
    _ cipher: inout FileCipher
  ) throws(Errno) {
    var page = try indexPage(number)
    var (low, high) = (Page.size, 0)
    var checked: UInt8 = 0
    var bytes = page.bytes.mutableSpan
    if let slot {
      low = Slot.offset(slot.half)
      high = low + Slot.size
      var sector = bytes._mutatingExtracting(low..<high)
      try cipher.write(slot.slot, into: &sector)
    }
    var index = entries.startIndex
    while index < entries.endIndex {
      let address = entries[index].block.sectorAddress
      let block = entries[index].block
      var sector = bytes._mutatingExtracting(address.offset..<address.offset + IndexSector.size)
      while index < entries.endIndex, entries[index].block.sector == block.sector {
        try IndexSector.putOrDamage(entries[index], in: &sector)
        index += 1
      }
      try cipher.close(&sector, of: block)
      checked |= IndexCache.bit(address)
      (low, high) = (min(low, address.offset), max(high, address.offset + IndexSector.size))
    }
    page.checked |= checked
    // A page the backing file does not have is written whole: it grows by pages.
    if state.withLock({ number >= $0.pages }) { (low, high) = (0, Page.size) }
    let offset = number * UInt64(Page.size)
    do throws(Errno) {
      try store.write(page.bytes.span.extracting(low..<high), at: offset + UInt64(low))
    } catch {
      // Some of it may be there.
      state.withLock { $0.index.drop(number) }
      throw error
    }
    state.withLock { state in
      state.index.wrote(number, page)
      state.grew(to: number + 1)
    }
  }

  /// Every block the index has room for, also behind the size, but those whose index page was never written.
  func forEachIndexed(
    from first: UInt64 = 0, _ body: (Block) throws(Errno) -> Void
  ) throws(Errno) {
    let pages = state.withLock { $0.pages }
    var number = try skippingHoles(from: first)
    while let block = Block(number), block.sectorAddress.page.number < pages {
      try body(block)
      number += 1
      if Block(number)?.isFirstInIndexPage ?? false { number = try skippingHoles(from: number) }
    }
  }

  /// The first block at or behind one whose index page may have entries; `UInt64.max` where there is none.
  ///
  /// An index page in a hole of the backing file is zeros. To read all of those takes half a minute for a sparse file of
  /// 20 GiB.
  func skippingHoles(from number: UInt64) throws(Errno) -> UInt64 {
    guard let block = Block(number) else { return number }
    let own = block.sectorAddress.page
    // Page 0 is never a hole, and behind the end is nothing: most files have nothing else.
    if own == .zero { return number }
    guard own.number < state.withLock({ $0.pages }) else { return .max }
    guard let offset = try store.nextData(from: own.byteOffset) else { return .max }
    guard let page = Page(offset / UInt64(Page.size)), own < page else { return number }
    return max(number, Block.firstIndexed(from: page))
  }
}

extension IndexSector {
  // A sector of another length cannot be: the errors of the engine have nothing to say here.

  static func pairOrDamage(of block: Block, in sector: Span<UInt8>) throws(Errno) -> Pair {
    guard let pair = try? IndexSector.pair(of: block, in: sector) else { throw .inputOutput }
    return pair
  }

  fileprivate static func putOrDamage(
    _ entry: EntryChange, in sector: inout MutableSpan<UInt8>
  ) throws(Errno) {
    do {
      try IndexSector.put(entry.version, into: entry.half, of: entry.block, in: &sector)
    } catch {
      throw .inputOutput
    }
  }
}
