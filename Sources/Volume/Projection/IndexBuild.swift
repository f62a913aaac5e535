// Making an index: the names of a directory are read, each item is looked at, and then all names are made together,
// because what one item is shown as depends on all others.
//
// No lock of the volume is held meanwhile. What cannot be looked at gets its plain name.

import DisplayNames
import ItemKinds
import LinuxFiles

/// An item of a directory on its way into an index.
private struct ReadItem {
  let name: [UInt8]
  let inode: UInt64
  let kind: LinuxFiles.FileKind
  var facts: ItemFacts
  let isShown: Bool
}

/// The names of a directory as they were read; while it changes, one may be there twice.
private struct ReadNames {
  var names: [(name: [UInt8], inode: UInt64, kind: LinuxFiles.FileKind?)] = []
  var parentInode: UInt64 = 0
  var isTooLarge = false
}

/// Makes one index.
struct IndexBuild {
  private let volume: Volume
  private let directory: LayerDirectory
  private let isRoot: Bool
  private let rules: ViewRules
  /// More items are not sorted.
  private let mostItems: Int

  /// `directory`: open for listing, with a position of its own.
  init(_ volume: Volume, _ directory: LayerDirectory, isRoot: Bool, mostItems: Int, _ rules: ViewRules) {
    self.volume = volume
    self.directory = directory
    self.isRoot = isRoot
    self.rules = rules
    self.mostItems = mostItems
  }

  func make() throws(Errno) -> DirectoryIndex {
    let began = Clock.monotonicNanoseconds
    let status = try directory.descriptor.descriptor.status()
    let read = try readNames()
    let origin = DirectoryIndex.Origin(
      change: status.change, isSettled: status.isSettled, at: began, inode: status.inode,
      parentInode: read.parentInode)
    guard !read.isTooLarge else {
      return DirectoryIndex(origin, [], text: [], isTooLarge: true, rules)
    }
    let listed = hiddenList(status)
    var items = read.names.map { self.item($0.name, $0.inode, $0.kind, listed) }
    translate(&items)
    return settled(origin, items)
  }

  // MARK: Reading

  private func readNames() throws(Errno) -> ReadNames {
    var read = ReadNames()
    var page = EntryBuffer()
    while try directory.readNames(into: &page) > 0 {
      while let entry = try page.next() {
        switch entry.role {
        case .parent: read.parentInode = entry.inode
        case .itself, .unusable: continue
        case .child:
          let name = try page.nameBytes(of: entry)
          if isRoot, name == VolumeDirectory.name { continue }
          read.names.append((name, entry.inode, entry.kind))
          if read.names.count > mostItems {
            read.isTooLarge = true
            return read
          }
        }
      }
    }
    return read
  }

  /// The names in a file `.hidden` of the directory's owner or root, as the directory's owner would read it.
  private func hiddenList(_ status: FileStatus) -> HiddenList? {
    volume.hiddenList(in: directory, status)
  }

  private func item(
    _ name: [UInt8], _ inode: UInt64, _ kind: LinuxFiles.FileKind?, _ listed: HiddenList?
  ) -> ReadItem {
    let seen = volume.see(name, in: directory) ?? SeenItem(unknown: kind)
    let reasons = seen.reasonsToHide(
      name.span, isListed: listed?.contains(name) ?? false, isAtRoot: isRoot)
    return ReadItem(
      name: name, inode: inode, kind: seen.status.kind, facts: seen.facts(.nothing),
      isShown: rules.name.showsHidden || reasons.isEmpty)
  }

  // MARK: Translating

  /// Looks into directories whose names may come from what is in them, in the order of their names.
  private func translate(_ items: inout [ReadItem]) {
    let candidates = items.indices.filter { index in
      let item = items[index]
      guard item.isShown, item.kind == .directory else { return false }
      return rules.mayTranslate(item.name, hasBundleBit: item.facts.hasBundleBit)
    }
    var allowance = ReadingAllowance()
    for index in candidates.sorted(by: { items[$0].name.lexicographicallyPrecedes(items[$1].name) }) {
      let item = items[index]
      items[index].facts.finding = volume.finding(
        in: item.name, of: directory, hasBundleBit: item.facts.hasBundleBit, rules, &allowance)
    }
  }

  // MARK: Settling

