// One version of one block: its index entry, and what binds its ciphertext to it.

/// Which of two: the halves of a pair of entries, the two slots.
package enum Half: Int, CaseIterable, Sendable {
  case first = 0
  case second = 1

  package var other: Half { self == .first ? .second : .first }
}

/// An index entry of 40 bytes.
package struct Version: Hashable, Sendable {
  // On disk since format 1. Never renumber.
  package static let size = 40
  private static let dataKind: UInt64 = 0
  private static let holeKind: UInt64 = 1
  private static let kindShift: UInt64 = 48

  package let tag: Bytes16
  package let random: UInt64
  /// 0: no entry.
  package let generation: UInt64
  private let pageAndKind: UInt64

  /// Where the plaintext comes from.
  package enum Target: Hashable, Sendable {
    case page(Page)
    /// Zeros; the tag is that of an empty plaintext.
    case hole
    /// A page no block can be in, or a kind this version does not know: the version does not verify.
    case invalid
  }

  package static let none = Version(tag: .zero, random: 0, generation: 0, pageAndKind: 0)

  private init(tag: Bytes16, random: UInt64, generation: UInt64, pageAndKind: UInt64) {
    self.tag = tag
    self.random = random
    self.generation = generation
    self.pageAndKind = pageAndKind
  }

  package init(page: Page, generation: UInt64, random: UInt64, tag: Bytes16) {
    self.init(tag: tag, random: random, generation: generation, pageAndKind: page.number)
  }

  package init(holeOf generation: UInt64, random: UInt64, tag: Bytes16) {
    self.init(
      tag: tag, random: random, generation: generation, pageAndKind: Version.holeKind << Version.kindShift)
  }

  package var exists: Bool { generation != 0 }

  package var target: Target {
    let (number, kind) = (pageAndKind & (Page.limit - 1), pageAndKind >> Version.kindShift)
    guard generation != .max else { return .invalid }
    if kind == Version.holeKind { return number == 0 ? .hole : .invalid }
    guard kind == Version.dataKind, let page = Page(number), page.mayHoldBlock else { return .invalid }
    return .page(page)
  }

  /// The same as damage that occupies no page: who reads it finds that it does not verify, and nobody frees its page.
  package var withoutPage: Version {
    Version(tag: tag, random: random, generation: generation, pageAndKind: 0)
  }

  /// The page it occupies.
  package var page: Page? {
    if exists, case .page(let page) = target { return page }
    return nil
  }

  package var nonce: Nonce { Nonce(random: random, counter: generation) }

  /// File, block, generation and kind: ciphertext cannot be moved, and a hole cannot be taken for data.
  package func associatedData(file: Bytes16, block: Block) -> InlineArray<40, UInt8> {
    Version.associatedData(
      file: file, block: block, generation: generation, kind: pageAndKind >> Version.kindShift)
  }

  /// The same before there is a tag.
  package static func associatedData(
    file: Bytes16, block: Block, generation: UInt64, isHole: Bool
  ) -> InlineArray<40, UInt8> {
    associatedData(file: file, block: block, generation: generation, kind: isHole ? holeKind : dataKind)
  }

  private static func associatedData(
    file: Bytes16, block: Block, generation: UInt64, kind: UInt64
  ) -> InlineArray<40, UInt8> {
    var bytes = InlineArray<40, UInt8>(repeating: 0)
    var span = bytes.mutableSpan
    file.store(in: &span, at: 0)
    span.store(block.number, at: 16)
    span.store(generation, at: 24)
    span.store(kind, at: 32)
    return bytes
  }

  init(_ bytes: Span<UInt8>, at offset: Int) {
    tag = Bytes16(bytes, at: offset)
    random = bytes.word(UInt64.self, at: offset + 16)
    generation = bytes.word(UInt64.self, at: offset + 24)
    pageAndKind = bytes.word(UInt64.self, at: offset + 32)
  }

  func store(in bytes: inout MutableSpan<UInt8>, at offset: Int) {
    tag.store(in: &bytes, at: offset)
    bytes.store(random, at: offset + 16)
    bytes.store(generation, at: offset + 24)
    bytes.store(pageAndKind, at: offset + 32)
  }
}

/// The two versions the index has of a block, in no order.
package struct Pair: Hashable, Sendable {
  package static let size = 2 * Version.size

  package var first: Version
  package var second: Version

  package init(_ first: Version = .none, _ second: Version = .none) {
    self.first = first
    self.second = second
  }

  package subscript(half: Half) -> Version {
    get { half == .first ? first : second }
    set {
      switch half {
      case .first: first = newValue
      case .second: second = newValue
      }
    }
  }

  package var isEmpty: Bool { !first.exists && !second.exists }

  package var newest: Half? { newest(upTo: .max) }

  /// The newest version that is known to be durable: the one a power cut must find.
  package func committed(_ committed: UInt64) -> Half? { newest(upTo: committed) }

  private func newest(upTo limit: UInt64) -> Half? {
    let firstCounts = first.exists && first.generation <= limit
    let secondCounts = second.exists && second.generation <= limit
    if firstCounts && secondCounts { return first.generation >= second.generation ? .first : .second }
    return firstCounts ? .first : secondCounts ? .second : nil
  }
}
