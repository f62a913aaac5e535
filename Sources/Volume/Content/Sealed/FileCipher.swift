// The cipher of one file: which key, which nonce and which associated data belong to what.

import Ciphers
import LinuxFiles
import SealedFormat

/// What one request encrypts and decrypts with; contexts come from a pool and go back to it.
struct FileCipher: ~Copyable {
  private let keys: FileKeys
  private var header: Aead
  private var data: Aead
  private var hasHeaderKey = false
  private var segment: UInt64?
  private var randoms = RandomWords()

  init(_ keys: FileKeys, _ contexts: AeadPool) throws(Errno) {
    let header = try FileCipher.context(of: contexts)
    self.init(keys, header: header, data: try FileCipher.context(of: contexts))
  }

  /// The file it is for.
  var file: Bytes16 { keys.file }

  private init(_ keys: FileKeys, header: consuming Aead, data: consuming Aead) {
    self.keys = keys
    self.header = header
    self.data = data
  }

  private static func context(of pool: AeadPool) throws(Errno) -> Aead {
    do throws(CipherFailure) { return try pool.borrow() } catch { throw error.errno }
  }

  private mutating func useHeaderKey() throws(CipherFailure) {
    guard !hasHeaderKey else { return }
    try keys.useForSeals(&header)
    hasHeaderKey = true
  }

  private mutating func useKey(of block: Block) throws(CipherFailure) {
    guard segment != block.segment else { return }
    segment = nil
    try keys.use(&data, forSegment: block.segment)
    segment = block.segment
  }

  // MARK: Random numbers

  /// Makes room for what the request will need, by one system call.
  mutating func reserveRandom(_ count: Int) throws(Errno) { try randoms.reserve(count) }

  mutating func random() throws(Errno) -> UInt64 { try randoms.next() }

  // MARK: Blocks

  /// Encrypts a block where it is.
  mutating func encrypt(
    _ plain: inout MutableSpan<UInt8>, of block: Block, generation: UInt64, random: UInt64
  ) throws(Errno) -> Bytes16 {
    let associated = BlockVersion.associatedData(
      file: keys.file, block: block, generation: generation, isHole: false)
    do throws(CipherFailure) {
      try useKey(of: block)
      let nonce = Nonce(random: random, counter: generation).bytes
      return Bytes16(try data.encrypt(&plain, nonce: nonce, authenticating: associated.span))
    } catch {
      throw error.errno
    }
  }

  /// The tag that says a block is a hole.
  mutating func tagOfHole(_ block: Block, generation: UInt64, random: UInt64) throws(Errno) -> Bytes16 {
    let associated = BlockVersion.associatedData(
      file: keys.file, block: block, generation: generation, isHole: true)
    do throws(CipherFailure) {
      try useKey(of: block)
      let nonce = Nonce(random: random, counter: generation).bytes
      return Bytes16(try data.seal(associated.span, nonce: nonce))
    } catch {
      throw error.errno
    }
  }

  /// Decrypts a block where it is; false, and zeros, if this is not what the version says.
  mutating func decrypt(
    _ bytes: inout MutableSpan<UInt8>, _ version: BlockVersion, of block: Block
  ) throws(Errno) -> Bool {
    let associated = version.associatedData(file: keys.file, block: block)
    do throws(CipherFailure) {
      try useKey(of: block)
      try data.decrypt(
        &bytes, tag: version.tag.tag, nonce: version.nonce.bytes, authenticating: associated.span)
      return true
    } catch .notAuthentic {
      return false
    } catch {
      throw error.errno
    }
  }

  mutating func isHole(_ version: BlockVersion, of block: Block) throws(Errno) -> Bool {
    let associated = version.associatedData(file: keys.file, block: block)
    do throws(CipherFailure) {
      try useKey(of: block)
      try data.verify(version.tag.tag, of: associated.span, nonce: version.nonce.bytes)
      return true
    } catch .notAuthentic {
      return false
    } catch {
      throw error.errno
    }
  }

  // MARK: Sectors

