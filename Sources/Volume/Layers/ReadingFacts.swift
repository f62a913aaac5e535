// Reading what is true of an object, fresh or, where that is allowed, remembered.

import Decisions
import FlagRules
import LayerRules
import LinuxFiles
import RecordFormat
import Synchronization

/// An object with a descriptor of it, and what was true of it through that descriptor.
struct HeldObject {
  let descriptor: SharedDescriptor
  let facts: Facts
  /// What is kept of it in memory, as it has no name and the store does not.
  var nameless: NamelessFile?
}

extension Volume {
  /// What a decision about one object is made of, where a record may be stored with it.
  func scene(_ facts: Facts) -> Scene {
    Scene(facts.item, carriesRecord: store.canCarryRecord(facts.status.kind))
  }

  /// The records of a layer.
  func store(of layer: UInt8) -> MetadataStore {
    layer == 0 ? store : resolver.stack?.layer(layer)?.store ?? store
  }

  /// The facts about a node, read now.
  ///
  /// The caller holds the node's lock, so the name it was seen under does not change meanwhile.
  func facts(of node: Node) throws(Errno) -> Facts {
    try facts(of: node, by: try resolver.reach(node))
  }

  func facts(of node: Node, by reach: Reach) throws(Errno) -> Facts {
    // A closure, not the method itself, which would be allocated.
    var facts = try store(of: node.layer).facts(try resolver.status(of: node, by: reach), knownBy: node) {
      attribute throws(Errno) in
      try reach.attribute(attribute)
    } head: { () throws(Errno) in
      try reach.head()
    }
    if node.layer > 0 { try tellAsOfLower(&facts, node) }
    return facts
  }

  /// The flag `opaque` of a directory in a lower speaks of the layers below that: shown, it would be set in the upper by
  /// a program that adds another, and hide what is in the lower.
  private func tellAsOfLower(_ facts: inout Facts, _ node: Node) throws(Errno) {
    facts.item.flags.remove(.opaque)
    facts.record.flags.remove(.opaque)
    try countNames(of: node, facts.status, facts.record, in: &facts.layerFacts)
  }

  /// The count of names of what is in a lower: some may be removed, and nothing there says so.
  private func countNames(
    of node: Node, _ status: FileStatus, _ record: CoreRecord, in layerFacts: inout LayerFacts
  ) throws(Errno) {
    if node.isNameless {
      layerFacts.links = 0
      return
    }
    // What has one name, and is not led away from by an entry, has that many.
    guard !node.isDirectory, status.linkCount > 1 || node.indexed != nil, let stack = resolver.stack,
      stack.mayHaveEntries(above: node.layer)
    else { return }
    let trace = try stack.trace(status, in: node.layer, isIndexed: node.indexed != nil) { record }
    if let trace { layerFacts.links = trace.state.shown }
  }

  /// The facts about an object that is held, whose status is known.
  ///
  /// `layer`: of an object that has no node.
  func facts(
    _ status: FileStatus, of object: SharedDescriptor, knownBy node: Node?, in layer: UInt8 = 0
  ) throws(Errno) -> Facts {
    var facts = try store(of: node?.layer ?? layer).facts(status, knownBy: node) {
      attribute throws(Errno) in
      try object.descriptor.attribute(attribute)
    } head: { () throws(Errno) in
      try Reach.held(object).head()
    }
    if let node, node.layer > 0 { try tellAsOfLower(&facts, node) }
    return facts
  }

  /// The facts about what is held, whose node nobody has asked for yet.
  func facts(of found: FoundObject, in layer: UInt8) throws(Errno) -> Facts {
    try facts(found.status, of: found.descriptor, knownBy: rememberingNode(of: found.status), in: layer)
  }

  /// The facts about what was found under a name.
  func facts(of found: FoundName, _ name: borrowing FileName) throws(Errno) -> Facts {
    guard let links = found.links else { return try facts(found.status, of: name, in: found.directory) }
    var facts: Facts
    if let object = links.object {
      let held = FoundObject(descriptor: object.object, status: object.status)
      facts = try self.facts(of: held, in: object.layer)
    } else {
      facts = try self.facts(found.status, of: name, in: found.directory)
    }
    facts.layerFacts.links = links.state.shown
    return facts
  }

  /// The same, to show it.
  func briefFacts(of found: FoundName, _ name: borrowing FileName) throws(Errno) -> BriefFacts {
    guard let links = found.links else {
      return try briefFacts(found.status, of: name, in: found.directory)
    }
    guard links.object == nil else { return try facts(of: found, name).brief }
    var facts = try briefFacts(found.status, of: name, in: found.directory)
    facts.layerFacts.links = links.state.shown
    return facts
  }

  /// The facts about what stands under a name, whose node nobody has asked for yet.
  func facts(
    _ status: FileStatus, of name: borrowing FileName, in directory: LayerDirectory
  ) throws(Errno) -> Facts {
    try store(of: directory.layer).facts(status, knownBy: rememberingNode(of: status)) {
      attribute throws(Errno) in
      try directory.attribute(attribute, of: name)
    } head: { () throws(Errno) in
      try directory.head(of: name)
    }
  }

