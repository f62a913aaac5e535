// How many names an item of a lower has, while some of them are copied up and some are removed.
//
// The count is never stored. Stored is the difference to the count of an inode: that of the lower, or of the one in the
// upper that took its place. Names change first and the difference after them, so a crash leaves the count one too high.

package import RecordFormat

/// All that the count of an item depends on.
package struct LinkState: Hashable, Sendable {
  package enum Entry: Hashable, Sendable {
    case none
    /// An empty file in the index: nothing is copied yet.
    case counts(difference: Int32)
    /// The inode in the upper, which has so many names; the entry is one of them.
    case inode(links: UInt32, difference: Int32)
  }

  /// As the layers below show it: where they are volumes, their own entries have been counted.
  package var lowerLinks: UInt32
  package var entry: Entry

  package init(lowerLinks: UInt32, entry: Entry) {
    self.lowerLinks = lowerLinks
    self.entry = entry
  }

  private var exact: Int64 {
    switch entry {
    case .none: Int64(lowerLinks)
    case .counts(let difference): Int64(lowerLinks) + Int64(difference)
    case .inode(let links, let difference): Int64(links) + Int64(difference)
    }
  }

  /// What users see.
  ///
  /// At least 1: only what has a name is asked, whatever a damaged record says.
  package var shown: UInt32 { UInt32(clamping: max(exact, 1)) }

  /// No name is left, and the entry goes.
  package var isUnused: Bool { exact <= 0 && entry != .none }

  /// What the record of the first copy says, so that the count is the same with the entry as its one name.
  ///
  /// Nil where the count is none that an entry can have.
  package var firstCopy: CoreRecord.LinkCount? {
    guard exact >= 1, let difference = Int32(exactly: exact - 1) else { return nil }
    return CoreRecord.LinkCount(difference, relativeTo: .upper)
  }

  /// The state once the difference has changed by so much; the first time this makes an entry that counts.
  ///
  /// Nil where the stored number has no room.
  package func settled(by change: Int32) -> LinkState? {
    let present: Int32 =
      switch entry {
      case .none: 0
      case .counts(let difference), .inode(_, let difference): difference
      }
    let (difference, overflows) = present.addingReportingOverflow(change)
    guard !overflows else { return nil }
    var settled = self
    switch entry {
    case .none: settled.entry = change == 0 ? .none : .counts(difference: difference)
    case .counts: settled.entry = .counts(difference: difference)
    case .inode(let links, _): settled.entry = .inode(links: links, difference: difference)
    }
    return settled
  }

  /// What is stored in the entry.
  package var stored: CoreRecord.LinkCount? {
    switch entry {
    case .none: nil
    case .counts(let difference): CoreRecord.LinkCount(difference, relativeTo: .lower)
    case .inode(_, let difference): CoreRecord.LinkCount(difference, relativeTo: .upper)
    }
  }

  /// Reads an entry; nil if its record does not count.
  package init?(lowerLinks: UInt32, entryLinks: UInt32, record: CoreRecord.LinkCount?) {
    guard let record else { return nil }
    self.lowerLinks = lowerLinks
    entry =
      switch record.base {
      case .lower: .counts(difference: record.difference)
      case .upper: .inode(links: entryLinks, difference: record.difference)
      }
  }
}
