// Listing a directory that several layers have.

import Decisions
import LinuxFiles
import RecordFormat
import Synchronization

extension Volume {
  /// Nil for a directory that only the upper has, and for one of the same parts as `other`.
  func mergedListing(
    of node: Node, _ facts: Facts, unlike other: MergedListing? = nil
  ) throws(Errno) -> MergedListing? {
    guard let stack = resolver.stack else { return nil }
    let parts = try resolver.parts(node)
    guard parts.isMerged || parts.top.layer != 0, other?.isOf(parts) != true else { return nil }
    var impure = [facts.record.isImpure || listsOtherNumbers(facts.status, in: parts.top.layer)]
    for part in parts.all.dropFirst() {
      let status = try part.descriptor.descriptor.status()
      let isImpure = try stack.record(of: part.descriptor, status, in: part.layer).core.isImpure
      impure.append(isImpure || listsOtherNumbers(status, in: part.layer))
    }
    return MergedListing(parts.all, impure: impure)
  }

  /// Whether the numbers that a listing of a directory has are not those of its layer, as where it is on another device than the
  /// root of that, which a subvolume is.
  func listsOtherNumbers(_ status: FileStatus, in layer: UInt8) -> Bool {
    store(of: layer).numbers.map { $0.device != status.device || !$0.areListed } ?? false
  }

  /// The number that a lookup of a listed name would show.
  ///
  /// `isImpure`: whether it may be that of something else, which the record tells.
  func shownNumber(
    of entry: DirectoryEntry, _ name: Span<UInt8>, in place: LayerDirectory, of directory: Node,
    isImpure: Bool
  ) throws(Errno) -> UInt64 {
    switch entry.role {
    case .itself: return directory.number.value
    case .parent: return (directory.lastName.withLock { $0.parent } ?? root).number.value
    case .unusable: return entry.inode
    case .child: break
    }
    let store = store(of: place.layer)
    guard let numbers = store.numbers else { return entry.inode }
    let plain = numbers.number(ofInode: entry.inode).value
    guard isImpure else { return plain }
    return try FileName.with(name) { name throws(Errno) in
      guard let status = (try? place.look(name)) ?? nil,
        let found = try? briefFacts(status, of: name, in: place)
      else { return plain }
      return found.layerFacts.number.value
    }
  }

  func readMerged(
    _ stream: inout OpenDirectory.Stream, _ directory: OpenDirectory, from offset: Int64, _ above: Facts,
    withAttributes: Bool, for caller: Caller, emit: (Span<UInt8>, ListedName) -> Bool
  ) -> Errno? {
    guard var merged = stream.merged else { return .inputOutput }
    // Else each page would copy all that is known of the listing.
    stream.merged = nil
    let page = directory.takePage(&stream)
    var isOver = false
    let failure: Errno? = page.buffer.withLock { page in
      do throws(Errno) {
        if stream.position != offset || offset == 0 || (page.isExhausted && !stream.isAtPosition) {
          try merged.seek(to: offset)
          page.clear()
        }
        isOver = try copy(
          &merged, &stream, &page, directory, above, withAttributes: withAttributes, for: caller, emit: emit)
        return nil
      } catch {
        page.clear()
        return error
      }
    }
    stream.position = Int64(merged.position)
    stream.merged = merged
    directory.putBack(page, &stream, isOver: isOver)
    // A page that was given up is read again from where its first name was.
    return failure
  }

  private func copy(
    _ merged: inout MergedListing, _ stream: inout OpenDirectory.Stream, _ page: inout EntryBuffer,
    _ directory: OpenDirectory, _ above: Facts, withAttributes: Bool, for caller: Caller,
    emit: (Span<UInt8>, ListedName) -> Bool
  ) throws(Errno) -> Bool {
    let showsEntries = withAttributes && mayShowEntries(directory, above)
    while true {
      guard let next = try page.next() else {
        guard try merged.readNames(into: &page) else { return true }
        continue
      }
      let name = try page.nameBytes(of: next)
      let place = LayerDirectory(merged.parts[merged.part])
      switch next.role {
      // They are the directory's, not the parts'.
      case .itself, .parent: if merged.part > 0 { continue }
      case .unusable: if merged.isHidden(name) { continue }
      case .child:
        if merged.isHidden(name) { continue }
        if try isReserved(next, page, in: directory.node) { continue }
        switch place.shownStanding(next, on: page) {
        case .name: break
        case .whiteout:
          merged.take(name)
          continue
        // It hides nothing any more.
        case .nothing: continue
        }
      }
      let isImpure = merged.isPartImpure || merged.layer == 0 && above.record.isImpure
      var listed = ListedName(
        inode: try shownNumber(of: next, name.span, in: place, of: directory.node, isImpure: isImpure),
        kind: next.kind, nextOffset: merged.cookie, entry: nil)
      if showsEntries, next.role == .child, directory.mayGiveEntries(&stream) {
        switch try child(next, page, in: place.layer, of: directory, above, lastsForGood: false, for: caller)
        {
        case .there(let entry): listed.entry = entry
        case .gone:
          merged.take(name)
          continue
        }
      }
      guard emit(name.span, listed) else {
        if let entry = listed.entry { forget(entry.node, references: 1) }
        page.goBack(to: next)
        return false
      }
      merged.take(name)
      merged.handedOut(next.nextOffset)
    }
  }
}
