// The pages of one file that may be overwritten, as far as they are known: those behind the end of the backing file,
// those that this opening freed, and all of them once the index has been read.

/// Free pages of a backing file.
package struct FreePages: Sendable {
  /// In order, apart from each other; index pages may lie inside and are never given out.
  private var ranges: [Range<UInt64>] = []
  /// Whole pages of the backing file.
  package private(set) var end: UInt64

  /// Nothing is known but what is behind the end.
  package init(end: UInt64) {
    self.end = max(end, 1)
  }

  /// The index has been read: every page but page 0, index pages and `used` is free.
  package init(end: UInt64, used: [Page]) {
    self.init(end: end)
    var next: UInt64 = 1
    for page in used.sorted() where page.number >= next && page.number < self.end {
      if page.number > next { ranges.append(next..<page.number) }
      next = page.number + 1
    }
    if next < self.end { ranges.append(next..<self.end) }
  }

  /// A page for a block: its home, if it is free, else the lowest free one, else the end; nil: the file is full.
  package mutating func take(home: Page) -> Page? {
    if home.number >= end { return extend(through: home) }
    if remove(home.number) { return home }
    while let lowest = ranges.first?.lowerBound {
      remove(lowest)
      if let page = Page(lowest), page.mayHoldBlock { return page }
    }
    guard let last = Page(end) else { return nil }
    guard last.isIndex else { return extend(through: last) }
    return Page(end + 1).flatMap { extend(through: $0) }
  }

  /// The backing file gets an index page, or is known to be longer.
  package mutating func extend(to pages: UInt64) {
    guard pages > end, pages <= Page.limit else { return }
    add(end..<pages)
    end = pages
  }

  /// Gives a page back.
  package mutating func free(_ page: Page) {
    guard page.mayHoldBlock, page.number < end else { return }
    add(page.number..<page.number + 1)
  }

  package func contains(_ page: Page) -> Bool {
    guard page.mayHoldBlock else { return false }
    let index = position(of: page.number)
    return page.number >= end || (index < ranges.count && ranges[index].contains(page.number))
  }

  /// Whether more than so many pages before the end are free, index pages that lie between them counted.
  package func areMore(than limit: UInt64) -> Bool {
    var count: UInt64 = 0
    return ranges.contains { range in
      count += UInt64(range.count)
      return count > limit
    }
  }

  /// To be punched at the last close: runs of free pages that spare the index.
  package func forEachRun(_ body: (Range<UInt64>) -> Void) {
    for range in ranges {
      var start = range.lowerBound
      while start < range.upperBound {
        // The next index page at or after the start.
        let index = start <= 25 ? 25 : 25 + (start - 25 + 48) / 49 * 49
        let stop = min(index, range.upperBound)
        if start < stop { body(start..<stop) }
        start = stop + 1
      }
    }
  }

  /// The length to which the backing file of `size` bytes can be cut, if that is less than it has.
  ///
  /// Index pages of the file's blocks stay. Entries behind its size must be durably cleared.
  package func cut(fileSize size: UInt64) -> UInt64? {
    guard let last = ranges.last, last.upperBound == end else { return nil }
    var lowest = last.lowerBound
    if let block = Block(max(Block.count(size), 1) - 1) {
      lowest = max(lowest, block.sectorAddress.page.number + 1)
    }
    return lowest < end ? lowest : nil
  }

  package mutating func cut(to pages: UInt64) {
    while let last = ranges.last, last.upperBound > pages {
      ranges.removeLast()
      if last.lowerBound < pages { ranges.append(last.lowerBound..<pages) }
    }
    end = min(end, max(pages, 1))
  }

  private mutating func extend(through page: Page) -> Page {
    if page.number > end { add(end..<page.number) }
    end = page.number + 1
    return page
  }

  /// The first range that ends after `number`.
  private func position(of number: UInt64) -> Int {
    var (low, high) = (0, ranges.count)
    while low < high {
      let middle = (low + high) / 2
      if ranges[middle].upperBound <= number { low = middle + 1 } else { high = middle }
    }
    return low
  }

  @discardableResult
  private mutating func remove(_ number: UInt64) -> Bool {
    let index = position(of: number)
    guard index < ranges.count, ranges[index].contains(number) else { return false }
    let range = ranges[index]
    switch (range.lowerBound == number, range.upperBound == number + 1) {
    case (true, true): ranges.remove(at: index)
    case (true, false): ranges[index] = number + 1..<range.upperBound
    case (false, true): ranges[index] = range.lowerBound..<number
    case (false, false):
      ranges[index] = range.lowerBound..<number
      ranges.insert(number + 1..<range.upperBound, at: index + 1)
    }
    return true
  }

  private mutating func add(_ range: Range<UInt64>) {
    var index = position(of: range.lowerBound)
    var merged = range
    if index > 0, ranges[index - 1].upperBound == range.lowerBound {
      index -= 1
      merged = ranges[index].lowerBound..<merged.upperBound
      ranges.remove(at: index)
    }
    while index < ranges.count, ranges[index].lowerBound <= merged.upperBound {
      merged =
        min(merged.lowerBound, ranges[index].lowerBound)..<max(merged.upperBound, ranges[index].upperBound)
      ranges.remove(at: index)
    }
    ranges.insert(merged, at: index)
  }
}
