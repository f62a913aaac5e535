// Small worlds: a name in every state it can have, in every kind of directory.

import LayerRules

enum NameState: CaseIterable {
  case absent, upperFile, lowerFile, bothFile, fileOverDirectory
  case whiteout, whiteoutOverDirectory, strayWhiteout
  case pureDirectory, pureEmpty, pureWithWhiteouts, directoryOverFile, emptyOverFile
  case mergedDirectory, mergedEmpty, mergedBare, lowerDirectory, lowerEmpty
  case closedByMark, closedEmpty, closedWithWhiteouts, closedByFlag, closedByFlagEmpty
  case redirected, redirectedEmpty, sibling, lostSibling
  case lowerLinks, copiedLinks, halfCopiedLinks, countedLinks, lastOfLinks

  var hasLinks: Bool {
    switch self {
    case .lowerLinks, .copiedLinks, .halfCopiedLinks, .countedLinks, .lastOfLinks: true
    default: false
    }
  }
}

enum ParentKind: CaseIterable {
  case merged, lowerOnly, pure, moved
  /// Merged, but for the flag `opaque`.
  case flagged
}

/// Where the lower content lies when there are several lowers.
enum Spread: CaseIterable { case top, bottom, all }

struct WorldBuilder {
  var disk: ToyDisk
  let spread: Spread

  init(lowers: Int, _ spread: Spread) {
    disk = ToyDisk(lowers: lowers)
    self.spread = spread
    // Which items are files, and which are links, depends on their numbers.
    disk.lastItem = lowers + contentLayers.count
  }

  private var contentLayers: [Int] {
    let last = disk.layers.count - 1
    switch spread {
    case .top: return [1]
    case .bottom: return [last]
    case .all: return Array(1...last)
    }
  }

  /// A parent in all layers it belongs to.
  struct Parent {
    var upper: Int?
    var lowers: [Int: Int] = [:]
    var other: String
    var isFlagged = false
  }

  mutating func parent(_ name: String, _ kind: ParentKind, other: String) -> Parent {
    var parent = Parent(other: other)
    let item = disk.newItem()
    if kind != .pure {
      for layer in 1..<disk.layers.count {
        let below = kind == .moved ? "old-" + name : name
        let made = directory(below, in: disk.layers[layer].root, item: item)
        parent.lowers[layer] = made
        file("c", in: directory("in-" + name, in: made))
      }
      file("y", in: parent.lowers[contentLayers[0]])
    }
    if kind != .lowerOnly {
      let made = directory(name, in: disk.upper.root, item: item)
      parent.upper = made
      parent.isFlagged = kind == .flagged
      disk.inodes[made].flaggedOpaque = parent.isFlagged
      if kind == .moved { disk.inodes[made].redirect = Array("/old-\(name)".utf8) }
      file("z", in: made)
    }
    if kind == .moved { whiteout("old-" + name, in: disk.upper.root) }
    return parent
  }

  @discardableResult
  private mutating func directory(_ name: String, in parent: Int, item: Int? = nil) -> Int {
    let inode = disk.add(ToyInode(kind: .directory, item: item ?? disk.newItem()))
    try? disk.enter(inode, as: name, in: parent)
    return inode
  }

  @discardableResult
  private mutating func file(_ name: String, in parent: Int?, item: Int? = nil) -> Int {
    let item = item ?? disk.newItem()
    let inode = disk.add(ToyInode(kind: .file, item: item, content: item))
    if let parent { try? disk.enter(inode, as: name, in: parent) }
    return inode
  }

  private mutating func whiteout(_ name: String, in parent: Int) {
    try? disk.enter(disk.add(ToyInode(kind: .whiteout)), as: name, in: parent)
  }

  // MARK: States

  /// Puts a name into a state; false where this parent cannot have it.
  mutating func put(_ name: String, _ state: NameState, in parent: Parent) -> Bool {
    // Names that a flag covers go on counting.
    if parent.isFlagged, state.hasLinks { return false }
    let needsUpper: Bool
    let needsLower: Bool
    switch state {
    case .absent: return true
    case .lowerFile, .lowerDirectory, .lowerEmpty, .lowerLinks: (needsUpper, needsLower) = (false, true)
    case .upperFile, .pureDirectory, .pureEmpty, .pureWithWhiteouts, .strayWhiteout, .redirected,
      .redirectedEmpty,
      .lostSibling, .closedEmpty, .closedWithWhiteouts:
      (needsUpper, needsLower) = (true, false)
    default: (needsUpper, needsLower) = (true, true)
    }
    if needsUpper, parent.upper == nil { return false }
    if needsLower, parent.lowers.isEmpty { return false }
    putLower(name, state, in: parent)
    if let upper = parent.upper { putUpper(name, state, in: upper, parent) }
    return true
  }

