import Glibc

// Many names brought into the order of a view.

/// Collects names, and tells in which order they come.
///
/// Names that the collator holds for equal come in the order of their bytes.
package struct SortedNames: ~Copyable {
  private let collator: Collator
  private var texts = SortedTexts()

  package init(_ collator: consuming Collator) { self.collator = collator }

  package mutating func reserve(_ count: Int) { texts.reserve(count) }

  package mutating func add(_ name: Span<UInt8>) {
    let start = texts.keys.count
    collator.appendKey(of: name, to: &texts.keys)
    for index in name.indices { texts.names.append(name[index]) }
    texts.finish(keyStart: start)
  }

  /// What was added, in its order.
  package consuming func sorted() -> SortedTexts {
    var texts = texts
    texts.sort()
    return texts
  }
}

/// Names and their sort keys, in their order once they are sorted.
package struct SortedTexts: Sendable {
  fileprivate struct Entry: Sendable {
    /// The first bytes of the key, which decide most comparisons.
    var head: UInt64
    var position: UInt32
    var keyStart: Int
    var keyEnd: Int
  }

  fileprivate var keys: [UInt8] = []
  fileprivate var names: [UInt8] = []
  private var ends: [Int] = []
  private var entries: [Entry] = []

  fileprivate init() {}

  fileprivate mutating func reserve(_ count: Int) {
    entries.reserveCapacity(count)
    ends.reserveCapacity(count)
    keys.reserveCapacity(count * 24)
    names.reserveCapacity(count * 16)
  }

  fileprivate mutating func finish(keyStart start: Int) {
    var head: UInt64 = 0
    for offset in 0..<8 {
      head = head << 8 | (start + offset < keys.count ? UInt64(keys[start + offset]) : 0)
    }
    entries.append(
      Entry(
        head: head, position: UInt32(truncatingIfNeeded: ends.count), keyStart: start, keyEnd: keys.count))
    ends.append(names.count)
  }

  fileprivate mutating func sort() {
    // Not copied while they are sorted.
    var sorted = entries
    entries = []
    unsafe withBytes { bytes in
      sorted.sort { left, right in unsafe SortedTexts.precedes(left, bytes, right, bytes) }
    }
    entries = sorted
  }

  /// The positions at which the names were added, in the order of the names.
  package var positions: [UInt32] { entries.map(\.position) }

  /// The same of these names and of others that were added behind them.
  package func positions(mergedWith others: SortedTexts) -> [UInt32] {
    var merged: [UInt32] = []
    merged.reserveCapacity(entries.count + others.entries.count)
    let behind = UInt32(truncatingIfNeeded: ends.count)
    unsafe withBytes { bytes in
      unsafe others.withBytes { otherBytes in
        var (next, other) = (0, 0)
        while next < entries.count, other < others.entries.count {
          if unsafe SortedTexts.precedes(others.entries[other], otherBytes, entries[next], bytes) {
            merged.append(others.entries[other].position + behind)
            other += 1
          } else {
            merged.append(entries[next].position)
            next += 1
          }
        }
        merged += entries[next...].lazy.map(\.position)
        merged += others.entries[other...].lazy.map { $0.position + behind }
      }
    }
    return merged
  }

  /// Where keys and names lie, for as long as they are compared.
  @unsafe private struct Bytes {
    let keys: UnsafeBufferPointer<UInt8>
    let names: UnsafeBufferPointer<UInt8>
    let ends: UnsafeBufferPointer<Int>

    func name(at position: UInt32) -> Range<Int> {
      let position = Int(position)
      return unsafe (position > 0 ? ends[position - 1] : 0)..<ends[position]
    }
  }

  private func withBytes(_ work: (Bytes) -> Void) {
    unsafe keys.withUnsafeBufferPointer { keys in
      unsafe names.withUnsafeBufferPointer { names in
        unsafe ends.withUnsafeBufferPointer { ends in
          unsafe work(Bytes(keys: keys, names: names, ends: ends))
        }
      }
    }
  }

  @inline(__always)
  private static func precedes(_ left: Entry, _ leftBytes: Bytes, _ right: Entry, _ rightBytes: Bytes) -> Bool
  {
    if left.head != right.head { return left.head < right.head }
    let byKey = unsafe compare(
      leftBytes.keys, left.keyStart..<left.keyEnd, rightBytes.keys, right.keyStart..<right.keyEnd)
    if byKey != 0 { return byKey < 0 }
    return unsafe compare(
      leftBytes.names, leftBytes.name(at: left.position), rightBytes.names,
      rightBytes.name(at: right.position)) < 0
  }

  /// Compares two ranges of bytes: below 0, 0 or above 0.
  private static func compare(
    _ bytes: UnsafeBufferPointer<UInt8>, _ left: Range<Int>, _ others: UnsafeBufferPointer<UInt8>,
    _ right: Range<Int>
  ) -> Int {
    let common = min(left.count, right.count)
    if common > 0, let start = bytes.baseAddress, let other = others.baseAddress {
      let order = unsafe memcmp(start + left.lowerBound, other + right.lowerBound, common)
      if order != 0 { return Int(order) }
    }
    return left.count - right.count
  }
}
