// Reading an encrypted file.
//
// Nobody waits for a reader. So between the look at the index and the read of the page another thread may have written the
// block again, and its old page may hold another block by now: a tag that fails is an error only if the index still
// says the same.

import Ciphers
import LinuxFiles
import SealedFormat
import Synchronization

extension SealedFile {
  /// Less than was asked for only at the end of the file.
  func read(at offset: UInt64, into bytes: inout MutableSpan<UInt8>) throws(Errno) -> Int {
    while true {
      guard let (keys, size) = state.withLock({ state in state.identity.map { ($0.keys, state.fileSize) } }),
        offset < size
      else { return 0 }
      do throws(Errno) {
        let count = try read(at: offset, of: size, keys, into: &bytes)
        // Behind an end that another mount has moved meanwhile there is nothing, and no zeros.
        guard mayBeOutdated, self.size < offset + UInt64(count) else { return count }
      } catch {
        guard error == .inputOutput, isOutdated(keys.file) else { throw error }
        turn.withLock { _ in }
      }
    }
  }

  /// Whether the file is made empty, or was, and is another one by now, with another key.
  func isOutdated(_ file: Bytes16) -> Bool {
    state.withLock { $0.isBeingEmptied || $0.identity?.keys.file != file }
  }

  private func read(
    at offset: UInt64, of size: UInt64, _ keys: FileKeys, into bytes: inout MutableSpan<UInt8>
  ) throws(Errno) -> Int {
    let count = Int(min(UInt64(bytes.count), size - offset))
    var cipher = try cipher(keys)
    var done = 0
    while done < count {
      let position = offset + UInt64(done)
      let (number, start) = position.quotientAndRemainder(dividingBy: UInt64(Block.size))
      guard let block = Block(number) else { throw .fileTooBig }
      let whole = (count - done + Block.size - 1) / Block.size
      if start == 0, bytes.count - done >= Block.size {
        // Whole blocks are decrypted where they are wanted.
        let room = min(whole, (bytes.count - done) / Block.size)
        var part = bytes._mutatingExtracting(done..<done + room * Block.size)
        done += try readBlocks(from: block, into: &part, &cipher) * Block.size
      } else {
        let taken = min(Block.size - Int(start), count - done)
        try withBlock(block, &cipher) { (plain) in
          for index in 0..<taken { bytes[done + index] = plain[Int(start) + index] }
        }
        done += taken
      }
    }
    return min(done, count)
  }

  /// Lends the plaintext of one block.
  func withBlock(
    _ block: Block, _ cipher: inout FileCipher, _ use: (Span<UInt8>) -> Void
  ) throws(Errno) {
    var scratch = try SecretBytes.make(count: Block.size)
    try scratch.withMutableBytes { (plain) throws(Errno) in
      try readBlock(block, into: &plain, &cipher)
      use(plain.span)
    }
  }

  /// Reads whole blocks, as many of them as lie behind each other; how many.
  private func readBlocks(
    from first: Block, into bytes: inout MutableSpan<UInt8>, _ cipher: inout FileCipher
  ) throws(Errno) -> Int {
    let wanted = bytes.count / Block.size
    let rules = state.withLock { $0.rules }
    var run = InlineArray<48, BlockVersion>(repeating: .none)
    var count = 0
    var start: UInt64 = 0
    while count < min(wanted, run.count), let block = Block(first.number + UInt64(count)) {
      let pair = try pair(of: block, &cipher)
      guard case .verify(let version) = rules.content(of: block, pair), case .page(let page) = version.target
      else { break }
      if count == 0 { start = page.number }
      guard page.number == start + UInt64(count) else { break }
      run[count] = version
      count += 1
    }
    guard count > 0 else {
      var part = bytes._mutatingExtracting(0..<Block.size)
      try readBlock(first, into: &part, &cipher)
      return 1
    }
    var part = bytes._mutatingExtracting(0..<count * Block.size)
    let found = try store.read(into: &part, at: start * UInt64(Block.size))
    for index in 0..<count {
      guard let block = Block(first.number + UInt64(index)) else { throw .fileTooBig }
      var plain = part._mutatingExtracting(index * Block.size..<(index + 1) * Block.size)
      if found >= (index + 1) * Block.size, try cipher.decrypt(&plain, run[index], of: block) { continue }
      try readBlock(block, into: &plain, &cipher)
    }
    return count
  }

