// Sizes and holes of an encrypted file: truncate, allocate, punch, zero, and where data are.

import Ciphers
import LinuxFiles
import SealedFormat
import Synchronization

extension SealedFile {
  /// Cuts or extends the file.
  func truncate(to size: UInt64) throws(Errno) {
    guard size <= Block.largestFileSize else { throw .fileTooBig }
    guard size > 0 else { return try makeEmpty() }
    while try !changing({ (cipher) throws(Errno) in try resize(to: size, &cipher) }) {
      // What an earlier truncation cut off has to be gone before a shorter one hides less.
      try commit()
      try commit()
    }
  }

  /// A file without bytes has no header, and the next one gets another key.
  private func makeEmpty() throws(Errno) {
    try commits.withLock { (_) throws(Errno) in
      try turn.withLock { (_) throws(Errno) in
        state.withLock { $0.isBeingEmptied = true }
        defer { state.withLock { $0.isBeingEmptied = false } }
        try store.cut(to: 0)
        state.withLock { $0.becomeEmpty() }
      }
    }
  }

  /// Changes the size; nil: not before the commit under way has ended, false: not before another two.
  private func resize(to size: UInt64, _ cipher: inout FileCipher) throws(Errno) -> Bool? {
    guard let commit = state.withLock({ $0.commit }) else { throw .inputOutput }
    let tail = CommitState.tail(of: size)
    let shrinks = size < commit.fileSize
    let touched = shrinks ? tail.map { $0.block.number..<$0.block.number + 1 } : nil
    guard try mayChange(touched ?? 0..<0, growing: true, &cipher) else { return nil }
    guard shrinks else {
      try writeHeaderIfNew(&cipher)
      try writeSlot(growingTo: size, &cipher)
      return true
    }
    guard commit.mayTruncate(to: size) else { return false }
    guard let generations = state.withLock({ $0.commit?.begin(1) }) else { throw .fileTooBig }
    defer { state.withLock { $0.commit?.end(generations) } }
    let versions = try tail.flatMap { (block, used) throws(Errno) in try zeroed(block, from: used, &cipher) }
    defer { if let versions { state.withLock { $0.commit?.end(versions.generations) } } }
    let before = state.withLock { state in
      let before = state.commit
      state.commit?.truncate(to: size, generations)
      return before
    }
    do throws(Errno) { try writeSlot(&cipher) } catch {
      // Of the rest a commit beside us may have changed something.
      if let before { state.withLock { $0.commit?.takeBackTruncation(to: before) } }
      if let versions { giveBack(versions) }
      throw error
    }
    if let versions { try enterTail(versions, &cipher) }
    return true
  }

  /// The size is smaller already: without its zeros the last block would show what was cut off when the file grows again.
  private func enterTail(_ versions: NewVersions, _ cipher: inout FileCipher) throws(Errno) {
    do throws(Errno) { try enter(versions, size: 0, &cipher) } catch {
      do throws(Errno) { try enter(versions, size: 0, &cipher) } catch {
        // The next mount puts them there.
        state.withLock { $0.isBroken = true }
        throw error
      }
    }
  }

  /// A block with zeros from `used` on, in a page of its own; nil if it has nothing else there.
  func zeroed(
    _ block: Block, from used: Int, _ cipher: inout FileCipher
  ) throws(Errno) -> NewVersions? {
    var scratch = try SecretBytes.make(count: Block.size)
    let isClean = try scratch.withMutableBytes { (plain) throws(Errno) in
      try readBlock(block, into: &plain, &cipher)
      var isClean = true
      for index in used..<Block.size where plain[index] != 0 {
        plain[index] = 0
        isClean = false
      }
      return isClean
    }
    guard !isClean else { return nil }
    let random = try cipher.random()
    guard var versions = state.withLock({ $0.takePages(for: block.number..<block.number + 1) }) else {
      throw .fileTooBig
    }
    let (page, generation) = (versions.pages[0], versions.generations.first)
    do throws(Errno) {
      let tag = try scratch.withMutableBytes { (plain) throws(Errno) in
        let tag = try cipher.encrypt(&plain, of: block, generation: generation, random: random)
        try store.write(plain.span, at: page.byteOffset)
        return tag
      }
      versions.items = [
        NewVersions.Item(
          block: block, version: BlockVersion(page: page, generation: generation, random: random, tag: tag))
      ]
    } catch {
      state.withLock { state in
        state.free.free(page)
        state.commit?.end(versions.generations)
      }
      throw error
    }
    state.withLock { $0.grew(to: page.number + 1) }
    return versions
  }

  // MARK: Space

  func allocate(_ mode: AllocationMode, offset: UInt64, length: UInt64) throws(Errno) {
    let (end, overflow) = offset.addingReportingOverflow(length)
    guard length > 0 else { throw .invalid }
    guard !overflow, end <= Block.largestFileSize else { throw .fileTooBig }
    switch mode {
    case [], .keepSize:
      try reserve(offset..<end)
      if !mode.contains(.keepSize), end > size { try truncate(to: end) }
    case [.punchHole, .keepSize]:
      if offset < size { try clear(offset..<min(end, size)) }
    case .zeroRange, [.zeroRange, .keepSize]:
      if offset < size { try clear(offset..<min(end, size)) }
      if !mode.contains(.keepSize), end > size { try truncate(to: end) }
    default: throw .unsupported
    }
  }

  /// The pages that the blocks of a range take if nothing else has taken them.
  private func reserve(_ range: Range<UInt64>) throws(Errno) {
    guard let first = Block(range.lowerBound / UInt64(Block.size)),
      let last = Block(Block.count(range.upperBound) - 1)
    else { throw .fileTooBig }
    try store.reserve(first.home.byteOffset..<last.home.byteOffset + UInt64(Page.size))
  }

  /// Makes a range of the file zeros, and holes where that frees a block.
  private func clear(_ range: Range<UInt64>) throws(Errno) {
    let size = UInt64(Block.size)
    let first = (range.lowerBound + size - 1) / size
    // What is behind the end of the file is zeros: its last block can go as a whole.
    let end = range.upperBound == self.size ? Block.count(range.upperBound) : range.upperBound / size
    let whole = first..<max(first, end)
    // A range inside one block, or the two ends of a longer one.
    if whole.isEmpty {
      let middle = min(range.upperBound, (range.lowerBound / size + 1) * size)
      try overwriteWithZeros(range.lowerBound..<middle)
      try overwriteWithZeros(middle..<range.upperBound)
      return
    }
    try overwriteWithZeros(range.lowerBound..<whole.lowerBound * size)
    var next = whole.lowerBound
    while next < whole.upperBound {
      let end = min(whole.upperBound, next + UInt64(SealedLimits.entriesAtOnce))
      next = try changing { (cipher) throws(Errno) in try makeHoles(next..<end, &cipher) }
    }
    try overwriteWithZeros(min(whole.upperBound * size, range.upperBound)..<range.upperBound)
  }

  private func overwriteWithZeros(_ range: Range<UInt64>) throws(Errno) {
    guard !range.isEmpty, try hasData(range.lowerBound / UInt64(Block.size)) else { return }
    var zeros = [UInt8](repeating: 0, count: range.count)
    var bytes = zeros.mutableSpan
    guard let offset = Int64(exactly: range.lowerBound) else { throw .fileTooBig }
    _ = try write(&bytes, at: .offset(offset))
  }
}
