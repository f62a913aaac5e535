// Listing directories: a stream from the backing directory, nothing kept, its own offsets as cookies.

import Decisions
package import LinuxFiles
import RecordFormat
import Synchronization

extension Volume {
  package func openDirectory(
    _ nodeID: NodeID, for caller: Caller
  ) throws(Errno) -> (handle: HandleID, use: ListingUse) {
    if let own = SyntheticNode(rawValue: nodeID) { try requireListed(own, for: caller) }
    let node = try node(nodeID)
    try handles.requireRoom(for: caller.user)
    return try locks.holding(.shared(node.stripe)) { () throws(Errno) in
      let facts = try directoryFacts(node)
      try gate.require(caller, .list, on: facts.item)
      // The cookies of several parts are those of one reader.
      var merged = try mergedListing(of: node, facts)
      let directory =
        if let first = try merged?.open() { first } else { try resolver.directory(node).openListing() }
      // Names of a view are kept nowhere.
      let view = views.directory(nodeID)
      let use = merged == nil && view == nil ? try listingUse(of: node, facts, directory) : .asked
      let handle = handles.add(
        OpenDirectory(
          node: node, in: view, directory, merged: merged, pages: listingPages, user: caller.user),
        for: caller.user)
      return (handle, use)
    }
  }

  private func listingUse(
    of node: Node, _ facts: Facts, _ directory: LayerDirectory
  ) throws(Errno) -> ListingUse {
    // Where attributes are not for everybody, the kernel could not check what it kept.
    guard store.memory.believes, facts.item.isVisibleToAnyone,
      node.attachment.state.withLock({ $0.directory.listing.mayBeKept })
    else { return .asked }
    let status = try directory.descriptor.descriptor.status()
    return node.attachment.state.withLock { $0.directory.listing.open(status) }
  }

  /// Calls `emit` for each name from `offset` on until it says that the answer is full; the name it refused
  /// is the first of the next answer.
  package func readDirectory(
    _ handle: HandleID, from offset: Int64, withAttributes: Bool, for caller: Caller,
    emit: (Span<UInt8>, ListedName) -> Bool
  ) throws(Errno) {
    let directory = try handles.directory(handle)
    let node = directory.node
    if let view = directory.view,
      try readShown(directory, in: view, from: offset, for: caller, emit: emit)
    {
      return
    }
    try locks.holding(.shared(node.stripe)) { () throws(Errno) in
      let above = try directoryFacts(node)
      let failure: Errno? = directory.stream.withLock { stream in
        directory.endAnswer(&stream)
        if stream.merged != nil {
          // Begun anew, it shows what has been brought up or made in the upper since.
          if offset == 0, let fresh = (try? mergedListing(of: node, above, unlike: stream.merged)) ?? nil {
            stream.merged = fresh
          }
          return readMerged(
            &stream, directory, from: offset, above, withAttributes: withAttributes, for: caller, emit: emit)
        }
        let page = directory.takePage(&stream)
        var isOver = false
        let failure: Errno? = page.buffer.withLock { page in
          do throws(Errno) {
            if stream.position != offset || offset == 0 || (page.isExhausted && !stream.isAtPosition) {
              try directory.backing.seekListing(to: offset)
              page.clear()
              stream.position = offset
              if offset == 0 { stream.isForNames = false }
            }
            isOver = try copy(
              &stream, &page, directory, above, withAttributes: withAttributes, for: caller, emit: emit)
            return nil
          } catch {
            // The next request starts where this one failed.
            page.clear()
            return error
          }
        }
        directory.putBack(page, &stream, isOver: isOver)
        return failure
      }
      if let failure { throw failure }
    }
  }

  /// Hands out names; whether it was the last of them.
  private func copy(
    _ stream: inout OpenDirectory.Stream, _ page: inout EntryBuffer, _ directory: OpenDirectory,
    _ above: Facts, withAttributes: Bool, for caller: Caller, emit: (Span<UInt8>, ListedName) -> Bool
  ) throws(Errno) -> Bool {
    let showsEntries = withAttributes && mayShowEntries(directory, above)
    while true {
      guard let next = try page.next() else {
        guard try directory.backing.readNames(into: &page) > 0 else {
          let isForNames = stream.isForNames
          directory.node.attachment.state.withLock { $0.directory.listing.wasRead(forNames: isForNames) }
          return true
        }
        continue
      }
      if next.role == .child, try isHidden(next, page, in: directory) {
        stream.position = next.nextOffset
        continue
      }
      var listed = ListedName(
        inode: next.inode, kind: next.kind, nextOffset: next.nextOffset, entry: nil)
      if resolver.stack != nil {
        listed.inode = try page.withNameBytes(of: next) { name throws(Errno) in
          try shownNumber(
            of: next, name, in: directory.backing, of: directory.node,
            isImpure: directory.backing.layer > 0 || above.record.isImpure
              || listsOtherNumbers(above.status, in: 0))
        }
      }
      if showsEntries, next.role == .child, directory.mayGiveEntries(&stream) {
        switch try child(next, page, in: directory.backing.layer, of: directory, above, for: caller) {
        case .there(let entry): listed.entry = entry
        case .gone:
          stream.position = next.nextOffset
          continue
        }
      }
      let isTaken = try page.withNameBytes(of: next) { name throws(Errno) in emit(name, listed) }
      guard isTaken else {
        if let entry = listed.entry { forget(entry.node, references: 1) }
        page.goBack(to: next)
        return false
      }
      stream.position = next.nextOffset
      if !withAttributes { stream.isForNames = true }
    }
  }

