// Writing an encrypted file: pages first, then entries, then the slot, which says the size, if the file grew or is new.
//
// Killed in between, the daemon leaves the old entries. A power cut keeps any part of it; the pair still has the committed
// version, and its page is not used again.

import Ciphers
import LinuxFiles
import SealedFormat
import Synchronization

extension SealedFile {
  /// Writes all bytes; they are encrypted where they are.
  func write(
    _ bytes: inout MutableSpan<UInt8>, at position: Descriptor.WritePosition
  ) throws(Errno) -> Int {
    guard bytes.count > 0 else { return 0 }
    defer { commitOverdue() }
    let isDone: Bool
    do throws(Errno) {
      isDone = try writeOnce(&bytes, at: position)
    } catch {
      guard error.isFullDisk, commitMayFreePages else { throw error }
      // What was replaced since the last commit is free after the next. If that one fails, the file remembers it, and the
      // disk is full all the same.
      do throws(Errno) { try commit() } catch let later { throw later.isFullDisk ? later : error }
      if try writeOnce(&bytes, at: position) { return bytes.count }
      throw error
    }
    // Not written once more: at the end of the file it would be there twice.
    if !isDone { try commit() }
    return bytes.count
  }

  /// Whether there is anything that a commit could bring to the disk.
  ///
  /// A first change that failed has left nothing; the sync of a commit would only be one more that fails.
  private var commitMayFreePages: Bool {
    state.withLock { $0.commit != nil && $0.pages > 0 && !$0.isBroken }
  }

  /// False if all was written but the slot that says the size, for which the disk has no room: the next commit has it.
  private func writeOnce(
    _ bytes: inout MutableSpan<UInt8>, at position: Descriptor.WritePosition
  ) throws(Errno) -> Bool {
    try changing { (cipher) throws(Errno) -> Bool? in
      let size = self.size
      let offset: UInt64
      switch position {
      case .end: offset = size
      case .offset(let at): offset = UInt64(max(at, 0))
      }
      let (end, overflow) = offset.addingReportingOverflow(UInt64(bytes.count))
      guard !overflow, end <= Block.largestFileSize else { throw .fileTooBig }
      let write = BlockWrite(offset..<end, in: size)
      guard try mayChange(write.blocks, growing: end > size, &cipher) else { return nil }
      return try perform(write, &bytes, &cipher)
    }
  }

  /// Whether blocks may be written now, or have to wait for the commit under way.
  ///
  /// Under the turn no other commit begins; one that ends does no harm.
  func mayChange(
    _ blocks: Range<UInt64>, growing: Bool, _ cipher: inout FileCipher
  ) throws(Errno) -> Bool {
    guard let commit = state.withLock({ $0.commit }), commit.frozen != nil else { return true }
    if growing, commit.nextSlot() == nil { return false }
    for number in blocks {
      guard let block = Block(number) else { throw .fileTooBig }
      if commit.destination(of: .max, in: try pair(of: block, &cipher)) == .wait { return false }
    }
    return true
  }

  private func perform(
    _ write: BlockWrite, _ bytes: inout MutableSpan<UInt8>, _ cipher: inout FileCipher
  ) throws(Errno) -> Bool {
    var scratch = try WriteScratch(for: write, isNew: state.withLock { $0.pages == 0 })
    if write.hasPartialHead {
      try scratch.with(.head) { (plain) throws(Errno) in
        try merge(write, write.blocks.lowerBound, bytes.span, into: &plain, &cipher)
      }
    }
    if write.hasPartialTail {
      try scratch.with(.tail) { (plain) throws(Errno) in
        try merge(write, write.blocks.upperBound - 1, bytes.span, into: &plain, &cipher)
      }
    }
    let versions = try encrypt(write, &bytes, &scratch, &cipher)
    let generations = versions.generations
    // Written or not, the request is over.
    defer { state.withLock { $0.commit?.end(generations) } }
    do throws(Errno) {
      try writePages(of: versions, write, bytes.span, &scratch, &cipher)
    } catch {
      giveBack(versions)
      try decrypt(versions, write, &bytes, &cipher)
      throw error
    }
    do throws(Errno) {
      return try enter(versions, size: write.range.upperBound, &cipher)
    } catch {
      // Some entries may be there, so the pages stay taken. Another attempt must not encrypt ciphertext.
      try decrypt(versions, write, &bytes, &cipher)
      throw error
    }
  }

