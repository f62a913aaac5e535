// All of an encrypted file is read and held against its tags. Nothing is changed, and nothing that is in memory is
// believed: index pages are read from the backing file again.
//
// Versions are judged as reading judges them: one that no reader would get may be gone, because its page belongs to
// another block by now. Sectors behind the size count, as a change of the file may meet them.

import Ciphers
import LinuxFiles
import SealedFormat
import Synchronization

extension SealedFile {
  /// So many blocks are read by one call, into memory of which there is little.
  private static var blocksAtOnce: Int { 16 }

  /// What is wrong with the header and with the length of the backing file.
  ///
  /// Called while nobody changes the class of the file.
  func verifyHeader(into findings: inout ContentFindings) throws(Errno) {
    let (found, isDoubtful) = try turn.withLock { (_) throws(Errno) in
      let isDoubtful = state.withLock { $0.rules.isDoubtful }
      return (try SealedFile.headerFindings(of: store, in: surroundings), isDoubtful)
    }
    findings.header.formUnion(found)
    findings.isDoubtful = isDoubtful
  }

  /// The same of a file that may be too damaged to be opened; ENOKEY where its class is locked.
  static func headerFindings(
    of store: Store, in surroundings: any SealedSurroundings
  ) throws(Errno) -> Set<HeaderFinding> {
    let size = try store.size()
    guard size > 0 else { return [] }
    var findings: Set<HeaderFinding> = size % UInt64(Page.size) == 0 ? [] : [.length]
    var page = [UInt8](repeating: 0, count: Page.size)
    var bytes = page.mutableSpan
    guard try store.read(into: &bytes, at: 0) == Page.size else { return findings.union([.header]) }
    guard let keys = try keys(in: page, surroundings, &findings) else { return findings }
    var cipher = try FileCipher(keys, surroundings.contexts)
    let first = try cipher.slot(in: page.span, .first)
    let second = try cipher.slot(in: page.span, .second)
    // An invalid slot matters only if the other one says that its session ended.
    do {
      let view = try FileView(first, second) { surroundings.hasEnded($0) }
      if first == nil || second == nil { findings.insert(.tornSlot) }
      if view.isShortened(pages: size / UInt64(Page.size)) { findings.insert(.shortened) }
    } catch {
      findings.insert(error == .invalidSlot ? .slot : .slots)
    }
    return findings
  }

  private static func keys(
    in page: [UInt8], _ surroundings: any SealedSurroundings, _ findings: inout Set<HeaderFinding>
  ) throws(Errno) -> FileKeys? {
    var opened: [FileKeys?] = []
    var isLocked = false
    for half in Half.allCases {
      let start = StaticSector.offset(half)
      do throws(Errno) {
        opened.append(
          try surroundings.keys(from: page.span.extracting(start..<start + StaticSector.size)))
      } catch .inputOutput {
        opened.append(nil)
      } catch .noKey {
        // A flipped bit may make it a sector of a class that is locked.
        isLocked = true
        opened.append(nil)
      }
    }
    switch (opened[0], opened[1]) {
    case (nil, nil):
      if isLocked { throw .noKey }
      let isUnknown = Half.allCases.map { StaticSector.offset($0) }.allSatisfy {
        StaticSector.isOfUnknownForm(page.span.extracting($0..<$0 + StaticSector.size))
      }
      findings.insert(isUnknown ? .unknownForm : .header)
    case (nil, _?): findings.insert(.firstHeader)
    case (_?, nil): findings.insert(.headerCopy)
    case (_?, _?):
      let sectors = Half.allCases.map { StaticSector.offset($0) }.map { page[$0..<$0 + StaticSector.size] }
      if !sectors[0].elementsEqual(sectors[1]) { findings.insert(.headersDiffer) }
    }
    return opened[0] ?? opened[1]
  }

