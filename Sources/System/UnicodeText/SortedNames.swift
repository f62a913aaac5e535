import Glibc

// Many names brought into the order of a view.

/// Collects names, and tells in which order they come.
///
/// Names that the collator holds for equal come in the order of their bytes.
package struct SortedNames: ~Copyable {
  private struct Entry {
    /// The first bytes of the key, which decide most comparisons.
    var head: UInt64
    var position: UInt32
    var keyStart: Int
    var keyEnd: Int
  }

  private let collator: Collator
  private var keys: [UInt8] = []
  private var names: [UInt8] = []
  private var ends: [Int] = []
  private var entries: [Entry] = []

  package init(_ collator: consuming Collator) { self.collator = collator }

  package mutating func reserve(_ count: Int) {
    entries.reserveCapacity(count)
    ends.reserveCapacity(count)
    keys.reserveCapacity(count * 24)
    names.reserveCapacity(count * 16)
  }

  package mutating func add(_ name: Span<UInt8>) {
    let start = keys.count
    collator.appendKey(of: name, to: &keys)
    for index in name.indices { names.append(name[index]) }
    var head: UInt64 = 0
    for offset in 0..<8 {
      head = head << 8 | (start + offset < keys.count ? UInt64(keys[start + offset]) : 0)
    }
    entries.append(
      Entry(
        head: head, position: UInt32(truncatingIfNeeded: ends.count), keyStart: start, keyEnd: keys.count))
    ends.append(names.count)
  }

  /// The positions at which the names were added, in the order of the names.
  package consuming func positions() -> [UInt32] {
    let keys = keys
    let names = names
    let ends = ends
    var entries = entries
    unsafe keys.withUnsafeBufferPointer { keys in
      unsafe names.withUnsafeBufferPointer { names in
        entries.sort { left, right in
          if left.head != right.head { return left.head < right.head }
          let byKey = unsafe SortedNames.compare(
            keys, left.keyStart..<left.keyEnd, right.keyStart..<right.keyEnd)
          if byKey != 0 { return byKey < 0 }
          let (one, other) = (Int(left.position), Int(right.position))
          return unsafe SortedNames.compare(
            names, (one > 0 ? ends[one - 1] : 0)..<ends[one], (other > 0 ? ends[other - 1] : 0)..<ends[other])
            < 0
        }
      }
    }
    return entries.map(\.position)
  }

  /// Compares two ranges of the same bytes: below 0, 0 or above 0.
  private static func compare(
    _ bytes: UnsafeBufferPointer<UInt8>, _ left: Range<Int>, _ right: Range<Int>
  ) -> Int {
    let common = min(left.count, right.count)
    if common > 0, let start = bytes.baseAddress {
      let order = unsafe memcmp(start + left.lowerBound, start + right.lowerBound, common)
      if order != 0 { return Int(order) }
    }
    return left.count - right.count
  }
}