  /// The block as it will be, of which the request has only a part.
  private func merge(
    _ write: BlockWrite, _ number: UInt64, _ bytes: Span<UInt8>, into plain: inout MutableSpan<UInt8>,
    _ cipher: inout FileCipher
  ) throws(Errno) {
    guard let block = Block(number) else { throw .fileTooBig }
    let start = block.number * UInt64(Block.size)
    let part = max(write.range.lowerBound, start)..<min(write.range.upperBound, start + UInt64(Block.size))
    // Behind the end there are zeros, and what is written over nobody needs.
    let old = start..<max(start, min(write.oldSize, start + UInt64(Block.size)))
    if old.isEmpty || part.lowerBound == start && part.upperBound >= old.upperBound {
      plain.wipe()
    } else {
      try readBlock(block, into: &plain, &cipher)
    }
    for position in part { plain[Int(position - start)] = bytes[Int(position - write.range.lowerBound)] }
  }

  // MARK: Pages

  private func encrypt(
    _ write: BlockWrite, _ bytes: inout MutableSpan<UInt8>, _ scratch: inout WriteScratch,
    _ cipher: inout FileCipher
  ) throws(Errno) -> NewVersions {
    try cipher.reserveRandom(BlockWrite.randoms(for: write.blocks.count))
    guard var versions = state.withLock({ $0.takePages(for: write.blocks) }) else { throw .fileTooBig }
    do throws(Errno) {
      try encrypt(write, &bytes, &scratch, into: &versions, &cipher)
    } catch {
      // A commit would wait for them for ever.
      giveBack(versions)
      let generations = versions.generations
      state.withLock { $0.commit?.end(generations) }
      throw error
    }
    return versions
  }

  private func encrypt(
    _ write: BlockWrite, _ bytes: inout MutableSpan<UInt8>, _ scratch: inout WriteScratch,
    into versions: inout NewVersions, _ cipher: inout FileCipher
  ) throws(Errno) {
    for index in 0..<write.blocks.count {
      guard let block = Block(write.blocks.lowerBound + UInt64(index)) else { throw .fileTooBig }
      let (generation, random) = (versions.generations[UInt64(index)], try cipher.random())
      let tag: Bytes16
      switch write.source(of: index) {
      case .head:
        tag = try scratch.with(.head) { (plain) throws(Errno) in
          try cipher.encrypt(&plain, of: block, generation: generation, random: random)
        }
      case .tail:
        tag = try scratch.with(.tail) { (plain) throws(Errno) in
          try cipher.encrypt(&plain, of: block, generation: generation, random: random)
        }
      case .body(let start):
        var plain = bytes._mutatingExtracting(start..<start + Block.size)
        tag = try cipher.encrypt(&plain, of: block, generation: generation, random: random)
      }
      versions.items.append(
        NewVersions.Item(
          block: block,
          version: BlockVersion(page: versions.pages[index], generation: generation, random: random, tag: tag)
        ))
    }
  }

  /// The request's bytes as they came, after their ciphertext could not be stored.
  private func decrypt(
    _ versions: NewVersions, _ write: BlockWrite, _ bytes: inout MutableSpan<UInt8>,
    _ cipher: inout FileCipher
  ) throws(Errno) {
    for (index, item) in versions.items.enumerated() {
      guard case .body(let start) = write.source(of: index) else { continue }
      var part = bytes._mutatingExtracting(start..<start + Block.size)
      guard try cipher.decrypt(&part, item.version, of: item.block) else { throw .inputOutput }
    }
  }

  func giveBack(_ versions: NewVersions) {
    state.withLock { state in
      for page in versions.pages { state.free.free(page) }
    }
  }