  /// Whether an index sector is as it was written.
  mutating func holds(_ sector: Span<UInt8>, of block: Block) throws(Errno) -> Bool {
    switch try? IndexSector.form(sector) {
    case .empty?: return true
    case .sealed(let seal)?:
      let prefix = IndexSector.associatedPrefix(file: keys.file, block: block)
      return try holds(seal, prefix.span, sector.extracting(IndexSector.covered))
    case .torn?, nil: return false
    }
  }

  /// Seals an index sector after a change; one without entries becomes zeros.
  mutating func close(
    _ sector: inout MutableSpan<UInt8>, of block: Block
  ) throws(Errno) {
    let random = try random()
    do {
      var seal: Seal?
      if let nonce = try IndexSector.nonce(for: sector.span, random: random) {
        let prefix = IndexSector.associatedPrefix(file: keys.file, block: block)
        seal = try makeSeal(nonce, prefix.span, sector.span.extracting(IndexSector.covered))
      }
      try IndexSector.close(&sector, with: seal)
    } catch {
      throw (error as? CipherFailure)?.errno ?? .inputOutput
    }
  }

  /// A slot of page 0, if its seal holds.
  mutating func slot(in page: Span<UInt8>, _ half: Half) throws(Errno) -> Slot? {
    let start = Slot.offset(half)
    let bytes = page.extracting(start..<start + Slot.size)
    guard let slot = try? Slot(decoding: bytes), let seal = try? Slot.seal(of: bytes) else { return nil }
    let prefix = Slot.associatedPrefix(file: keys.file)
    return try holds(seal, prefix.span, bytes.extracting(Slot.covered)) ? slot : nil
  }

  mutating func write(
    _ slot: Slot, into bytes: inout MutableSpan<UInt8>
  ) throws(Errno) {
    let random = try random()
    do {
      try slot.encode(into: &bytes)
      let prefix = Slot.associatedPrefix(file: keys.file)
      let seal = try makeSeal(
        slot.nonce(random: random), prefix.span, bytes.span.extracting(Slot.covered))
      try Slot.put(seal, into: &bytes)
    } catch {
      throw (error as? CipherFailure)?.errno ?? .inputOutput
    }
  }

  private mutating func makeSeal(
    _ nonce: Nonce, _ prefix: Span<UInt8>, _ covered: Span<UInt8>
  ) throws(CipherFailure) -> Seal {
    try useHeaderKey()
    return Seal(nonce: nonce, tag: Bytes16(try header.seal(prefix, covered, nonce: nonce.bytes)))
  }

  private mutating func holds(
    _ seal: Seal, _ prefix: Span<UInt8>, _ covered: Span<UInt8>
  ) throws(Errno) -> Bool {
    do throws(CipherFailure) {
      try useHeaderKey()
      try header.verify(seal.tag.tag, of: prefix, covered, nonce: seal.nonce.bytes)
      return true
    } catch .notAuthentic {
      return false
    } catch {
      throw error.errno
    }
  }
}

/// Random numbers of one request, none of which is kept for another: a copy of the machine would use it as well.
private struct RandomWords {
  private var bytes: [UInt8] = []
  private var used = 0

  mutating func reserve(_ count: Int) throws(Errno) {
    guard bytes.count - used < 8 * count else { return }
    bytes = [UInt8](repeating: 0, count: 8 * count)
    used = 0
    var span = bytes.mutableSpan
    do throws(CipherFailure) { try SystemRandom.fill(&span) } catch {
      bytes = []
      throw error.errno
    }
  }

  mutating func next() throws(Errno) -> UInt64 {
    try reserve(1)
    defer { used += 8 }
    var word: UInt64 = 0
    for place in 0..<8 { word |= UInt64(bytes[used + place]) << UInt64(8 * place) }
    return word
  }
}

extension CipherFailure {
  /// As a request answers it.
  var errno: Errno { KeyFailure.ciphers(self).number }
}

extension SecretBytes {
  /// Scratch for a request.
  static func make(count: Int) throws(Errno) -> SecretBytes {
    do throws(CipherFailure) { return try SecretBytes(count: count) } catch { throw error.errno }
  }
}

extension MutableSpan<UInt8> {
  mutating func wipe() { Wiping.wipe(&self) }
}

/// The engine's; the volume has a version of its own.
typealias BlockVersion = SealedFormat.Version
