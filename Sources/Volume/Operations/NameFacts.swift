// Reading what follows from the name of an item. The right is that of stat, and the answer is the same for everybody.

import Decisions
import DisplayNames
import ItemKinds
import LinuxFiles
import Synchronization

/// An item as it was found, to work out what follows from its name.
private struct NamedItem {
  let name: [UInt8]
  let seen: SeenItem
  let item: Item
  let isRoot: Bool
  let isAtRoot: Bool
  /// The directory it is in, unless it has lost its name.
  let parent: DirectoryParts?
  /// The item itself, if it is a directory.
  let inside: DirectoryParts?
}

extension Volume {
  func read(_ fact: NameFact, of node: Node, for caller: Caller) throws(Errno) -> [UInt8] {
    let found = try named(node, for: caller)
    // Not under the lock any more: files may have to be read.
    guard !(found.isRoot && fact.needsName), found.isRoot || !found.name.isEmpty else { throw .noData }
    switch fact {
    case .displayName(let view): return displayName(of: found, in: viewRules.rules(of: view))
    case .realName: return found.name
    case .hidden: return Array(reasonsToHide(found).letters.utf8)
    case .type, .mime, .icon, .package:
      let rules = viewRules.rules(of: ViewName())
      let traits = traits(of: found, rules, for: caller)
      let kinds = rules.names.kinds
      switch fact {
      case .mime: return Array(kinds.mime(of: found.name, traits).utf8)
      case .icon: return Array(kinds.icon(of: found.name, traits).utf8)
      case .package: return Array("\(kinds.packageState(of: found.name, traits).rawValue)".utf8)
      default: return Array(kinds.identifier(of: found.name, traits).utf8)
      }
    }
  }

  private func named(_ node: Node, for caller: Caller) throws(Errno) -> NamedItem {
    try locks.holding(.shared(node.stripe)) { () throws(Errno) in
      let reach = try resolver.reach(node)
      let facts = try facts(of: node, by: reach)
      try gate.require(caller, .readAttributes, on: facts.item)
      let seen = SeenItem(facts.brief, in: store(of: node.layer)) { attribute throws(Errno) in
        try reach.attribute(attribute)
      }
      let last = node.lastName.withLock { $0 }
      var parent: DirectoryParts?
      if case .named = reach, let above = last.parent { parent = try resolver.parts(above) }
      return NamedItem(
        name: last.name, seen: seen, item: facts.item, isRoot: node.id == root.id,
        isAtRoot: last.parent?.id == root.id, parent: parent,
        inside: node.isDirectory ? try resolver.parts(node) : nil)
    }
  }

  private func inside(_ found: NamedItem, _ rules: ViewRules) -> InsideDirectory? {
    found.inside.map { InsideDirectory(self, found.name, $0, found.item, rules) }
  }

  /// What the name is for an item that stands alone.
  private func displayName(of found: NamedItem, in rules: ViewRules) -> [UInt8] {
    var finding = DirectoryFinding.nothing
    if let inside = inside(found, rules),
      rules.mayTranslate(found.name, hasBundleBit: found.seen.hasBundleBit)
    {
      var allowance = ReadingAllowance()
      finding = inside.finding(hasBundleBit: found.seen.hasBundleBit, &allowance)
    }
    var names = DirectoryNames()
    guard names.add(found.name.span, found.seen.facts(finding), isShown: true, rules.names) else {
      return found.name
    }
    names.settle(rules.names)
    return names.shownName(at: 0).map { Array($0) } ?? found.name
  }

  private func reasonsToHide(_ found: NamedItem) -> HiddenReasons {
    var isListed = false
    if let parent = found.parent, let status = try? parent.top.descriptor.descriptor.status() {
      isListed = hiddenList(in: parent, status)?.contains(found.name) ?? false
    }
    return found.seen.reasonsToHide(found.name.span, isListed: isListed, isAtRoot: found.isAtRoot)
  }

  /// What is in a directory counts for callers who could find it there themselves; the name of a standard directory tells
  /// everybody of the marker.
  private func traits(of found: NamedItem, _ rules: ViewRules, for caller: Caller) -> ItemTraits {
    var traits = ItemTraits(found.seen.kind)
    traits.isRoot = found.isRoot
    traits.isExecutable = found.seen.isExecutable
    traits.finder = found.seen.finder
    guard let inside = inside(found, rules) else { return traits }
    traits.isStandardDirectory = inside.hasMarker
    func maySearch(_ item: Item) -> Bool { gate.allows(caller, .search, on: item) }
    if maySearch(found.item) {
      traits.hasInformation = inside.hasInformation(maySearch)
      traits.hasIconFile = inside.hasIconFile
    }
    return traits
  }
}
