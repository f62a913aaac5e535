// The dynamic slot: what changes about a file as a whole. There are two; a writer never overwrites the durable one.

/// An entry for a block from `block` on with a generation up to `generation` does not exist.
package struct Floor: Hashable, Sendable {
  package let block: UInt64
  package let generation: UInt64

  package init(block: UInt64, generation: UInt64) {
    self.block = block
    self.generation = generation
  }

  package static let none = Floor(block: 0, generation: 0)

  package func hides(_ version: Version, of block: Block) -> Bool {
    block.number >= self.block && version.generation <= generation
  }
}

/// A dynamic slot of 512 bytes.
package struct Slot: Hashable, Sendable {
  // On disk since format 1. Never renumber.
  package static let size = 512
  /// The bytes that the seal covers, after `associatedPrefix`.
  package static let covered = 0..<480
  private static let reserved = 72..<480
  private static let label: UInt64 = 0x6E79_642F_3152_4145  // "EAR1/dyn"

  /// The higher one of the valid slots counts.
  package var sequence: UInt64
  package var fileSize: UInt64
  /// Every version up to this generation was durable when the slot was written.
  package var committed: UInt64
  /// No version had a higher generation when the slot was written.
  package var highest: UInt64
  package var session: UInt64
  /// The backing file had at least so many whole pages, durably, when `committed` was reached.
  package var committedPages: UInt64
  /// Whole pages of the backing file when the slot was written.
  package var pages: UInt64
  package var floor: Floor

  package init(
    sequence: UInt64, fileSize: UInt64, committed: UInt64, highest: UInt64, session: UInt64,
    committedPages: UInt64, pages: UInt64, floor: Floor = .none
  ) {
    self.sequence = sequence
    self.fileSize = fileSize
    self.committed = committed
    self.highest = highest
    self.session = session
    self.committedPages = committedPages
    self.pages = pages
    self.floor = floor
  }

  /// The offset of a slot in page 0.
  package static func offset(_ half: Half) -> Int { 1024 + half.rawValue * size }

  /// The bytes before those of the slot in the associated data of its seal.
  package static func associatedPrefix(file: Bytes16) -> InlineArray<24, UInt8> {
    var bytes = InlineArray<24, UInt8>(repeating: 0)
    var span = bytes.mutableSpan
    span.store(label, at: 0)
    file.store(in: &span, at: 8)
    return bytes
  }

  package func nonce(random: UInt64) -> Nonce { Nonce(random: random, counter: sequence) }

  /// The slot without its seal.
  package init(decoding bytes: Span<UInt8>) throws(FormatDamage) {
    guard bytes.count == Slot.size else { throw .length }
    guard bytes.isZero(Slot.reserved) else { throw .reserved }
    let fileSize = bytes.word(UInt64.self, at: 8)
    guard fileSize <= Block.largestFileSize else { throw .field(.size) }
    self.init(
      sequence: bytes.word(UInt64.self, at: 0), fileSize: fileSize,
      committed: bytes.word(UInt64.self, at: 16), highest: bytes.word(UInt64.self, at: 24),
      session: bytes.word(UInt64.self, at: 32), committedPages: bytes.word(UInt64.self, at: 40),
      pages: bytes.word(UInt64.self, at: 48),
      floor: Floor(
        block: bytes.word(UInt64.self, at: 56), generation: bytes.word(UInt64.self, at: 64)))
  }

  package static func seal(of bytes: Span<UInt8>) throws(FormatDamage) -> Seal {
    guard bytes.count == size else { throw .length }
    guard let seal = Seal(bytes, at: covered.upperBound) else { throw .reserved }
    return seal
  }

  /// The slot as it is stored, its seal still missing.
  package func encode(into bytes: inout MutableSpan<UInt8>) throws(FormatDamage) {
    guard bytes.count == Slot.size else { throw .length }
    bytes.clear(0..<Slot.size)
    bytes.store(sequence, at: 0)
    bytes.store(fileSize, at: 8)
    bytes.store(committed, at: 16)
    bytes.store(highest, at: 24)
    bytes.store(session, at: 32)
    bytes.store(committedPages, at: 40)
    bytes.store(pages, at: 48)
    bytes.store(floor.block, at: 56)
    bytes.store(floor.generation, at: 64)
  }

  package static func put(_ seal: Seal, into bytes: inout MutableSpan<UInt8>) throws(FormatDamage) {
    guard bytes.count == size else { throw .length }
    seal.store(in: &bytes, at: covered.upperBound)
  }
}