  /// Whether a listing may say what lookups of its names would answer.
  ///
  /// Only where nobody could be refused the walk to them, and never in a view: the kernel takes listed names over with
  /// the epoch from after the answer, which is safe while it holds the lock of the directory that is needed to close it.
  /// A view's directory has a lock of its own, which is what `ListingsUnderWay` is for.
  func mayShowEntries(_ directory: OpenDirectory, _ above: Facts) -> Bool {
    directory.view == nil && above.item.isSearchableByAnyone
  }

  /// Changes what may be the rights of an object; EBUSY for a directory that is changed by its number in a view while a
  /// listing of the ordinary tree is under way.
  func changingRights<Value>(
    of node: Node, by id: NodeID, _ change: () throws(Errno) -> Value
  ) throws(Errno) -> Value {
    guard node.isDirectory, views.directory(id) != nil else { return try change() }
    guard node.attachment.state.withLock({ $0.directory.underWay.beginChange() }) else { throw .busy }
    defer { node.attachment.state.withLock { $0.directory.underWay.endChange() } }
    return try change()
  }

  /// Whether such a change of a directory would be refused now.
  func isListingUnderWay(of identity: ObjectIdentity) -> Bool {
    guard let node = nodes.node(of: identity) else { return false }
    return node.attachment.state.withLock { $0.directory.underWay.areThere }
  }

  private func isHidden(
    _ entry: DirectoryEntry, _ page: borrowing EntryBuffer, in directory: OpenDirectory
  ) throws(Errno) -> Bool {
    guard directory.backing.shownStanding(entry, on: page) == .name else { return true }
    return try isReserved(entry, page, in: directory.node)
  }

  func isReserved(
    _ entry: DirectoryEntry, _ page: borrowing EntryBuffer, in node: Node
  ) throws(Errno) -> Bool {
    guard node.id == root.id else { return false }
    return try page.withName(of: entry) { name throws(Errno) in name.equals(OwnDirectory.bytes) }
  }

  /// What is found of a name that was read.
  enum ListedChild {
    /// It was removed since.
    case gone
    /// What a lookup would answer; nil, and so a plain name, where that fails: what cannot be read right now must not be missing
    /// from the listing.
    case there(Entry?)
  }

  /// Looks up a name that was read.
  ///
  /// `lastsForGood`: whether the kernel may remember the name as if it had looked it up. If not, what it remembers so already
  /// is not told again.
  func child(
    _ listed: DirectoryEntry, _ page: borrowing EntryBuffer, in layer: UInt8, of directory: OpenDirectory,
    _ above: Facts, lastsForGood: Bool = true, for caller: Caller
  ) throws(Errno) -> ListedChild {
    let held = LockRequests(.shared(directory.node.stripe))
    return try page.withName(of: listed) { name throws(Errno) in
      let present: FoundName?
      do throws(Errno) { present = try seen(name, in: layer, of: directory) } catch { return .there(nil) }
      guard let present else { return .gone }
      // Refused at lookup, to some or to all; never handed out in passing.
      guard ItemKind(present.status.kind) != .special else { return .there(nil) }
      let known = try? refer(to: present, name, in: directory.node, under: held) { () throws(Errno) in
        try briefFacts(of: present, name)
      }
      guard let (node, found) = known ?? nil else { return .there(nil) }
      var entry = entry(node, found, in: above, for: caller)
      if !lastsForGood, case .unlimited = entry.nameValidity {
        if let link, node.toldForGood.load(ordering: .relaxed) == link.nameAge {
          forget(entry.node, references: 1)
          return .there(nil)
        }
        // Names that the kernel takes over after layers were closed by a flag elsewhere are none that it can be told of.
        entry.nameValidity = .seconds(1)
      }
      return .there(entry)
    }
  }

  private func seen(
    _ name: borrowing FileName, in layer: UInt8, of directory: OpenDirectory
  ) throws(Errno) -> FoundName? {
    guard resolver.stack != nil else {
      return try directory.backing.find(name).map {
        FoundName(directory: directory.backing, status: $0)
      }
    }
    return try resolver.findListed(name, in: directory.node, by: layer)
  }

  package func synchronizeDirectory(_ handle: HandleID, dataOnly: Bool) throws(Errno) {
    let directory = try handles.directory(handle)
    let backing = directory.backing
    guard backing.layer == 0 else {
      // It may have been brought up since it was opened; what is in a lower does not change.
      let part = try upperPart(of: directory.node)?.openListing()
      try part?.descriptor.descriptor.sync(dataOnly: dataOnly)
      return
    }
    try backing.descriptor.descriptor.sync(dataOnly: dataOnly)
  }
}
