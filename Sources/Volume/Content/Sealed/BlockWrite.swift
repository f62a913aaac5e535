// One request to write, in blocks: what is written where it is, and what has to be put together first.

import Ciphers
import LinuxFiles
import SealedFormat

/// A range of bytes as blocks.
struct BlockWrite {
  let range: Range<UInt64>
  /// The size of the file before.
  let oldSize: UInt64

  init(_ range: Range<UInt64>, in oldSize: UInt64) {
    self.range = range
    self.oldSize = oldSize
  }

  private static let size = UInt64(Block.size)

  var blocks: Range<UInt64> { range.lowerBound / BlockWrite.size..<Block.count(range.upperBound) }

  /// How many random numbers so many blocks take: theirs, those of their index sectors, and of slots.
  static func randoms(for blocks: Int) -> Int { blocks + blocks / Block.perSector + 4 }

  /// The first block has other bytes beside those of the request.
  var hasPartialHead: Bool {
    range.lowerBound % BlockWrite.size != 0 || (blocks.count == 1 && range.upperBound % BlockWrite.size != 0)
  }

  var hasPartialTail: Bool { blocks.count > 1 && range.upperBound % BlockWrite.size != 0 }

  enum Source {
    case head
    case tail
    /// Where in the request's bytes it begins.
    case body(Int)
  }

  func source(of index: Int) -> Source {
    if index == 0, hasPartialHead { return .head }
    if index == blocks.count - 1, hasPartialTail { return .tail }
    return .body(start(of: index))
  }

  private func start(of index: Int) -> Int {
    Int((blocks.lowerBound + UInt64(index)) * BlockWrite.size - range.lowerBound)
  }

  /// The request's own bytes among some of its blocks.
  func body(of blocks: Range<Int>) -> Range<Int> {
    let first = max(blocks.lowerBound, hasPartialHead ? 1 : 0)
    let end = min(blocks.upperBound, self.blocks.count - (hasPartialTail ? 1 : 0))
    guard first < end else { return 0..<0 }
    return start(of: first)..<start(of: end - 1) + Block.size
  }
}

/// Room for a header and for the first and the last block of a request, one behind the other as in a file.
struct WriteScratch: ~Copyable {
  private var bytes: SecretBytes?

  /// No room at all where the request's own bytes are whole blocks.
  init(for write: BlockWrite, isNew: Bool) throws(Errno) {
    bytes = isNew || write.hasPartialHead || write.hasPartialTail ? try .make(count: 3 * Page.size) : nil
  }

  enum Part: Int {
    case header = 0
    case head = 1
    case tail = 2

    var range: Range<Int> { rawValue * Page.size..<(rawValue + 1) * Page.size }
  }

  /// Lends one part to be filled; after an error it is gone.
  mutating func with<R>(
    _ part: Part, _ use: (inout MutableSpan<UInt8>) throws(Errno) -> R
  ) throws(Errno) -> R {
    guard var taken = bytes.take() else { throw .inputOutput }
    let result = try taken.withMutableBytes { (all) throws(Errno) in
      var page = all._mutatingExtracting(part.range)
      return try use(&page)
    }
    bytes = consume taken
    return result
  }

  /// Lends all of it.
  borrowing func withBytes<R>(_ use: (Span<UInt8>) throws(Errno) -> R) throws(Errno) -> R {
    switch bytes {
    case .none: return try use(Span())
    case .some(let bytes): return try bytes.withBytes(use)
    }
  }
}

extension Span<UInt8> {
  /// What stands before the request's own bytes in the scratch.
  fileprivate func part(_ range: Range<Int>) -> Range<Int> { count == 0 ? 0..<0 : range }

  func before(header: Bool, head: Bool) -> Range<Int> {
    part((header ? 0 : Page.size)..<(head ? 2 * Page.size : Page.size))
  }

  /// What stands behind them.
  func behind(tail: Bool) -> Range<Int> { part(2 * Page.size..<(tail ? 3 : 2) * Page.size) }
}

/// New versions of some blocks, each with its page.
struct NewVersions {
  struct Item {
    let block: Block
    let version: BlockVersion
  }

  let generations: Generations
  /// Empty for holes.
  let pages: [Page]
  var items: [Item] = []
}

extension SealedState {
  /// Generations and pages for blocks; nil when there are no more.
  mutating func takePages(for blocks: Range<UInt64>) -> NewVersions? {
    guard let generations = commit?.begin(UInt64(blocks.count)) else { return nil }
    var pages: [Page] = []
    pages.reserveCapacity(blocks.count)
    for number in blocks {
      guard let block = Block(number), let page = free.take(home: block.home) else { break }
      pages.append(page)
    }
    guard pages.count == blocks.count else {
      for page in pages { free.free(page) }
      commit?.end(generations)
      return nil
    }
    return NewVersions(generations: generations, pages: pages)
  }
}
