// Finding something in a view: by its real name, or by the one that it is shown under.

import AccessControl
import Decisions
import DisplayNames
import ItemKinds
import LinuxFiles
import Synchronization

extension Volume {
  /// Something in a view; every right is asked of the real directory, and whatever is found is judged as there.
  func lookup(
    _ name: borrowing FileName, in view: ViewDirectory, for caller: Caller, request: UInt64
  ) throws(Errno) -> LookupAnswer {
    if view.parent == nil, name.equals(OwnDirectory.bytes) {
      try requireEntry(caller)
      return .missing(.none)
    }
    let shownName = name.copy()
    willTell(name, in: view.node)
    if let known = try translated(shownName, inUnchanged: view, for: caller),
      let entry = try find(known, shownAs: shownName, in: view, for: caller, request)
    {
      return .found(entry)
    }
    // No shown name is the real name of another item, so the two ways to read it cannot lead to different ones.
    if case .found(let entry) = try lookup(name, in: view.node, for: caller, request: request) {
      return .found(shown(entry, as: shownName, in: view))
    }
    // A shown name tells of names that only a listing tells.
    let mayList = try locks.holding(.shared(view.node.stripe)) { () throws(Errno) in
      gate.allows(caller, .list, on: try directoryFacts(view.node).item)
    }
    guard mayList else { return .missing(.none) }
    let began = Clock.monotonicNanoseconds
    // What has just been given a name is found by the one it is shown under.
    for purpose in [ShownIndexes.Purpose.lookup, .missedLookup(since: began)] {
      guard let names = try index(of: view, for: purpose, by: caller.user)?.names else { break }
      if let known = Translation(of: shownName, by: names),
        let entry = try find(known, shownAs: shownName, in: view, for: caller, request)
      {
        return .found(entry)
      }
    }
    return .missing(.none)
  }

  /// What a shown name means.
  private struct Translation {
    let realName: [UInt8]
    /// Since when that may be otherwise, in monotonic nanoseconds.
    let readAt: UInt64

    init?(of name: [UInt8], by index: DirectoryIndex) {
      guard let realName = index.realName(shownAs: name) else { return nil }
      (self.realName, readAt) = (realName, index.origin.at)
    }
  }

  /// What a name means that no item can have as its real name; nil if that is not known.
  ///
  /// An index of a directory that has not changed since says so, and spares looking for the real name first. A name that is
  /// shown as it is needs no index.
  private func translated(
    _ name: [UInt8], inUnchanged view: ViewDirectory, for caller: Caller
  ) throws(Errno) -> Translation? {
    guard store.memory.believes, let cached = view.recent.withLock({ $0.index }) as? CachedIndex,
      let names = cached.index, let known = Translation(of: name, by: names), known.realName != name,
      !showsRealNames(view)
    else { return nil }
    return try locks.holding(.shared(view.node.stripe)) { () throws(Errno) in
      let isCurrent = try indexes.isCurrent(cached) { () throws(Errno) in
        try DirectoryStamp(try resolver.parts(view.node))
      }
      guard isCurrent, gate.allows(caller, .list, on: try directoryFacts(view.node).item) else { return nil }
      return known
    }
  }

  private func find(
    _ known: Translation, shownAs name: [UInt8], in view: ViewDirectory, for caller: Caller, _ request: UInt64
  ) throws(Errno) -> Entry? {
    let answer = try FileName.with(known.realName) { real throws(Errno) in
      willTell(real, in: view.node)
      return try lookup(real, in: view.node, for: caller, request: request, forListers: true)
    }
    guard case .found(let found) = answer else { return nil }
    var entry = shown(found, as: name, in: view)
    entry.nameValidity = briefly(entry.nameValidity, since: known.readAt)
    return entry
  }

  /// What the kernel is told of something found in a view, in place of what it is told in the ordinary tree.
  ///
  /// Takes over the kernel's reference to the object. Names are remembered for a second at most, because the names beside
  /// them decide what they mean; the attributes of a directory not by this answer, because a change that comes before it can be told
  /// to the kernel only of a number that it knows (`ToldViewAttributes`).
  func shown(_ entry: Entry, as name: [UInt8], in view: ViewDirectory) -> Entry {
    var entry = entry
    entry.nameValidity = briefly(entry.nameValidity)
    guard entry.attributes.kind == .directory, let node = nodes.node(entry.node) else { return entry }
    let (directory, isNew) = views.refer(to: node, name: name, in: view, view: view.view)
    if !isNew { forget(node.id, references: 1) }
    entry.node = directory.id
    entry.attributeValidity = .none
    return entry
  }

  /// The same for the attributes that a change answers with.
  func shown(_ answer: AttributeAnswer, of id: NodeID) -> AttributeAnswer {
    guard ViewTable.isNumber(id) else { return answer }
    return AttributeAnswer(attributes: answer.attributes, validity: .none)
  }

  // MARK: The names of a directory

  /// The index of a directory in a view; nil where a view shows real names.
  ///
  /// No lock of the volume is held.
  func index(
    of view: ViewDirectory, for purpose: ShownIndexes.Purpose, by user: UInt32
  ) throws(Errno) -> UsableIndex? {
    guard !showsRealNames(view) else { return nil }
    let node = view.node
    let parts = try locks.holding(.shared(node.stripe)) { () throws(Errno) in try resolver.parts(node) }
    let directory = IndexedDirectory(parts: parts, isRoot: node.id == root.id)
    let found = try index(of: node.backing, directory, in: view.view, for: purpose, by: user)
    view.recent.withLock { $0.index = found?.cached }
    return found
  }

  /// Whether the directory is a package or in one: there everything has its real name.
  private func showsRealNames(_ view: ViewDirectory) -> Bool {
    var current: ViewDirectory? = view
    while let directory = current, directory.parent != nil {
      if isPackage(directory) { return true }
      current = directory.parent
    }
    return false
  }

  /// Whether a directory is a package, believed for a second.
  private func isPackage(_ directory: ViewDirectory) -> Bool {
    let now = Clock.monotonicNanoseconds
    let known = directory.packageState.withLock { $0 }
    if now < known.until { return known.isPackage }
    let isPackage = seen(directory.node).map { name, seen in
      viewRules.kinds.isPackage(
        name.span, isRoot: false, hasBundleBit: seen.hasBundleBit)
    }
    directory.packageState.withLock { $0 = (isPackage ?? false, now &+ 1_000_000_000) }
    return isPackage ?? false
  }

  /// An object under its real name, as names are made of it; nil if it cannot be found any more.
  private func seen(_ node: Node) -> (name: [UInt8], SeenItem)? {
    do throws(Errno) {
      return try locks.holding(.shared(node.stripe)) { () throws(Errno) in
        let reach = try resolver.reach(node)
        let found = try briefFacts(at: node, by: reach)
        let seen = SeenItem(found, in: store(of: node.layer)) { attribute throws(Errno) in
          try reach.attribute(attribute)
        }
        return (node.lastName.withLock { $0.name }, seen)
      }
    } catch {
      return nil
    }
  }
}
