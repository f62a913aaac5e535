// What would be refused only by the calls that bring something up, or by those that come after it: asked before the first of
// them, so that a refusal leaves no copy.
//
// For operations that need several items in the upper, or directories above one. What only the calls themselves can tell, such
// as a full disk, still ends an operation half-way; the view is the same then.

import Decisions
import LayerRules
import LinuxFiles
import RecordFormat
import Synchronization

extension Volume {
  // MARK: Bringing up

  /// A node of a lower, and the directories it is in that are not in the upper yet.
  func missing(for node: Node) -> [Node] {
    var missing: [Node] = []
    var current = node
    while current.layer != 0, missing.count < Resolver.deepest {
      missing.append(current)
      guard let parent = current.lastName.withLock({ $0.parent }) else { break }
      current = resolver.current(parent)
    }
    return missing
  }

  /// Refuses what keeps one of several from being brought up, before the first is.
  func requireRaisable(_ nodes: [Node]) throws(Errno) {
    var missing: [Node] = []
    for node in nodes.flatMap({ self.missing(for: $0) }) where !missing.contains(where: { $0 === node }) {
      missing.append(node)
    }
    // One alone is refused before it has a name.
    guard missing.count > 1 else { return }
    for node in missing {
      do throws(Errno) { try requireRaisable(node) } catch {
        // It was brought up, moved or removed meanwhile: the operation finds that when it begins anew.
        guard error == .belowUpper || error == .stale else { throw error }
      }
    }
  }

  private func requireRaisable(_ node: Node) throws(Errno) {
    let (source, status) = try resolver.hold(node)
    guard node.layer != 0 else { return }
    let facts = try facts(status, of: source, knownBy: node)
    try requireCopyable(node, facts)
    if !node.isNameless { _ = try linkTrace(of: HeldObject(descriptor: source, facts: facts), in: node) }
    try requireNotHandedOver(node)
    try requireUnusedContent(node)
    if let parent = node.lastName.withLock({ $0.parent }).map({ resolver.current($0) }), parent.layer == 0 {
      try self.facts(of: parent).requireUnfrozen()
    }
    try ObjectCopy.requireMakeable(node.kind, isPrivileged: isPrivileged)
    if !isPrivileged, node.kind == .regular { _ = try LayerDirectory.openForALook(source) }
  }

  /// Refuses what is not copied as it is.
  func requireCopyable(_ node: Node, _ facts: Facts) throws(Errno) {
    // Nobody knows what it says, so nobody can say it again.
    guard facts.stored.soundness == .sound else { throw .inputOutput }
    // Bytes that are being replaced are mended in their own layer, and those of a hollow file are elsewhere.
    switch facts.item.content {
    case .replacing: throw .inputOutput
    case .foreign: throw .unsupported
    case .plain, .protected, .protecting, .compressed: break
    }
    try requireWhole(node, facts)
  }

  // MARK: Names

  /// EPERM for what chattr(1) protects in the upper.
  func requireUnfrozen(_ move: Move, _ style: RenameStyle) throws(Errno) {
    try move.source.requireUnfrozen(removedFrom: move.above)
    try move.source.requireUnfrozen(addedTo: move.below, isCopy: hasOrigin(move.source))
    guard let target = move.target else { return }
    try target.requireUnfrozen(removedFrom: move.below)
    if style == .exchange {
      try target.requireUnfrozen(addedTo: move.above, isCopy: hasOrigin(target))
    }
  }

  /// EMLINK, before a directory is brought up for a further name.
  func requireRoomForLink(_ object: HeldObject) throws(Errno) {
    // No file system ends at fewer.
    guard object.facts.status.linkCount >= 1_000 else { return }
    try inWorkshop { (workshop, name) throws(Errno) in
      try workshop.link(object.descriptor, as: name)
      try workshop.remove(name, isDirectory: false)
    }
  }

  /// EXDEV, before a directory of a lower is brought up to be moved, where its path finds no room beside its other
  /// attributes; EIO where a mark says that nobody knows what is in it.
  func requireMovable(
    _ name: borrowing FileName, in parent: Node, _ facts: Facts?, _ found: FoundName?
  ) throws(Errno) {
    guard let facts, let found, facts.item.isDirectory, facts.layerFacts.layer != 0,
      let stack = resolver.stack
    else { return }
    guard try stack.parts(of: name.copy(), in: try resolver.parts(parent).all) != nil else {
      throw .inputOutput
    }
    guard let path = try resolver.lowerPath(of: parent)?.appending(name.copy().span) else {
      throw .crossDevice
    }
    guard path.bytes.count > Redirect.alwaysFits else { return }
    let source = HeldObject(descriptor: try found.hold(name), facts: facts)
    try inWorkshop { (workshop, trial) throws(Errno) in
      try workshop.makeDirectory(trial, mode: 0o700)
      defer { try? workshop.remove(trial, isDirectory: true) }
      let copy = try workshop.hold(trial)
      try ObjectCopy.attributes(of: source.descriptor, to: copy.descriptor, except: store.coreName)
      let record = try record(
        ofCopyOf: source, in: facts.layerFacts.layer, nil, as: try copy.descriptor.status())
      if !record.isVoid { try store.write(record, list: .keep, over: .none, to: copy.descriptor) }
      try planRunner(trial, in: workshop).setRedirect(to: path, at: .name)
    }
  }

  private func inWorkshop(
    _ body: (LayerDirectory, borrowing FileName) throws(Errno) -> Void
  ) throws(Errno) {
    guard let workshop = directory.workshop.map({ LayerDirectory($0) }) else { throw .readOnly }
    returnToRoot()
    try FileName.with(Workshop.nextName()) { name throws(Errno) in try body(workshop, name) }
  }
}