  /// The same, to show it.
  func briefFacts(
    _ status: FileStatus, of name: borrowing FileName, in directory: LayerDirectory
  ) throws(Errno) -> BriefFacts {
    try store(of: directory.layer).briefFacts(status, knownBy: rememberingNode(of: status)) {
      attribute throws(Errno) in
      try directory.attribute(attribute, of: name)
    } head: { () throws(Errno) in
      try directory.head(of: name)
    }
  }

  /// What it takes to show a node, read now; under its lock.
  func briefFacts(at node: Node, by reach: Reach) throws(Errno) -> BriefFacts {
    var facts = try store(of: node.layer).briefFacts(
      try resolver.status(of: node, by: reach), knownBy: node
    ) { attribute throws(Errno) in
      try reach.attribute(attribute)
    } head: { () throws(Errno) in
      try reach.head()
    }
    if node.layer > 0 { try countNames(of: node, facts.status, facts.stored.core, in: &facts.layerFacts) }
    return facts
  }

  /// The node that may remember the record of what was found.
  func rememberingNode(of status: FileStatus) -> Node? {
    store.remembersFacts || resolver.stack != nil ? nodes.node(of: ObjectIdentity(status)) : nil
  }

  /// The node of what was found under a name; one more reference is the kernel's.
  ///
  /// `entry`: what the name leads to by way of an index.
  func refer(
    to found: BriefFacts, _ name: borrowing FileName, in parent: Node, by entry: IndexEntry? = nil
  ) -> Node {
    let number = found.layerFacts.number
    guesses.note(name, in: parent.id, number.stripe)
    let (node, isNew) = nodes.refer(
      to: found.slot, number: number, name: name, in: parent,
      indexedAs: entry.map { IndexedName($0.name, in: $0.layer) })
    if isNew {
      let store = store(of: found.layerFacts.layer)
      if store.remembersFacts { store.remember(found, of: node) }
    }
    return node
  }

  /// Holds on to the object and reads what is true of it, so that what is decided about it and what is done to it
  /// next cannot be two different objects.
  ///
  /// ESTALE when something else stands under its name, also where a process has it open: its name means the new object.
  func hold(_ node: Node) throws(Errno) -> HeldObject {
    guard let open = anyHandle(of: node) else { return try holdAnew(node) }
    // One object, however it was reached: what the name says of it is true of the handle's.
    let status = try resolver.status(of: node, by: try resolver.reach(node))
    return HeldObject(
      descriptor: open, facts: try facts(status, of: open, knownBy: node),
      nameless: status.linkCount == 0 ? node.nameless : nil)
  }

  /// The same by a descriptor of its own, not one that was opened in order to read or write.
  func holdAnew(_ node: Node) throws(Errno) -> HeldObject {
    let (descriptor, status) = try resolver.hold(node)
    learnRecord(of: node, status)
    return HeldObject(
      descriptor: descriptor, facts: try facts(status, of: descriptor, knownBy: node),
      nameless: status.linkCount == 0 ? node.nameless : nil)
  }

  /// Leads to a file that a process has open.
  func anyHandle(of node: Node) -> SharedDescriptor? {
    node.existingAttachment?.anyHandle
  }

  /// Reads and remembers the record of an object that is held, by its name, if that can be as good.
  ///
  /// Through a descriptor that only leads there (`O_PATH`) each attribute takes twice as long. The name is good enough
  /// if it leads to the object afterwards, and the change time has not moved: losing a name moves it as well.
  private func learnRecord(of node: Node, _ status: FileStatus) {
    guard store.remembersFacts, store.memory.believes, status.isSettled,
      store.memory.recall(node, status) == nil
    else { return }
    do throws(Errno) {
      let reach = try resolver.reach(node)
      guard case .named = reach else { return }
      let store = store(of: node.layer)
      let seen = try store.facts(status, knownBy: nil) { attribute throws(Errno) in
        try reach.attribute(attribute)
      } head: { () throws(Errno) in
        try reach.head()
      }
      let after = try reach.status()
      guard after.change == status.change, ObjectIdentity(after) == node.backing else { return }
      store.remember(seen.brief, of: node)
    } catch {
      // What it is, the descriptor will tell.
    }
  }

  /// The facts that decide about searching a directory or adding to it; remembered for a while.
  ///
  /// Every change through the volume forgets them under the node's exclusive lock. A change behind the mount
  /// is seen when they have grown old: after a second, or never where the volume changes through us alone.
  func directoryFacts(_ node: Node) throws(Errno) -> Facts {
    let attachment = node.attachment
    let now = Clock.monotonicNanoseconds
    if let remembered = attachment.state.withLock({ $0.directory.facts }), isFresh(remembered, at: now) {
      return remembered.facts
    }
    let facts = try facts(of: node)
    if options.cache != .none {
      attachment.state.withLock { $0.directory.facts = RememberedFacts(facts: facts, readAt: now) }
    }
    return facts
  }

  private func isFresh(_ remembered: RememberedFacts, at now: UInt64) -> Bool {
    now &- remembered.readAt < options.cache.lifetime
  }

  /// Called under the node's exclusive lock, after something that decides about it has changed.
  func forgetFacts(of node: Node) {
    node.existingAttachment?.state.withLock { $0.directory.facts = nil }
    node.known.withLock { $0 = nil }
  }
}