  private mutating func putLower(_ name: String, _ state: NameState, in parent: Parent) {
    for layer in contentLayers {
      guard let lower = parent.lowers[layer] else { continue }
      switch state {
      case .lowerFile, .bothFile, .whiteout, .directoryOverFile, .emptyOverFile: file(name, in: lower)
      case .fileOverDirectory, .whiteoutOverDirectory, .mergedDirectory, .mergedEmpty, .lowerDirectory,
        .closedByMark,
        .closedByFlag, .closedByFlagEmpty:
        file("c", in: directory(name, in: lower))
      case .mergedBare, .lowerEmpty: directory(name, in: lower)
      case .sibling: file("c", in: directory("sib-" + name, in: lower))
      case .lowerLinks, .copiedLinks, .halfCopiedLinks, .countedLinks, .lastOfLinks:
        let inode = file(name, in: lower)
        try? disk.enter(inode, as: name + "2", in: lower)
        try? disk.enter(inode, as: name + "3", in: lower)
      case .redirected, .redirectedEmpty:
        let depot =
          disk.child("depot", of: disk.layers[layer].root) ?? directory("depot", in: disk.layers[layer].root)
        file("c", in: directory(name, in: depot))
      default: break
      }
    }
    // Without a lower parent there is still a depot.
    if parent.lowers.isEmpty, state == .redirected || state == .redirectedEmpty {
      for layer in contentLayers {
        let depot =
          disk.child("depot", of: disk.layers[layer].root) ?? directory("depot", in: disk.layers[layer].root)
        file("c", in: directory(name, in: depot))
      }
    }
  }

  private mutating func putUpper(_ name: String, _ state: NameState, in upper: Int, _ parent: Parent) {
    switch state {
    case .upperFile, .bothFile, .fileOverDirectory: file(name, in: upper)
    case .whiteout, .whiteoutOverDirectory, .strayWhiteout: whiteout(name, in: upper)
    case .pureDirectory, .mergedDirectory, .directoryOverFile: file("u", in: directory(name, in: upper))
    case .pureEmpty, .mergedBare, .emptyOverFile: directory(name, in: upper)
    case .pureWithWhiteouts, .mergedEmpty: whiteout("c", in: directory(name, in: upper))
    case .closedByMark, .closedEmpty, .closedWithWhiteouts:
      let made = directory(name, in: upper)
      disk.inodes[made].markedOpaque = true
      if state == .closedByMark { file("u", in: made) }
      if state == .closedWithWhiteouts { whiteout("c", in: made) }
    case .closedByFlag, .closedByFlagEmpty:
      let made = directory(name, in: upper)
      disk.inodes[made].flaggedOpaque = true
      if state == .closedByFlag { file("u", in: made) }
    case .redirected, .redirectedEmpty:
      let made = directory(name, in: upper)
      disk.inodes[made].redirect = Array("/depot/\(name)".utf8)
      if state == .redirected { file("u", in: made) } else { whiteout("c", in: made) }
    case .sibling:
      disk.inodes[directory(name, in: upper)].redirect = Array("sib-\(name)".utf8)
      whiteout("sib-" + name, in: upper)
    case .lostSibling:
      let made = directory(name, in: upper)
      disk.inodes[made].redirect = Array("in-\(parent.other)".utf8)
      file("u", in: made)
    case .copiedLinks, .halfCopiedLinks, .countedLinks, .lastOfLinks: links(name, state, in: upper, parent)
    case .absent, .lowerFile, .lowerDirectory, .lowerEmpty, .lowerLinks: break
    }
  }

  /// What earlier operations have made of a file with three names in a lower.
  private mutating func links(_ name: String, _ state: NameState, in upper: Int, _ parent: Parent) {
    guard let layer = contentLayers.first, let lower = parent.lowers[layer],
      let inode = disk.child(name, of: lower)
    else { return }
    let object = ToyObject(layer: layer, inode: inode)
    let entry = file("", in: nil, item: disk.inodes[inode].item)
    try? disk.enter(entry, as: disk.indexName(of: object), in: disk.upper.index)
    disk.inodes[upper].isImpure = true
    switch state {
    case .countedLinks:
      whiteout(name + "2", in: upper)
      disk.inodes[entry].difference = -1
    case .lastOfLinks:
      // Two names are removed, and the last is in the upper.
      whiteout(name + "2", in: upper)
      whiteout(name + "3", in: upper)
      copyName(name, of: entry, in: upper, difference: -1)
    default:
      copyName(state == .copiedLinks ? name : name + "2", of: entry, in: upper, difference: 1)
    }
  }

  private mutating func copyName(_ name: String, of entry: Int, in upper: Int, difference: Int32) {
    try? disk.enter(entry, as: name, in: upper)
    disk.inodes[entry].difference = difference
    disk.inodes[entry].countsFromUpper = true
    disk.inodes[entry].hasOrigin = true
  }
}
