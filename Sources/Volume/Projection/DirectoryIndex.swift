// The names of one directory in one view: what is shown, in which order, and what the shown names mean.
//
// Never changed once it is made. It translates names and decides nothing: every answer is about the object that is then
// found under the real name.
//
// For users of other languages and of Finder-like programs. Real names pay nothing for it: a `stat` in a view takes the calls of
// one in the tree (docs/performance.md, "System calls per operation").

import DisplayNames
import LinuxFiles

/// The names that a view shows of a directory.
final class DirectoryIndex: Sendable {
  /// One shown item, 24 bytes.
  struct Entry: Sendable {
    let inode: UInt64
    let realStart: UInt32
    let shownStart: UInt32
    let realCount: UInt16
    let shownCount: UInt16
    let kind: FileKind

    fileprivate var shownRange: Range<Int> { Int(shownStart)..<Int(shownStart) + Int(shownCount) }

    func isShown(as name: ArraySlice<UInt8>, in text: [UInt8]) -> Bool {
      shownCount == name.count && text[shownRange].last == name.last && text[shownRange].elementsEqual(name)
    }
  }

  /// What the directory and the clock said when the reading began.
  struct Origin: Sendable {
    let stamp: DirectoryStamp
    /// Monotonic nanoseconds.
    let at: UInt64
  }

  let origin: Origin
  /// How long it took to make, in nanoseconds.
  let cost: UInt64
  /// In the order of the listing; empty for a directory with too many items.
  let entries: [Entry]
  let isTooLarge: Bool
  private let text: [UInt8]
  /// Positions of entries whose shown name is not the real one, by the hash of the shown name; `none` is free.
  private let altered: [UInt32]
  private static let none = UInt32.max

  init(_ origin: Origin, _ entries: [Entry], text: [UInt8], isTooLarge: Bool = false) {
    self.origin = origin
    self.entries = entries
    self.text = text
    self.isTooLarge = isTooLarge
    altered = DirectoryIndex.table(entries, text)
    cost = Clock.monotonicNanoseconds &- origin.at
  }

  /// Of a directory that shows its real names.
  static func tooLarge(_ origin: Origin) -> DirectoryIndex {
    DirectoryIndex(origin, [], text: [], isTooLarge: true)
  }

  /// In nanoseconds.
  var age: UInt64 { Clock.monotonicNanoseconds &- origin.at }

  /// How much memory it takes, about.
  var bytes: Int {
    512 + text.capacity + entries.capacity * MemoryLayout<Entry>.stride
      + altered.capacity * MemoryLayout<UInt32>.size
  }

  func realName(at position: Int) -> ArraySlice<UInt8> {
    let entry = entries[position]
    return text[Int(entry.realStart)..<Int(entry.realStart) + Int(entry.realCount)]
  }

  func shownName(at position: Int) -> ArraySlice<UInt8> {
    text[entries[position].shownRange]
  }

  /// The real name of what is shown under another one.
  func realName(shownAs name: [UInt8]) -> [UInt8]? {
    guard !altered.isEmpty else { return nil }
    let mask = altered.count - 1
    var slot = DirectoryIndex.hash(name.indices, of: name) & mask
    while altered[slot] != DirectoryIndex.none {
      let position = Int(altered[slot])
      if shownName(at: position).elementsEqual(name) { return Array(realName(at: position)) }
      slot = (slot + 1) & mask
    }
    return nil
  }

  /// A hash of the shown name, the same in each index.
  func hash(at position: Int) -> Int { DirectoryIndex.hash(entries[position].shownRange, of: text) }

  /// The first position behind a name, whether that is still there or not.
  func position(behind name: [UInt8], _ rules: ViewRules) -> Int {
    let order = ShownOrder(rules)
    let key = order.key(of: name[...])
    var (low, high) = (0, entries.count)
    while low < high {
      let middle = (low + high) / 2
      if order.isBehind(shownName(at: middle), name, key) { high = middle } else { low = middle + 1 }
    }
    return low
  }

  private static func table(_ entries: [Entry], _ text: [UInt8]) -> [UInt32] {
    let isAltered = { (entry: Entry) in
      entry.realCount != entry.shownCount || entry.realStart != entry.shownStart
    }
    let count = entries.count(where: isAltered)
    guard count > 0 else { return [] }
    var size = 4
    while size < count + count / 2 { size *= 2 }
    var table = [UInt32](repeating: none, count: size)
    for (position, entry) in entries.enumerated() where isAltered(entry) {
      var slot = hash(entry.shownRange, of: text) & (size - 1)
      while table[slot] != none { slot = (slot + 1) & (size - 1) }
      table[slot] = UInt32(position)
    }
    return table
  }

  /// Seeded for each process: nobody can choose names that share a slot.
  private static func hash(_ range: Range<Int>, of text: [UInt8]) -> Int {
    var hasher = Hasher()
    text.feed(range, to: &hasher)
    return hasher.finalize()
  }
}