  /// Verifies the content from a block on, until it is `enough`; with which block to go on, nil at the end.
  ///
  /// Those who change the file wait for one index page of it at a time.
  func verifyContent(
    from start: UInt64 = 0, into findings: inout ContentFindings, until enough: () -> Bool = { false }
  ) throws(Errno) -> UInt64? {
    var next = start
    while true {
      let end = try turn.withLock { (_) throws(Errno) -> UInt64? in
        guard let block = Block(try skippingEmptyIndex(from: next)), try !verify(groupOf: block, &findings)
        else { return nil }
        return block.indexGroup.upperBound
      }
      guard let end else { return nil }
      next = end
      if enough() { return next }
    }
  }

  /// The first block at or behind one whose index page is not in a hole of the backing file.
  ///
  /// No block of an index page in a hole has entries. What is not there although it must be counts, too.
  private func skippingEmptyIndex(from number: UInt64) throws(Errno) -> UInt64 {
    let next: UInt64
    do throws(Errno) { next = try skippingHoles(from: number) } catch .inputOutput { return number }
    guard let stored = Page(try store.size() / UInt64(Page.size)) else { return number }
    return min(next, max(number, Block.firstIndexed(from: stored)))
  }

  /// Verifies the blocks of one index page; true if there is no further one.
  private func verify(groupOf block: Block, _ findings: inout ContentFindings) throws(Errno) -> Bool {
    let (rules, required) = state.withLock { ($0.rules, $0.requiredPages) }
    let number = block.sectorAddress.page.number
    let stored = try store.size() / UInt64(Page.size)
    guard number < max(stored, required), var cipher = try currentCipher() else { return true }
    let group = block.indexGroup
    findings.isDoubtful = rules.isDoubtful
    var page = [UInt8](repeating: 0, count: Page.size)
    var bytes = page.mutableSpan
    guard number < stored, try readsWhole(&bytes, at: number * UInt64(Page.size)) else {
      findings.add(.index, group.lowerBound..<max(group.lowerBound, min(group.upperBound, rules.blocks)))
      return false
    }
    var wanted: [WantedBlock] = []
    for first in stride(from: group.lowerBound, to: group.upperBound, by: Block.perSector) {
      guard let block = Block(first) else { break }
      let start = block.sectorAddress.offset
      let sector = page.span.extracting(start..<start + IndexSector.size)
      findings.sectors += 1
      if try !cipher.holds(sector, of: block) {
        let blocks =
          first < rules.blocks ? block.sectorBlocks.clamped(to: 0..<rules.blocks) : block.sectorBlocks
        findings.add(rules.acceptsTornSector ? .torn : .index, blocks)
        if !rules.acceptsTornSector { continue }
      }
      for number in block.sectorBlocks {
        guard let block = Block(number) else { break }
        let pair = try IndexSector.pairOrDamage(of: block, in: sector)
        if rules.newest(of: block, pair) != 0 { wanted.append(WantedBlock(block: block, pair: pair)) }
      }
    }
    try verify(wanted, rules, &findings, &cipher)
    return false
  }

  /// False where the disk cannot read it, or it is not there.
  private func readsWhole(_ bytes: inout MutableSpan<UInt8>, at offset: UInt64) throws(Errno) -> Bool {
    do throws(Errno) {
      return try store.read(into: &bytes, at: offset) == bytes.count
    } catch .inputOutput {
      return false
    }
  }

  /// Verifies blocks, those that lie behind each other with one call to read them.
  private func verify(
    _ wanted: [WantedBlock], _ rules: ReadingRules, _ findings: inout ContentFindings,
    _ cipher: inout FileCipher
  ) throws(Errno) {
    guard !wanted.isEmpty else { return }
    var scratch = try SecretBytes.make(count: SealedFile.blocksAtOnce * Block.size)
    try scratch.withMutableBytes { (all) throws(Errno) in
      var index = 0
      while index < wanted.count {
        if let run = WantedBlock.run(in: wanted, from: index, atMost: SealedFile.blocksAtOnce, rules) {
          let blocks = wanted[index..<index + run.versions.count]
          try verify(blocks, run, rules, &all, &findings, &cipher)
          index = blocks.endIndex
        } else {
          var plain = all._mutatingExtracting(0..<Block.size)
          try verify(wanted[index], rules, &plain, &findings, &cipher)
          index += 1
        }
      }
    }
  }

