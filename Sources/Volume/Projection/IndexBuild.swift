// Making an index: the names of a directory are read, each item is looked at, and then all names are made together,
// because what one item is shown as depends on all others.
//
// No lock of the volume is held meanwhile. What cannot be looked at gets its plain name.

import Decisions
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

/// What a listing says of an item.
private struct ReadName {
  let name: [UInt8]
  let inode: UInt64
  let kind: LinuxFiles.FileKind?
}

/// The names of a directory as they were read; while it changes, one may be there twice.
private struct ReadNames {
  var names: [ReadName] = []
  var isTooLarge = false
}

/// Whose names are made.
struct IndexedDirectory {
  let parts: DirectoryParts
  let isRoot: Bool
}

/// Makes one index.
struct IndexBuild {
  private let volume: Volume
  private let directory: IndexedDirectory
  private let rules: ViewRules
  /// More items are not sorted.
  private let mostItems: Int

  init(_ volume: Volume, _ directory: IndexedDirectory, mostItems: Int, _ rules: ViewRules) {
    self.volume = volume
    self.directory = directory
    self.rules = rules
    self.mostItems = mostItems
  }

  private var parts: DirectoryParts { directory.parts }

  func make() throws(Errno) -> DirectoryIndex {
    let began = Clock.monotonicNanoseconds
    let status = try parts.top.descriptor.descriptor.status()
    let origin = DirectoryIndex.Origin(
      stamp: try DirectoryStamp(status, parts), at: began)
    let read = try readNames()
    guard !read.isTooLarge else { return .tooLarge(origin) }
    let listed = volume.hiddenList(in: parts, status)
    let parts = parts
    var items = ItemRound(read.names) {
      item($0, of: parts, listed)
    } helper: {
      let own = parts.reopened() ?? parts
      return { item($0, of: own, listed) }
    }.run()
    translate(&items)
    return settled(origin, items)
  }

  // MARK: Reading

  private func readNames() throws(Errno) -> ReadNames {
    var read = ReadNames()
    var page = EntryBuffer()
    var merged = MergedListing(parts.all, isAside: true)
    while try merged.readNames(into: &page) {
      while let entry = try page.next() {
        guard entry.role == .child else { continue }
        let name = try page.nameBytes(of: entry)
        if directory.isRoot, name == OwnDirectory.bytes { continue }
        if merged.isHidden(name) { continue }
        let standing = merged.directory.shownStanding(entry, on: page)
        if standing == .nothing { continue }
        merged.take(name)
        if standing == .whiteout { continue }
        read.names.append(ReadName(name: name, inode: entry.inode, kind: entry.kind))
        if read.names.count > mostItems {
          read.isTooLarge = true
          return read
        }
      }
    }
    return read
  }

  private func item(_ read: ReadName, of parts: DirectoryParts, _ listed: HiddenList?) -> ReadItem {
    let seen = volume.see(read.name, in: parts) ?? SeenItem(unknown: read.kind)
    let reasons = seen.reasonsToHide(
      read.name.span, isListed: listed?.contains(read.name) ?? false, isAtRoot: directory.isRoot)
    return ReadItem(
      name: read.name, inode: seen.number ?? read.inode, kind: seen.status.kind, facts: seen.facts(.nothing),
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
        in: item.name, of: parts, hasBundleBit: item.facts.hasBundleBit, rules, &allowance)
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
    text.reserveCapacity(shown.reduce(0) { $0 + names.realName(at: $1).count })
    var entries: [DirectoryIndex.Entry] = []
    entries.reserveCapacity(shown.count)
    for position in order {
      let index = shown[Int(position)]
      let (real, name) = (names.realName(at: index), names.shownName(at: index) ?? [])
      // What was read twice comes twice, one behind the other.
      if let last = entries.last, last.isShown(as: name, in: text) { continue }
      let start = text.count
      text += real
      // Most names are the beginning of the real one.
      let isBeginning = names.isShownBeginning(at: index)
      if !isBeginning { text += name }
      entries.append(
        DirectoryIndex.Entry(
          inode: items[index].inode, realStart: UInt32(clamping: start),
          shownStart: UInt32(clamping: isBeginning ? start : start + real.count),
          realCount: UInt16(clamping: real.count), shownCount: UInt16(clamping: name.count),
          kind: items[index].kind))
    }
    return DirectoryIndex(origin, entries, text: text)
  }
}