  private func settled(_ origin: DirectoryIndex.Origin, _ items: [ReadItem]) -> DirectoryIndex {
    var names = DirectoryNames()
    names.reserve(items.count)
    for item in items {
      _ = names.add(item.name.span, item.facts, isShown: item.isShown, rules.names)
    }
    names.settle(rules.names)
    // All were added: there are fewer than the engine has room for.
    let shown = items.indices.filter { $0 < names.count && names.shownName(at: $0) != nil }
    let order = ShownOrder.positions(shown.map { names.shownName(at: $0) ?? [] }, rules)
    var text: [UInt8] = []
    text.reserveCapacity(shown.reduce(0) { $0 + items[$1].name.count })
    var entries: [DirectoryIndex.Entry] = []
    entries.reserveCapacity(shown.count)
    for position in order {
      let index = shown[Int(position)]
      let item = items[index]
      let name = names.shownName(at: index) ?? []
      // What was read twice comes twice, one behind the other.
      if let last = entries.last, last.isShown(as: name, in: text) { continue }
      let start = text.count
      text += item.name
      // Most names are the beginning of the real one.
      let isBeginning = item.name.starts(with: name)
      if !isBeginning { text += name }
      entries.append(
        DirectoryIndex.Entry(
          inode: item.inode, realStart: UInt32(clamping: start),
          shownStart: UInt32(clamping: isBeginning ? start : start + item.name.count),
          realCount: UInt16(clamping: item.name.count), shownCount: UInt16(clamping: name.count),
          kind: item.kind))
    }
    return DirectoryIndex(origin, entries, text: text, isTooLarge: false, rules)
  }
}

// MARK: - What one item is

extension Volume {
  /// The index of a directory in a view; nil if it has too many items.
  ///
  /// No lock of the volume is held.
  func index(
    of identity: ObjectIdentity, by directory: LayerDirectory, in view: ViewName,
    for purpose: ShownIndexes.Purpose, isRoot: Bool
  ) throws(Errno) -> CachedIndex? {
    let cached = try indexes.index(of: identity, in: view, for: purpose) { () throws(Errno) in
      try directory.descriptor.descriptor.status()
    } make: { (mostItems) throws(Errno) in
      try IndexBuild(
        self, try directory.openListingAside(), isRoot: isRoot, mostItems: mostItems,
        viewRules.rules(of: view)
      ).make()
    }
    return cached.index?.isTooLarge == true ? nil : cached
  }

  /// An item as names are made of it; nil if it is gone, or cannot be looked at.
  func see(_ name: [UInt8], in directory: LayerDirectory) -> SeenItem? {
    do throws(Errno) {
      return try FileName.with(name) { name throws(Errno) in
        guard let status = try directory.find(name) else { return nil }
        return try see(status, of: name, in: directory)
      }
    } catch {
      return nil
    }
  }

  private func see(
    _ status: FileStatus, of name: borrowing FileName, in directory: LayerDirectory
  ) throws(Errno) -> SeenItem {
    let found = try briefFacts(status, of: name, in: directory)
    return SeenItem(found, in: store) { attribute throws(Errno) in
      try directory.attribute(attribute, of: name)
    }
  }

  /// What in a directory makes its name.
  func finding(
    in name: [UInt8], of parent: LayerDirectory, hasBundleBit: Bool, _ rules: ViewRules,
    _ allowance: inout ReadingAllowance
  ) -> DirectoryFinding {
    guard let inside = inside(name, of: parent, rules) else { return .nothing }
    return inside.finding(hasBundleBit: hasBundleBit, &allowance)
  }

  /// A directory, to look for what makes its name; nil if it is gone.
  func inside(_ name: [UInt8], of parent: LayerDirectory, _ rules: ViewRules) -> InsideDirectory? {
    do throws(Errno) {
      let directory = try FileName.with(name) { name throws(Errno) in try parent.descend(name) }
      let status = try directory.descriptor.descriptor.status()
      guard !status.isMountRoot else { return nil }
      let facts = try facts(status, of: directory.descriptor, knownBy: rememberingNode(of: status))
      return InsideDirectory(self, name, directory, facts.item, rules)
    } catch {
      return nil
    }
  }

  /// The names that a file `.hidden` hides in a directory; nil if there is none that counts.
  func hiddenList(in directory: LayerDirectory, _ status: FileStatus) -> HiddenList? {
    let name = Array(".hidden".utf8)
    do throws(Errno) {
      let found = try FileName.with(name) { name throws(Errno) in try directory.find(name) }
      guard let found, found.user == status.user || found.user == 0 else { return nil }
      let facts = try facts(status, of: directory.descriptor, knownBy: rememberingNode(of: status))
      let eyes = OwnersEyes(self, ownerOf: facts.item)
      guard eyes.maySearch(facts.item) else { return nil }
      return eyes.bytes(of: name, in: directory, upTo: 64 << 10).flatMap { HiddenList($0) }
    } catch {
      return nil
    }
  }
}
