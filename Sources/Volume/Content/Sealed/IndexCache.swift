// Index pages of one file, as they are stored. Nothing in them is secret.

import LinuxFiles
import SealedFormat
import Synchronization

/// How many index pages all files of a volume keep.
final class IndexBudget: Sendable {
  private let capacity: Int
  private let used = Atomic(0)

  init(pages: Int) { capacity = pages }

  /// Whether there is room for one more page.
  ///
  /// The first pages of many open files leave a quarter to the index of large ones.
  fileprivate func take(forFirstPage isFirst: Bool) -> Bool {
    guard used.add(1, ordering: .relaxed).oldValue < (isFirst ? capacity - capacity / 4 : capacity) else {
      used.subtract(1, ordering: .relaxed)
      return false
    }
    return true
  }

  fileprivate func giveBack(_ count: Int) { used.subtract(count, ordering: .relaxed) }

  /// For tests.
  var pagesInUse: Int { used.load(ordering: .relaxed) }
}

/// The index pages one file keeps; page 0 among them, with its slots.
struct IndexCache: ~Copyable {
  /// One page, and which of its sectors are known to be as they should.
  struct Page {
    var bytes: [UInt8]
    var checked: UInt8 = 0

    func isChecked(_ address: SectorAddress) -> Bool { checked & IndexCache.bit(address) != 0 }
  }

  private var pages: [UInt64: Page] = [:]
  private let budget: IndexBudget
  /// Moves with every change of an entry: what was read before is not put in afterwards.
  private(set) var changes: UInt64 = 0

  init(_ budget: IndexBudget) { self.budget = budget }

  deinit { budget.giveBack(pages.count) }

  subscript(number: UInt64) -> Page? { pages[number] }

  /// Takes in a page that was read when the cache had seen so many changes.
  mutating func learn(_ number: UInt64, _ bytes: [UInt8], readAt changes: UInt64) {
    guard changes == self.changes, pages[number] == nil else { return }
    insert(Page(bytes: bytes), number)
  }

  /// Takes in a page as it was written.
  mutating func wrote(_ number: UInt64, _ page: Page) {
    changes += 1
    if pages[number] == nil { insert(page, number) } else { pages[number] = page }
  }

  mutating func noteChecked(_ address: SectorAddress, readAt changes: UInt64) {
    guard changes == self.changes else { return }
    pages[address.page.number]?.checked |= IndexCache.bit(address)
  }

  /// What the disk has may be something else by now.
  mutating func drop(_ number: UInt64) {
    changes += 1
    if pages.removeValue(forKey: number) != nil { budget.giveBack(1) }
  }

  mutating func dropAll() {
    changes += 1
    budget.giveBack(pages.count)
    pages = [:]
  }

  private mutating func insert(_ page: Page, _ number: UInt64) {
    if !budget.take(forFirstPage: number == 0) {
      // Page 0 stays: every slot and every small file needs it. A file that has nothing to give reads its pages anew.
      guard let other = pages.keys.first(where: { $0 != 0 }) else { return }
      pages.removeValue(forKey: other)
    }
    pages[number] = page
  }

  static func bit(_ address: SectorAddress) -> UInt8 { 1 << UInt8(address.offset / IndexSector.size) }
}
