// Holes of an encrypted file: made, and found.

import Ciphers
import LinuxFiles
import SealedFormat
import Synchronization

extension SealedFile {
  /// Makes holes of blocks that have data; where to go on, nil while a commit is under way.
  func makeHoles(_ blocks: Range<UInt64>, _ cipher: inout FileCipher) throws(Errno) -> UInt64? {
    guard try mayChange(blocks, growing: false, &cipher) else { return nil }
    var full: [Block] = []
    var number = try skippingHoles(from: blocks.lowerBound)
    let end = max(number, blocks.upperBound)
    while number < blocks.upperBound, let block = Block(number) {
      if try isData(block, &cipher) { full.append(block) }
      number += 1
      if Block(number)?.isFirstInIndexPage ?? false { number = try skippingHoles(from: number) }
    }
    guard !full.isEmpty else { return end }
    try cipher.reserveRandom(BlockWrite.randoms(for: full.count))
    guard let generations = state.withLock({ $0.commit?.begin(UInt64(full.count)) }) else {
      throw .fileTooBig
    }
    defer { state.withLock { $0.commit?.end(generations) } }
    var versions = NewVersions(generations: generations, pages: [])
    for (index, block) in full.enumerated() {
      let (generation, random) = (generations[UInt64(index)], try cipher.random())
      let tag = try cipher.tagOfHole(block, generation: generation, random: random)
      versions.items.append(
        NewVersions.Item(block: block, version: BlockVersion(holeOf: generation, random: random, tag: tag)))
    }
    try enter(versions, size: 0, &cipher)
    state.withLock { $0.hasFreed = true }
    return end
  }

  /// Whether a block has a page.
  private func isData(_ block: Block, _ cipher: inout FileCipher) throws(Errno) -> Bool {
    let rules = state.withLock { $0.rules }
    let pair = try pair(of: block, &cipher)
    switch rules.content(of: block, pair) {
    case .zeros: return false
    case .verify(let version): return version.target != .hole
    case .damage: return true
    }
  }

  /// The next byte of data or of a hole, as lseek(2) has it.
  func seek(from offset: UInt64, _ origin: SeekOrigin) throws(Errno) -> UInt64 {
    guard origin == .data || origin == .hole else { throw .invalid }
    for _ in 0..<SealedLimits.looksBesideWriter {
      let found: Result<UInt64, Errno>
      do throws(Errno) { found = .success(try seekAsLoaded(from: offset, origin)) } catch {
        guard error == .noDevice else { throw error }
        found = .failure(error)
      }
      // What seems to be a hole may have been cut off by another mount, and written again.
      guard mayBeOutdated, try !isAsLoaded() else { return try found.get() }
      try load()
    }
    throw .inputOutput
  }

  private func seekAsLoaded(from offset: UInt64, _ origin: SeekOrigin) throws(Errno) -> UInt64 {
    while true {
      guard let (keys, size) = state.withLock({ state in state.identity.map { ($0.keys, state.fileSize) } }),
        offset < size
      else { throw .noDevice }
      do throws(Errno) { return try seek(from: offset, of: size, keys, origin) } catch {
        guard error == .inputOutput, isOutdated(keys.file) else { throw error }
        turn.withLock { _ in }
      }
    }
  }

  private func seek(
    from offset: UInt64, of size: UInt64, _ keys: FileKeys, _ origin: SeekOrigin
  ) throws(Errno) -> UInt64 {
    var cipher = try cipher(keys)
    let blocks = Block.count(size)
    var number = offset / UInt64(Block.size)
    if origin == .data { number = try skippingHoles(from: number) }
    while number < blocks, let block = Block(number) {
      // Behind the last index page there is nothing but a hole.
      let isBehindIndex = state.withLock { block.sectorAddress.page.number >= $0.pages }
      let isData = isBehindIndex ? false : try self.isData(block, &cipher)
      if isData == (origin == .data) { return max(offset, number * UInt64(Block.size)) }
      if isBehindIndex { break }
      number += 1
      if origin == .data, Block(number)?.isFirstInIndexPage ?? false {
        number = try skippingHoles(from: number)
      }
    }
    if origin == .hole { return size }
    throw .noDevice
  }

  func hasData(_ number: UInt64) throws(Errno) -> Bool {
    guard let block = Block(number), var cipher = try currentCipher() else { return false }
    return try isData(block, &cipher)
  }
}