// MARK: - What one item is

extension Volume {
  /// The index of a directory in a view; nil if it has too many items.
  ///
  /// No lock of the volume is held.
  func index(
    of identity: ObjectIdentity, _ directory: IndexedDirectory, in view: ViewName,
    for purpose: ShownIndexes.Purpose, by user: UInt32
  ) throws(Errno) -> UsableIndex? {
    let found = try indexes.index(of: identity, in: view, for: purpose, by: user) { () throws(Errno) in
      try DirectoryStamp(directory.parts)
    } make: { (mostItems) throws(Errno) in
      try IndexBuild(self, directory, mostItems: mostItems, viewRules.rules(of: view)).make()
    }
    return found.names.isTooLarge ? nil : found
  }

  /// An item as names are made of it; nil if it is gone, or cannot be looked at.
  func see(_ name: [UInt8], in directory: DirectoryParts) -> SeenItem? {
    do throws(Errno) {
      return try FileName.with(name) { name throws(Errno) in
        guard let found = try resolver.find(name, in: directory.all[...]) else { return nil }
        let facts = try briefFacts(of: found, name)
        return SeenItem(facts, in: store(of: found.layer)) { attribute throws(Errno) in
          // One of several names in a lower, whose object was brought up under another.
          if let object = found.successor?.object { return try object.descriptor.attribute(attribute) }
          return try found.directory.attribute(attribute, of: name)
        }
      }
    } catch {
      return nil
    }
  }

  /// What in a directory makes its name.
  func finding(
    in name: [UInt8], of parent: DirectoryParts, hasBundleBit: Bool, _ rules: ViewRules,
    _ allowance: inout ReadingAllowance
  ) -> DirectoryFinding {
    guard let inside = inside(name, of: parent, rules) else { return .nothing }
    return inside.finding(hasBundleBit: hasBundleBit, &allowance)
  }

  /// A directory, to look for what makes its name; nil if it is gone.
  private func inside(
    _ name: [UInt8], of parent: DirectoryParts, _ rules: ViewRules
  ) -> InsideDirectory? {
    guard let found = held(name, in: parent), let parts = found.parts else { return nil }
    return InsideDirectory(self, name, parts, found.facts.item, rules)
  }

  /// What stands under a name, held; nil if it is not there, or not to be read now, which is the same for a name.
  ///
  /// No link is followed, and what is mounted there is none of the volume's.
  func held(_ name: [UInt8], in directory: DirectoryParts) -> HeldItem? {
    do throws(Errno) {
      return try FileName.with(name) { name throws(Errno) in
        let (found, parts) = try resolver.findHeld(name, in: directory.all)
        guard !found.status.isMountRoot else { throw .crossDevice }
        let facts = try facts(of: found, in: parts.first?.layer ?? 0)
        return HeldItem(
          descriptor: found.descriptor, facts: facts,
          parts: facts.item.isDirectory ? DirectoryParts(parts, shape: 0) : nil)
      }
    } catch {
      return nil
    }
  }

  /// The names that a file `.hidden` of the directory's owner or root hides, as the directory's owner would read it; nil if
  /// there is none that counts.
  func hiddenList(in directory: DirectoryParts, _ status: FileStatus) -> HiddenList? {
    // The object whose owner counts is the one that is read.
    guard let found = held(Array(".hidden".utf8), in: directory),
      found.facts.status.user == status.user || found.facts.status.user == 0
    else { return nil }
    do throws(Errno) {
      let top = FoundObject(descriptor: directory.top.descriptor, status: status)
      let facts = try facts(of: top, in: directory.top.layer)
      let eyes = OwnersEyes(self, ownerOf: facts.item)
      guard eyes.maySearch(facts.item) else { return nil }
      return eyes.bytes(of: found, upTo: 64 << 10).flatMap { HiddenList($0) }
    } catch {
      return nil
    }
  }
}

/// An item that is held while it is looked at.
struct HeldItem {
  let descriptor: SharedDescriptor
  let facts: Facts
  /// Of a directory.
  let parts: DirectoryParts?
}
