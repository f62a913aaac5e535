// Listing a directory in a view: its names as they are shown, in the order of the view.
//
// Offsets are positions in the index, and 1 more. A listing keeps its index as long as there is room for it. If the index
// had to go, the listing goes on behind the name that the reader took last, in the order of the present one: a name that
// stays is read exactly once either way.
//
// Names alone, whatever the kernel asks for: see `mayShowEntries`.

import Decisions
import DisplayNames
import LinuxFiles
import Synchronization

/// What stands in front of the names of an index.
private let ownNames = 2

extension Volume {
  /// Reads on in a view; false where the listing is one of real names, in the order of the directory.
  func readShown(
    _ directory: OpenDirectory, in view: ViewDirectory, from offset: Int64, for caller: Caller,
    emit: (Span<UInt8>, ListedName) -> Bool
  ) throws(Errno) -> Bool {
    var position = Int(clamping: max(offset, 0))
    let (kept, isRaw) = directory.stream.withLock { ($0.shown, $0.isRaw) }
    if offset != 0, isRaw { return false }
    var present: UsableIndex?
    if offset != 0, let cached = kept?.index as? CachedIndex, let names = cached.index {
      present = UsableIndex(cached: cached, names: names)
    } else {
      present = try index(of: view, for: .listing(since: directory.asksForIndex()), by: caller.user)
      // Behind the name that was taken last; else where the reader says, as names may have gone.
      if offset != 0, let kept, let present {
        position = place(position, of: kept, in: present.names, viewRules.rules(of: view.view)) ?? position
      }
    }
    guard let present else {
      directory.stream.withLock { ($0.shown, $0.isRaw, $0.askedAt) = (nil, true, nil) }
      // A directory that has become too large in the middle of a listing ends it.
      return offset != 0 && kept != nil
    }
    let answered = copy(present.names, of: view.node, from: position, emit)
    directory.stream.withLock { stream in
      (stream.isRaw, stream.askedAt) = (false, nil)
      if let answered {
        let names = present.names
        let before = answered.lowerBound > 0 ? Array(names.shownName(at: answered.lowerBound - 1)) : nil
        stream.shown = OpenDirectory.ShownListing(
          index: present.cached, last: Array(names.shownName(at: answered.upperBound - 1)),
          end: ownNames + answered.upperBound, before: before, answered: answered.map { names.hash(at: $0) })
      } else if offset == 0 || kept == nil {
        stream.shown = OpenDirectory.ShownListing(index: present.cached)
      }
    }
    return true
  }

  /// Where a listing whose index had to go continues in another one; nil if it is not known what stood before the offset.
  private func place(
    _ offset: Int, of kept: OpenDirectory.ShownListing, in index: DirectoryIndex, _ rules: ViewRules
  ) -> Int? {
    if offset == kept.end, let last = kept.last { return ownNames + index.position(behind: last, rules) }
    let start = kept.end - kept.answered.count
    guard offset >= start, offset < kept.end else { return nil }
    var places: [Int: Int] = [:]
    for entry in index.entries.indices { places[index.hash(at: entry)] = entry }
    // The last of the names that were taken and are still there.
    for hash in kept.answered[..<(offset - start)].reversed() {
      if let entry = places[hash] { return ownNames + entry + 1 }
    }
    return ownNames + (kept.before.map { index.position(behind: $0, rules) } ?? 0)
  }

  /// Hands out names; which ones, without those of the directory itself.
  private func copy(
    _ index: DirectoryIndex, of directory: Node, from start: Int, _ emit: (Span<UInt8>, ListedName) -> Bool
  ) -> Range<Int>? {
    var position = start
    while position < ownNames {
      // Not of the index: the directory may have moved since that was made.
      let node = position == 0 ? directory : directory.lastName.withLock { $0.parent } ?? root
      let name = [UInt8](repeating: UInt8(ascii: "."), count: position + 1)
      let listed = ListedName(
        inode: node.number.value, kind: .directory, nextOffset: Int64(position + 1), entry: nil)
      guard emit(name.span, listed) else { return nil }
      position += 1
    }
    let first = position - ownNames
    while position - ownNames < index.entries.count {
      let entryIndex = position - ownNames
      let entry = index.entries[entryIndex]
      let listed = ListedName(
        inode: entry.inode, kind: entry.kind, nextOffset: Int64(position + 1), entry: nil)
      guard emit(index.shownName(at: entryIndex).span, listed) else { break }
      position += 1
    }
    return first < position - ownNames ? first..<(position - ownNames) : nil
  }
}
