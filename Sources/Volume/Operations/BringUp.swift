// Bringing up what is about to be changed: a copy in the upper takes its place, and nobody sees a difference.
//
// Decided first: an operation that is refused has brought nothing up. No lock is held while bytes are copied.
//
// For the first change of anything in a lower: shared blocks where the file system can, else data and holes as they were. What
// it costs is in docs/performance.md, "Layers".

import Decisions
import DirectoryModes
import FlagRules
import LayerRules
import LinuxFiles
import RecordFormat
import Synchronization

extension Volume {
  /// Runs an operation; where it finds that what it changes lies in a lower, that is brought up, and it begins anew.
  ///
  /// So it does after a compressed file that it changes was expanded.
  ///
  /// `nodes`: what has to be in the upper for it. `names` sees to the names that have to be there as well. `cut`: of an
  /// operation that cuts the one file it changes.
  func raising<R: ~Copyable>(
    for caller: Caller, _ nodes: () throws(Errno) -> [Node], names: () throws(Errno) -> Void = {},
    cut: CutOnTheWay? = nil,
    _ operation: () throws(Errno) -> R
  ) throws(Errno) -> R {
    // A program that changes layers behind the mount could keep it from ever ending.
    for _ in 0..<64 {
      do throws(Errno) {
        return try operation()
      } catch {
        if error == .stillCompressed {
          for node in try nodes() { try expand(node, for: caller) }
          continue
        }
        guard error == .belowUpper else { throw error }
      }
      let nodes = try nodes()
      try Errno.delayedByUse { () throws(Errno) in
        try requireRaisable(nodes)
        for node in nodes {
          do throws(Errno) { try bringUp(node, for: caller, cut) } catch {
            // What it is in was removed or moved meanwhile: the operation will say what that means.
            guard error == .belowUpper else { throw error }
          }
        }
      }
      do throws(Errno) { try names() } catch {
        guard error == .belowUpper else { throw error }
      }
    }
    throw .stale
  }

  /// Runs a change of an object under its exclusive lock; once what it changes is in the upper.
  func changing<R: ~Copyable>(
    _ node: Node, for caller: Caller, cut: CutOnTheWay? = nil, _ change: () throws(Errno) -> R
  ) throws(Errno) -> R {
    try raising(for: caller, { [node] }, cut: cut) { () throws(Errno) in
      try locks.holding(.exclusive(node.stripe)) { () throws(Errno) in
        // By its number in a view, perhaps: then the kernel does not know that the one in the tree is meant, too.
        defer { if node.isDirectory, views.count > 0 { link?.expireAttributes(node.id) } }
        return try change()
      }
    }
  }

  /// Leaves the operation to begin anew unless the object is in the upper; under its lock, after everything is decided.
  func requireUp(_ node: Node) throws(Errno) {
    guard node.layer != 0 else { return }
    throw .belowUpper
  }

  /// Brings up a node, after the directories it is in.
  private func bringUp(_ node: Node, for caller: Caller, _ cut: CutOnTheWay?) throws(Errno) {
    for one in missing(for: node).reversed() {
      try copyUps.alone(one.id, for: caller) { () throws(Errno) in
        try copyUp(one, for: caller, one === node ? cut : nil)
      }
    }
    returnToRoot()
  }

  private func copyUp(_ node: Node, for caller: Caller, _ cut: CutOnTheWay?) throws(Errno) {
    // What was brought up, renamed or removed in the meantime, the operation finds when it begins anew.
    for attempt in 0..<3 where node.layer != 0 {
      let last = node.lastName.withLock { $0 }
      guard let parent = last.parent.map({ resolver.current($0) }) else {
        if try copyUpNameless(node, for: caller, isLast: attempt == 2) { return }
        continue
      }
      guard let copy = try ObjectRaise(of: node, in: self, below: parent, for: caller, cut) else { return }
      let isThere = try locks.holding(LockRequests(.exclusive(parent.stripe), .exclusive(node.stripe))) {
        () throws(Errno) in
        try publish(copy, of: node, as: last.name, in: parent, isLast: attempt == 2, cut)
      }
      if isThere { return }
    }
  }