  /// Reads one block, older versions and holes included.
  func readBlock(
    _ block: Block, into plain: inout MutableSpan<UInt8>, _ cipher: inout FileCipher
  ) throws(Errno) {
    var found = try look(at: block, into: &plain, &cipher)
    if found != .whole, mayBeOutdated {
      found = try lookAnew(at: block, into: &plain, &cipher)
    }
    switch found {
    case .whole: return
    case .older: reportLost(block)
    case .zeros:
      reportLost(block)
      plain.wipe()
    case .damage: throw damaged(block, cipher.file)
    }
  }

  /// Whether what is known of the file may be read anew: what was changed here, and is owed, the file does not say.
  var mayBeOutdated: Bool { surroundings.mayBeWrittenElsewhere && !isChanged }

  /// Looks at a block that did not fit together, of a file that another mount may be writing at this moment.
  ///
  /// An older version, zeros and damage are believed only when nobody writes; EIO if somebody does, and it never fits.
  func lookAnew(
    at block: Block, into plain: inout MutableSpan<UInt8>, _ cipher: inout FileCipher
  ) throws(Errno) -> Look {
    for number in 0..<SealedLimits.looksBesideWriter where !isOutdated(cipher.file) {
      if number > 0 { Clock.pause(milliseconds: 1) }
      // Before the look: what a writer did that has ended since is there then.
      let isWritten = surroundings.isWrittenElsewhere
      try load()
      let found = try look(at: block, into: &plain, &cipher)
      if found == .whole || !isWritten { return found }
    }
    throw .inputOutput
  }

  /// What a look at a block has come to.
  enum Look {
    /// The block has its bytes.
    case whole
    /// It has those of before a write that was lost.
    case older
    /// Nothing is left of it but what was never synced.
    case zeros
    case damage
  }

  private func look(
    at block: Block, into plain: inout MutableSpan<UInt8>, _ cipher: inout FileCipher
  ) throws(Errno) -> Look {
    while true {
      let rules = state.withLock { $0.rules }
      let pair = try pair(of: block, &cipher)
      var answer = rules.content(of: block, pair)
      var hasFailed = false
      while case .verify(let version) = answer {
        if try reads(version, of: block, into: &plain, &cipher) { return hasFailed ? .older : .whole }
        hasFailed = true
        answer = rules.afterFailure(of: version, of: block, pair)
      }
      // Failed because of a write meanwhile, not for good?
      if hasFailed {
        let again = try self.pair(of: block, &cipher)
        if again != pair || state.withLock({ $0.rules }) != rules { continue }
      }
      guard answer == .zeros else { return .damage }
      if hasFailed { return .zeros }
      // Another mount may have cut it off while it was looked for.
      if mayBeOutdated, try !isAsLoaded() { return .zeros }
      plain.wipe()
      return .whole
    }
  }

  /// Whether a version is what it says; then the block has its bytes.
  func reads(
    _ version: BlockVersion, of block: Block, into plain: inout MutableSpan<UInt8>, _ cipher: inout FileCipher
  ) throws(Errno) -> Bool {
    switch version.target {
    case .invalid: return false
    case .hole:
      plain.wipe()
      return try cipher.isHole(version, of: block)
    case .page(let page):
      guard try store.read(into: &plain, at: page.byteOffset) == Page.size else { return false }
      return try cipher.decrypt(&plain, version, of: block)
    }
  }

  private func reportLost(_ block: Block) {
    let isNew = state.withLock { $0.reported.count < 1024 && $0.reported.insert(block.number).inserted }
    if isNew { surroundings.report(.lost(block: block.number)) }
  }
}
