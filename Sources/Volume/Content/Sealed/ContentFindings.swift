// What is found when all of an encrypted file is looked at.

/// What is wrong with the header of an encrypted file, or with the length of its backing file.
package enum HeaderFinding: String, Hashable, CaseIterable, Sendable {
  /// Neither static sector opens.
  case header
  /// Neither static sector is of a form this version knows.
  case unknownForm = "header-unknown"
  /// The first static sector does not open; its copy does.
  case firstHeader = "header-first"
  /// The copy of the static sector does not open.
  case headerCopy = "header-copy"
  /// Both open, and are not alike: a crash interrupted a change of class.
  case headersDiffer = "header-differs"
  /// No slot can be trusted.
  case slots
  /// One slot is not valid, in a file whose last session ended.
  case slot
  /// One slot is not valid, in a file that a crash left in doubt.
  case tornSlot = "slot-torn"
  /// The backing file ends before it should.
  case shortened
  /// The backing file ends inside a page.
  case length

  /// A crash may leave the others, and nothing is lost by them.
  package var isDamage: Bool { self != .tornSlot && self != .headersDiffer }
}

/// What is wrong with the content of an encrypted file: ranges of its blocks, up to a bound, and how many there are.
package struct ContentFindings: Equatable, Sendable {
  package enum Kind: Int, Hashable, CaseIterable, Sendable {
    /// Blocks that cannot be read: what the index says of them does not verify.
    case damaged
    /// Blocks that cannot be read: their index sector is not as it was written, or is missing.
    case index
    /// A crash took what was written last and never synced; the block is what it was before.
    case lost
    /// A crash left an index sector half written; its entries still count, and the next change mends it.
    case torn

    package var isDamage: Bool { self == .damaged || self == .index }
  }

  package struct Run: Equatable, Sendable {
    package let kind: Kind
    package fileprivate(set) var blocks: Range<UInt64>
  }

  /// More runs are only counted.
  package static let mostRuns = 100

  package internal(set) var header: Set<HeaderFinding> = []
  package private(set) var runs: [Run] = []
  private var counts = [UInt64](repeating: 0, count: Kind.allCases.count)
  /// Versions of blocks that were decrypted or verified.
  package internal(set) var verified: UInt64 = 0
  /// Index sectors whose seal was looked at.
  package internal(set) var sectors: UInt64 = 0
  /// Whether a session that did not end wrote the file last.
  package internal(set) var isDoubtful = false

  package init() {}

  /// Blocks of a kind, also those that are not among the runs.
  package func count(_ kind: Kind) -> UInt64 { counts[kind.rawValue] }

  package var isClean: Bool { header.isEmpty && counts.allSatisfy { $0 == 0 } }

  mutating func add(_ kind: Kind, _ blocks: Range<UInt64>) {
    guard !blocks.isEmpty else { return }
    counts[kind.rawValue] += UInt64(blocks.count)
    // Of blocks that come in order only the last run of a kind can go on.
    if let last = runs.lastIndex(where: { $0.kind == kind }),
      runs[last].blocks.upperBound == blocks.lowerBound
    {
      runs[last].blocks = runs[last].blocks.lowerBound..<blocks.upperBound
    } else if runs.count < ContentFindings.mostRuns {
      runs.append(Run(kind: kind, blocks: blocks))
    }
  }
}