  /// Gives the copy the name and the place of its source, if that is what it was when it was copied.
  private func publish(
    _ copy: ObjectRaise, of node: Node, as name: [UInt8], in parent: Node, isLast: Bool,
    _ cut: CutOnTheWay?
  ) throws(Errno) -> Bool {
    try FileName.with(name) { name throws(Errno) in
      defer { copy.discard(in: self) }
      // It need not be the name that it was seen under last: while others are looked up, that is another each time.
      guard node.layer != 0, let found = try resolver.find(name, in: parent),
        let upper = try upperPart(of: parent),
        BackingSlot(ObjectIdentity(found.status), in: found.layer) == node.slot
      else { return true }
      // Then the operation is decided about anew.
      guard replacements.mayWrite() else { return true }
      try forgetUnusedContent(of: node)
      unregisterContent(of: node)
      try requireNotHandedOver(node)
      // What has the name is the object that is held since it was copied.
      let source = HeldObject(descriptor: copy.source, facts: try facts(of: found, name))
      guard try isWhole(copy, of: source.facts.status, isLast) else { return false }
      if copy.isCut { try cut?.require(source.facts) }
      let before = try facts(of: parent)
      try before.requireUnfrozen()
      let links = try linkTrace(of: source, in: node)
      let target = try copy.made(in: self)
      let identity = try describe(target, as: source, of: node, links)
      if copy.isCut {
        // As the kernel does of a file that it cuts.
        try dropCapability(of: target.descriptor, nil)
        try target.descriptor.changeTimes(access: .omit, modification: .now)
      }
      let plan = CopyUp(copy.kind, names: names(links), parentIsImpure: before.record.isImpure)
      var runner = try planRunner(name, in: upper)
      runner.work = copy.work
      runner.object = target
      let entry = try links.map { links throws(Errno) in try enter(links, &runner) }
      do throws(Errno) {
        try publish(plan, runner, in: parent, upper, as: before, links) {
          // From the entry on it is the copy that all names lead to, also if this one finds no room.
          copy.isPublished = true
          settle(node, on: target, identity, copy, indexedAs: entry)
          return target
        }
      } catch {
        // Cut by then: that is done, and takes no name in the upper.
        guard copy.isPublished, copy.isCut else { throw error }
      }
      if !copy.isPublished {
        copy.isPublished = true
        settle(node, on: target, identity, copy)
      }
      if copy.isCut { cut?.isDone = true }
      if node.isDirectory, !isPrivileged, let made = try? target.descriptor.status() {
        target.giveBack(mode: mode(of: source.facts, as: made))
      }
      return true
    }
  }

  /// Carries out a plan that ends in a name in the upper; its directory is afterwards what it was `before`.
  ///
  /// `links`: of an object of several names. `entered`: the object, once the index has it.
  func publish(
    _ plan: CopyUp, _ runner: PlanRunner, in parent: Node, _ upper: LayerDirectory, as before: Facts,
    _ links: LinkTrace?, entered: () -> SharedDescriptor
  ) throws(Errno) {
    defer { forgetFacts(of: parent) }
    let closed = try open(upper, before.status.mode)
    defer { if closed { upper.descriptor.giveBack(mode: before.status.mode) } }
    try runner.run(plan.steps) { step throws(Errno) in
      switch step {
      case .markImpure: try markImpure(parent, upper)
      case .linkFromIndex(let position):
        let object = entered()
        try runner.at(position) { (directory, name) throws(Errno) in try directory.link(object, as: name) }
      case .restoreParentTimes:
        // The name is there by now; without root another user's directory keeps the time of the change.
        try? upper.descriptor.descriptor.changeTimes(
          access: .omit, modification: .set(before.status.modification))
      case .settleCount(_, let change): if let links { settleCount(of: links, by: change) }
      // Done already, with less or no lock.
      default: return
      }
    }
  }

  private func names(_ links: LinkTrace?) -> CopyUp.Names {
    links.map { .firstOfSeveral(entryCounts: $0.upper != nil) } ?? .one
  }

  /// What lost its last name, or that by which it was seen, is copied for those who still have it.
  private func copyUpNameless(_ node: Node, for caller: Caller, isLast: Bool) throws(Errno) -> Bool {
    guard let copy = try ObjectRaise(of: node, in: self, below: nil, for: caller) else { return true }
    return try locks.holding(.exclusive(node.stripe)) { () throws(Errno) in
      defer { copy.discard(in: self) }
      guard node.layer != 0, node.lastName.withLock({ $0.parent == nil }), replacements.mayWrite() else {
        return true
      }
      try requireNotHandedOver(node)
      let source = try hold(node)
      guard try isWhole(copy, of: source.facts.status, isLast) else { return false }
      let links = node.isNameless ? nil : try linkTrace(of: source, in: node)
      let target = try copy.made(in: self)
      let identity = try describe(target, as: source, of: node, links)
      guard let links, let workshop = directory.workshop.map({ LayerDirectory($0) }) else {
        settle(node, on: target, identity, copy)
        unlinked.keep(node.attachment, by: target)
        return true
      }
      // Its other names, wherever they are, lead to the copy from now on.
      try FileName.with(copy.work) { name throws(Errno) in
        var runner = try planRunner(name, in: workshop)
        runner.work = copy.work
        runner.object = target
        let entry = try enter(links, &runner)
        let plan = CopyUp(copy.kind, names: .entryAlone(entryCounts: links.upper != nil))
        try runner.run(plan.steps) { (_) throws(Errno) in }
        copy.isPublished = true
        settle(node, on: target, identity, copy, indexedAs: entry)
      }
      unlinked.keep(node.attachment, by: way(to: target))
      return true
    }
  }

  /// Whether a copy is of what its source is now; if not the last attempt finds that either, the lower is being changed.
  private func isWhole(_ copy: ObjectRaise, of status: FileStatus, _ isLast: Bool) throws(Errno) -> Bool {
    if copy.isOf(status) { return true }
    guard isLast else { return false }
    Log.error("a layer changed while inode \(status.inode) of it was brought up")
    throw .inputOutput
  }

