// Bringing up what is about to be changed: its like in the upper takes its place, and nobody sees a difference.
//
// Decided first: an operation that is refused has brought nothing up. No lock is held while bytes are copied.

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
  /// `nodes`: what has to be in the upper for it. All bytes of a file are copied, also for an operation that will cut it:
  /// that may still be refused when it begins anew.
  func raising<R: ~Copyable>(
    _ nodes: () throws(Errno) -> [Node], isInterrupted: () -> Bool = { false },
    _ operation: () throws(Errno) -> R
  ) throws(Errno) -> R {
    // Whoever changes layers behind the mount could keep it from ever ending.
    for _ in 0..<64 {
      do throws(Errno) {
        return try operation()
      } catch {
        if error == .stillCompressed {
          for node in try nodes() { try expand(node, isInterrupted) }
          continue
        }
        guard error == .belowUpper else { throw error }
      }
      for node in try nodes() {
        do throws(Errno) { try bringUp(node) } catch {
          // What it is in was removed or moved meanwhile: the operation will say what that means.
          guard error == .belowUpper else { throw error }
        }
      }
    }
    throw .stale
  }

  /// Runs a change of an object under its exclusive lock; once what it changes is in the upper.
  func changing<R: ~Copyable>(
    _ node: Node, isInterrupted: () -> Bool = { false }, _ change: () throws(Errno) -> R
  ) throws(Errno) -> R {
    try raising({ [node] }, isInterrupted: isInterrupted) { () throws(Errno) in
      try locks.holding(.exclusive(node.stripe), change)
    }
  }

  /// Leaves the operation to begin anew unless the object is in the upper; under its lock, after everything is decided.
  func requireUp(_ node: Node) throws(Errno) {
    guard node.layer != 0 else { return }
    throw .belowUpper
  }

  /// Brings up a node, after the directories it is in.
  private func bringUp(_ node: Node) throws(Errno) {
    guard node.layer != 0 else { return }
    var missing: [Node] = []
    var current = node
    while current.layer != 0, missing.count < Resolver.deepest {
      missing.append(current)
      guard let parent = current.lastName.withLock({ $0.parent }) else { break }
      current = resolver.current(parent)
    }
    for node in missing.reversed() {
      try copyUps.alone(node.id) { () throws(Errno) in try copyUp(node) }
    }
    returnToRoot()
  }

  private func copyUp(_ node: Node) throws(Errno) {
    // What was brought up, renamed or removed in the meantime, the operation finds when it begins anew.
    for attempt in 0..<3 where node.layer != 0 {
      let last = node.lastName.withLock { $0 }
      guard let parent = last.parent.map({ resolver.current($0) }) else {
        return try copyUpNameless(node)
      }
      guard let copy = try ObjectRaise(of: node, in: self, below: parent) else { return }
      let isThere = try locks.holding(LockRequests(.exclusive(parent.stripe), .exclusive(node.stripe))) {
        () throws(Errno) in
        try publish(copy, of: node, as: last.name, in: parent, isLast: attempt == 2)
      }
      if isThere { return }
    }
  }

  /// Gives the copy the name and the place of its source, if that is what it was when it was copied.
  private func publish(
    _ copy: ObjectRaise, of node: Node, as name: [UInt8], in parent: Node, isLast: Bool
  ) throws(Errno) -> Bool {
    try FileName.with(name) { name throws(Errno) in
      defer { copy.discard(in: self) }
      guard node.layer != 0, node.isKnown(as: name, in: parent) || node.wasLastSeen(as: name, in: parent),
        let found = try resolver.find(name, in: parent), let upper = try upperPart(of: parent),
        BackingSlot(ObjectIdentity(found.status), in: found.directory.layer) == node.slot
      else { return true }
      // Then the operation is decided about anew.
      guard replacements.mayWrite() else { return true }
      try forgetContent(of: node)
      let source = try hold(node)
      guard copy.isOf(source.facts.status) else {
        guard !isLast else {
          Log.error("a layer changed while inode \(found.status.inode) of it was brought up")
          throw .inputOutput
        }
        return false
      }
      let before = try facts(of: parent)
      let target = try copy.made(in: self)
      try describe(target, as: source, of: node)
      let identity = ObjectIdentity(try target.descriptor.status())
      let steps = CopyUp(copy.kind, parentIsImpure: before.record.isImpure).steps
      var runner = try planRunner(name, in: upper)
      runner.work = copy.work
      runner.object = target
      try runner.run(steps) { step throws(Errno) in
        switch step {
        case .markImpure: try markImpure(parent, upper)
        case .restoreParentTimes:
          // The name is there by now; without root another user's directory keeps the time of the change.
          try? upper.descriptor.descriptor.changeTimes(
            access: .omit, modification: .set(before.status.modification))
        // Done already, with less or no lock.
        default: return
        }
      }
      copy.isPublished = true
      settle(node, on: target, identity, copy)
      forgetFacts(of: parent)
      return true
    }
  }

  /// What lost its last name is copied for those who still have it.
  private func copyUpNameless(_ node: Node) throws(Errno) {
    guard let copy = try ObjectRaise(of: node, in: self, below: nil) else { return }
    try locks.holding(.exclusive(node.stripe)) { () throws(Errno) in
      defer { copy.discard(in: self) }
      guard node.layer != 0, node.lastName.withLock({ $0.parent == nil }), replacements.mayWrite() else {
        return
      }
      let source = try hold(node)
      let target = try copy.made(in: self)
      try describe(target, as: source, of: node)
      settle(node, on: target, ObjectIdentity(try target.descriptor.status()), copy)
      unlinked.keep(node.attachment, by: target)
    }
  }

  /// An encrypted file in use reads and writes one file, which cannot be exchanged.
  private func forgetContent(of node: Node) throws(Errno) {
    guard let content = node.existingAttachment?.encrypted as? SealedObject else { return }
    guard !content.hasUsers, content.forgetUnused() else { throw .busy }
    node.existingAttachment?.forgetEncrypted()
    sealed.unregister(node.id, node.backing)
  }

  /// From here on the node is the copy, for whoever has it open as well.
  private func settle(
    _ node: Node, on target: SharedDescriptor, _ identity: ObjectIdentity, _ copy: ObjectRaise
  ) {
    forgetFacts(of: node)
    // First, so that nobody finds the parts of before and keeps them once more.
    nodes.move(node, to: BackingSlot(identity))
    if let attachment = node.existingAttachment {
      if node.isDirectory { resolver.directories.drop(attachment) }
      for handle in attachment.state.withLock({ $0.file.handles }) { handle.follow(target) }
      attachment.state.withLock { if $0.pin.way != nil { $0.pin.way = target } }
    }
    copyUps.count(bytes: copy.kind == .directory ? 0 : copy.size)
    // Its change time is another, and its blocks.
    link?.expireAttributes(node.id)
  }

  /// Gives a copy everything but its bytes and its name.
  private func describe(_ target: SharedDescriptor, as source: HeldObject, of node: Node) throws(Errno) {
    let facts = source.facts
    let (status, layer) = (facts.status, resolver.stack?.layer(node.layer))
    // Nobody knows what it says, so nobody can say it again.
    guard facts.stored.soundness == .sound else { throw .inputOutput }
    // Bytes that are being replaced are mended in their own layer, and those of a hollow file are elsewhere.
    guard facts.item.content != .foreign else { throw .unsupported }
    try requireWhole(node, facts)
    if isPrivileged { try target.descriptor.changeOwner(user: status.user, group: status.group) }
    let own = Array("\(store.namespace.rawValue).varve.m".utf8)
    try ObjectCopy.attributes(of: source.descriptor, to: target.descriptor, except: own)
    var record = facts.record
    record.flags.remove(.opaque)
    record.isImpure = false
    record.compressionPolicy = 0
    record.origin = nil
    record.links = nil
    let made = try target.descriptor.status()
    if store.canCarryRecord(status.kind) {
      record.birthTime =
        record.birthTime ?? status.birth.map { .init(seconds: $0.seconds, nanoseconds: $0.nanoseconds) }
      record.origin = origin(of: source, in: layer).map { origin in
        CoreRecord.Origin(
          fileSystemTag: origin.tag, inode: origin.inode, generation: origin.generation,
          ownInode: made.inode, ownGeneration: made.generation)
      }
      if !record.isVoid { try store.write(record, list: .keep, over: .none, to: target.descriptor) }
    }
    if status.kind != .symbolicLink {
      try target.descriptor.changeMode(
        isPrivileged ? status.mode : Mode(status.mode).withoutSetID(onDirectory: node.isDirectory).bits)
    }
    try target.descriptor.changeTimes(access: .set(status.access), modification: .set(status.modification))
  }

  /// What the number of a copy goes by; nil where its file system has no name, or the object lies on another.
  private func origin(
    of source: HeldObject, in layer: Layer?
  ) -> (tag: UInt32, inode: UInt64, generation: UInt32)? {
    guard let layer, let tag = layer.tag, let numbers = layer.store.numbers else { return nil }
    let status = source.facts.status
    if let own = numbers.countingOrigin(of: status, source.facts.record) {
      // Under the name that its file system has here, which may be another than in that layer.
      let home = numbers.tags[own.fileSystemTag]
      guard let tag = store.numbers?.tags.first(where: { $0.value == home })?.key else { return nil }
      return (tag, own.inode, own.generation)
    }
    guard status.device == numbers.device else { return nil }
    return (tag, status.inode, status.generation)
  }
}