  private func verify(
    _ wanted: ArraySlice<WantedBlock>, _ run: WantedBlock.Run, _ rules: ReadingRules,
    _ all: inout MutableSpan<UInt8>, _ findings: inout ContentFindings, _ cipher: inout FileCipher
  ) throws(Errno) {
    var part = all._mutatingExtracting(0..<wanted.count * Block.size)
    let isRead = try readsWhole(&part, at: run.start.byteOffset)
    for (place, item) in wanted.enumerated() {
      var plain = part._mutatingExtracting(place * Block.size..<(place + 1) * Block.size)
      if isRead, try cipher.decrypt(&plain, run.versions[place], of: item.block) {
        findings.verified += 1
      } else {
        try verify(item, rules, &plain, &findings, &cipher)
      }
    }
  }

  /// One block as a reader would read it, older versions included.
  private func verify(
    _ wanted: WantedBlock, _ rules: ReadingRules, _ plain: inout MutableSpan<UInt8>,
    _ findings: inout ContentFindings, _ cipher: inout FileCipher
  ) throws(Errno) {
    let block = wanted.block
    let one = block.number..<block.number + 1
    var found = try look(at: wanted, rules, &plain, &cipher)
    if found != .whole, mayBeOutdated {
      found = try lookAnew(at: block, into: &plain, &cipher)
    }
    switch found {
    case .whole: findings.verified += 1
    case .older:
      findings.verified += 1
      findings.add(.lost, one)
    case .zeros: findings.add(.lost, one)
    case .damage: findings.add(.damaged, one)
    }
  }

  private func look(
    at wanted: WantedBlock, _ rules: ReadingRules, _ plain: inout MutableSpan<UInt8>,
    _ cipher: inout FileCipher
  ) throws(Errno) -> Look {
    let block = wanted.block
    var answer = rules.content(of: block, wanted.pair)
    var hasFailed = false
    while case .verify(let version) = answer {
      if try verifies(version, of: block, &plain, &cipher) {
        return hasFailed || version.generation != rules.newest(of: block, wanted.pair) ? .older : .whole
      }
      hasFailed = true
      answer = rules.afterFailure(of: version, of: block, wanted.pair)
    }
    return answer == .damage ? .damage : .zeros
  }

  private func verifies(
    _ version: BlockVersion, of block: Block, _ plain: inout MutableSpan<UInt8>, _ cipher: inout FileCipher
  ) throws(Errno) -> Bool {
    do throws(Errno) {
      return try reads(version, of: block, into: &plain, &cipher)
    } catch .inputOutput {
      return false
    }
  }
}

/// A block, and what the index has of it.
private struct WantedBlock {
  let block: Block
  let pair: Pair

  /// Versions whose pages lie behind each other.
  struct Run {
    let start: Page
    var versions: [BlockVersion]
  }

  /// Nil if the first of them is in no page.
  static func run(
    in wanted: [WantedBlock], from first: Int, atMost count: Int, _ rules: ReadingRules
  ) -> Run? {
    guard let (version, start) = wanted[first].stored(rules) else { return nil }
    var run = Run(start: start, versions: [version])
    for item in wanted[(first + 1)...].prefix(count - 1) {
      guard let (version, page) = item.stored(rules),
        page.number == start.number + UInt64(run.versions.count)
      else { break }
      run.versions.append(version)
    }
    return run
  }

  /// The newest version, if it is in a page.
  private func stored(_ rules: ReadingRules) -> (version: BlockVersion, page: Page)? {
    guard case .verify(let version) = rules.content(of: block, pair), case .page(let page) = version.target,
      version.generation == rules.newest(of: block, pair)
    else { return nil }
    return (version, page)
  }
}

extension ReadingRules {
  /// The generation of the newest version that counts; 0 if none does.
  fileprivate func newest(of block: Block, _ pair: Pair) -> UInt64 {
    Half.allCases.map { pair[$0] }.filter { isLive($0, of: block) }.map(\.generation).max() ?? 0
  }
}