  /// From here on the node is the copy, for open handles as well.
  private func settle(
    _ node: Node, on target: SharedDescriptor, _ identity: ObjectIdentity, _ copy: ObjectRaise,
    indexedAs entry: IndexedName? = nil
  ) {
    forgetFacts(of: node)
    // First, so that nobody finds the parts of before and keeps them once more.
    nodes.move(node, to: BackingSlot(identity), indexedAs: entry)
    if let attachment = node.existingAttachment {
      if node.isDirectory { resolver.directories.drop(attachment) }
      for handle in attachment.state.withLock({ $0.file.handles }) { handle.follow(target) }
      let pinned = attachment.state.withLock({ $0.pin.way == nil }) ? nil : way(to: target)
      attachment.state.withLock {
        if $0.pin.way != nil { $0.pin.way = pinned ?? target }
        $0.file.lowerWay = nil
      }
    }
    copyUps.count(bytes: copy.kind == .directory ? 0 : copy.size)
    // Its change time is another, and its blocks.
    link?.expireAttributes(node.id)
  }

  /// Leads to a copy without having it open: who keeps it longer would be in the way of a lease.
  private func way(to copy: SharedDescriptor) -> SharedDescriptor {
    guard !copy.descriptor.isPath else { return copy }
    // Without one it is held as it is.
    return (try? SharedDescriptor(copy.descriptor.reopen(.path))) ?? copy
  }

  /// Gives a copy everything but its bytes and its name; which object it is.
  private func describe(
    _ target: SharedDescriptor, as source: HeldObject, of node: Node, _ links: LinkTrace?
  ) throws(Errno) -> ObjectIdentity {
    let facts = source.facts
    let status = facts.status
    try requireCopyable(node, facts)
    let made = try target.descriptor.status()
    let changesOwner = isPrivileged && (made.user != status.user || made.group != status.group)
    if changesOwner { try target.descriptor.changeOwner(user: status.user, group: status.group) }
    try ObjectCopy.attributes(of: source.descriptor, to: target.descriptor, except: store.coreName)
    let record = try record(ofCopyOf: source, in: node.layer, links, as: made)
    if !record.isVoid, store.canCarryRecord(status.kind) {
      try store.write(record, list: .keep, over: .none, to: target.descriptor)
    }
    if status.kind != .symbolicLink {
      // Without privilege a directory can be moved only by those who may write to it.
      let way: UInt16 = node.isDirectory && !isPrivileged ? 0o700 : 0
      let wanted = mode(of: facts, as: made) | way
      if changesOwner || made.mode != wanted { try target.descriptor.changeMode(wanted) }
    }
    try target.descriptor.changeTimes(access: .set(status.access), modification: .set(status.modification))
    return ObjectIdentity(made)
  }

  /// What the record of a copy says, where there can be one.
  func record(
    ofCopyOf source: HeldObject, in layer: UInt8, _ links: LinkTrace?, as copy: FileStatus
  ) throws(Errno) -> CoreRecord {
    var record = source.facts.record
    record.flags.remove(.opaque)
    record.isImpure = false
    record.compressionPolicy = 0
    record.birthTime = record.birthTime ?? source.facts.status.birthTime
    record.origin = indexName(of: source, in: layer, links).map { CoreRecord.Origin($0, of: copy) }
    record.links = nil
    if let links {
      guard let count = links.state.firstCopy else { throw .tooManyLinks }
      record.links = count
    }
    return record
  }

  /// Set-id bits stay where the copy belongs to whom its source belongs: another's would make another's program of it.
  private func mode(of facts: Facts, as made: FileStatus) -> UInt16 {
    let (mode, status) = (facts.status.mode, facts.status)
    let isSame = status.user == made.user && status.group == made.group
    return isPrivileged || isSame
      ? mode : Mode(mode).withoutSetID(onDirectory: status.kind == .directory).bits
  }

  /// Lets the daemon add names to a directory whose mode keeps its own owner out; whether that was needed.
  ///
  /// To let a user change what is in it does not take the right to add to it. A crash leaves the owner a bit more.
  private func open(_ directory: LayerDirectory, _ mode: UInt16) throws(Errno) -> Bool {
    guard !isPrivileged, mode & 0o300 != 0o300 else { return false }
    try directory.descriptor.descriptor.changeMode(mode | 0o300)
    return true
  }

  /// What the number of a copy goes by, as the upper calls it; nil where its file system has no tag, or the object lies on
  /// another.
  private func indexName(
    of source: HeldObject, in layer: UInt8, _ links: LinkTrace?
  ) -> IndexName? {
    if let entry = links?.upper { return entry.name }
    let numbers = store(of: layer).numbers
    return numbers?.origin(of: source.facts.status, source.facts.record).flatMap { origin in
      store.numbers?.entryNames(of: origin).first
    }
  }
}