  /// Writes the pages of a request; of a new file with the header before them.
  private func writePages(
    of versions: NewVersions, _ write: BlockWrite, _ bytes: Span<UInt8>, _ scratch: inout WriteScratch,
    _ cipher: inout FileCipher
  ) throws(Errno) {
    let isNew = state.withLock { $0.pages == 0 }
    if isNew {
      try scratch.with(.header) { (page) throws(Errno) in try makeHeader(in: &page, &cipher) }
    }
    let header = try scratch.withBytes { (scratch) throws(Errno) -> [UInt8]? in
      do throws(Errno) {
        try writeRuns(of: versions.pages, write, bytes, scratch, isNew: isNew)
      } catch {
        if isNew { try? store.cut(to: 0) }
        throw error
      }
      return isNew ? scratch.extracting(WriteScratch.Part.header.range).copied() : nil
    }
    if let header { tookHeader(header) }
    let end = versions.pages.max().map { $0.number + 1 } ?? 1
    state.withLock { $0.grew(to: end) }
  }

  /// One call for each run of pages that lie behind each other.
  private func writeRuns(
    of pages: [Page], _ write: BlockWrite, _ bytes: Span<UInt8>, _ scratch: Span<UInt8>, isNew: Bool
  ) throws(Errno) {
    var next = 0
    if isNew, pages.first?.number != 1 {
      try store.write(scratch.extracting(scratch.before(header: true, head: false)), at: 0)
    }
    while next < pages.count {
      let first = pages[next]
      var end = next + 1
      while end < pages.count, pages[end].number == first.number + UInt64(end - next) { end += 1 }
      let withHeader = isNew && next == 0 && first.number == 1
      let before = scratch.before(header: withHeader, head: next == 0 && write.hasPartialHead)
      let behind = scratch.behind(tail: end == pages.count && write.hasPartialTail)
      try store.write(
        scratch.extracting(before), bytes.extracting(write.body(of: next..<end)),
        scratch.extracting(behind), at: withHeader ? 0 : first.byteOffset)
      next = end
    }
  }

  // MARK: Entries

  /// Makes versions count whose pages are written; false if the disk had no room for the slot that says the size.
  @discardableResult
  func enter(
    _ versions: NewVersions, size: UInt64, _ cipher: inout FileCipher
  ) throws(Errno) -> Bool {
    var changes: [EntryChange] = []
    changes.reserveCapacity(versions.items.count)
    var placed: [(keep: Page?, free: Page?)] = []
    placed.reserveCapacity(versions.items.count)
    guard let commit = state.withLock({ $0.commit }) else { throw .inputOutput }
    for item in versions.items {
      let destination = commit.destination(of: item.version.generation, in: try pair(of: item.block, &cipher))
      guard case .half(let half, let free, let keep) = destination else { throw .inputOutput }
      changes.append(EntryChange(block: item.block, half: half, version: item.version))
      placed.append((keep, free))
    }
    let grows = size > commit.fileSize
    // Beside entries in page 0 the slot costs nothing, and the last close has none to write.
    let isBeside = changes.allSatisfy { $0.block.sectorAddress.page == .zero }
    let isBesideSlot = isBeside && (grows || commit.nextSlot() != nil)
    let slot = isBesideSlot ? try nextSlot(growingTo: size) : nil
    try put(changes, slot: slot, &cipher)
    state.withLock { state in
      for (index, item) in versions.items.enumerated() {
        state.commit?.wrote(item.version.generation, of: item.block, keeping: placed[index].keep)
        if let free = placed[index].free {
          state.free.free(free)
          state.hasFreed = true
        }
      }
      if let slot { state.wrote(slot.slot) }
    }
    guard grows, !isBesideSlot else { return true }
    do throws(Errno) {
      try writeSlot(growingTo: size, &cipher)
      return true
    } catch {
      // The bytes are there, and nobody takes them back.
      state.withLock { $0.commit?.grow(to: size) }
      guard error.isFullDisk else { throw error }
      return false
    }
  }
}
