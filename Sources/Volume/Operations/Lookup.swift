// From a name to a node, and back to nothing.

import AccessControl
import Decisions
package import LinuxFiles
import Synchronization

extension Volume {
  package func lookup(
    _ name: borrowing FileName, in parentID: NodeID, for caller: Caller, request: UInt64 = 0
  ) throws(Errno) -> LookupAnswer {
    if let answer = try lookupOwn(name, in: parentID, for: caller, request: request) { return answer }
    if let view = views.directory(parentID) {
      return try lookup(name, in: view, for: caller, request: request)
    }
    return try lookup(name, in: try node(parentID), for: caller, request: request)
  }

  /// In the ordinary tree; `forListers`: the caller came by a name that is for those only who may list the directory.
  func lookup(
    _ name: borrowing FileName, in parent: Node, for caller: Caller, request: UInt64,
    forListers: Bool = false
  ) throws(Errno) -> LookupAnswer {
    var item: Int?
    while true {
      let locks = LockRequests(.shared(parent.stripe), item.map { .shared($0) })
      let answer = try self.locks.holding(locks) { () throws(Errno) -> LookupAnswer? in
        let above = try directoryFacts(parent)
        parent.existingAttachment?.state.withLock { $0.directory.listing.lookedUp() }
        try gate.require(caller, .lookUp, on: above.item)
        guard let (seen, held) = try findUnsettled(name, in: parent) else {
          return .missing(nameValidity(in: above))
        }
        let known = try refer(to: seen, name, in: parent, under: locks) { () throws(Errno) in
          guard ItemKind(seen.status.kind) == .special else { return try briefFacts(of: seen, name) }
          let facts = try facts(of: seen, name)
          try gate.require(caller, .find, on: facts.item, in: above.item)
          return facts.brief
        }
        guard let (node, found) = known else {
          item = seen.links?.origin.number.stripe
          return nil
        }
        if let held { resolver.unsettled.keep(held, for: node) }
        var entry = entry(node, found, in: above, for: caller)
        // The kernel would tell others.
        let isSecret = forListers && !above.item.isListableByAnyone
        if isSecret { entry.nameValidity = .none }
        if node.isDirectory {
          guardLateAnswers(&entry, in: above, for: caller, request, isSecret: isSecret)
        }
        if resolver.stack != nil, case .unlimited = entry.nameValidity, let link {
          node.toldForGood.store(link.nameAge, ordering: .relaxed)
        }
        return .found(entry)
      }
      if let answer { return answer }
    }
  }

  /// What stands under a name; with a descriptor of it while names change behind the mount.
  private func findUnsettled(
    _ name: borrowing FileName, in parent: Node
  ) throws(Errno) -> (FoundName, held: SharedDescriptor?)? {
    var seen = try resolver.find(name, in: parent)
    for _ in 0..<16 {
      guard let found = seen, found.layer == 0, resolver.unsettled.areChanging else { break }
      if let held = try? found.hold(name), let status = try? held.descriptor.status(),
        ObjectIdentity(status) == ObjectIdentity(found.status)
      {
        return (found, held)
      }
      seen = try resolver.find(name, in: parent)
    }
    return seen.map { ($0, nil) }
  }

  /// The node of what was found under a name, with one more reference; nil if it takes the lock of the item as well.
  func refer(
    to seen: FoundName, _ name: borrowing FileName, in parent: Node, under locks: LockRequests,
    reading facts: () throws(Errno) -> BriefFacts
  ) throws(Errno) -> (node: Node, facts: BriefFacts)? {
    guard staysWhatItIs(seen, under: locks) else { return nil }
    let facts = try facts()
    let node = refer(to: facts, name, in: parent, by: seen.successor)
    guard staysWhatItIs(seen, under: locks) else {
      forget(node.id, references: 1)
      return nil
    }
    return (node, facts)
  }

  /// Whether nobody can bring up what was found, by another of its names, before it has a node.
  ///
  /// There must not be two nodes for it. Where it has one name, the lock of its directory sees to that; and while the index
  /// is empty, nothing of several names was ever brought up: so this is asked again once there is a node.
  private func staysWhatItIs(_ found: FoundName, under locks: LockRequests) -> Bool {
    guard let links = found.links else { return true }
    return !(resolver.stack?.mayHaveEntries(above: 1) ?? false) || locks.includes(links.origin.number.stripe)
  }

  /// Sees to it that no answer from before a directory was closed can extend the time of its name now.
  ///
  /// Under the lock of the directory above, which is needed exclusively to close that one: an answer with a time is
  /// noted here before it can be outdated.
  ///
  /// `isSecret`: not everybody who may walk there may know the name.
  func guardLateAnswers(
    _ entry: inout Entry, in above: Facts, for caller: Caller, _ request: UInt64, isSecret: Bool = false
  ) {
    if entry.nameValidity != .none {
      if !answersUnderWay.add(entry.node, to: caller.thread, request: request) { entry.nameValidity = .none }
      return
    }
    // While something is mounted inside, no time is told where everybody may walk either: a late answer opens nothing
    // there, and a new epoch would unmount it. Once the directory is closed, this is asked.
    if mountsInside > 0, above.item.isSearchableByAnyone, !isSecret { return }
    if answersUnderWay.mayInclude(entry.node) {
      link?.expireNames()
    }
  }

  /// A thread sends a request by itself and waits for the answer.
  package func threadAsks(_ caller: Caller) {
    answersUnderWay.threadAsks(caller.thread)
  }

  /// The kernel has the answer to a lookup.
  package func lookupDelivered(_ request: UInt64, to caller: Caller) {
    answersUnderWay.delivered(request, to: caller.thread)
  }

  package func forget(_ node: NodeID, references: UInt64) {
    if let directory = views.forget(node, references: references) {
      return forget(directory.node.id, references: 1)
    }
    guard let forgotten = nodes.forget(node, references: references) else { return }
    unregisterContent(of: forgotten)
    guard let attachment = forgotten.existingAttachment else { return }
    if forgotten.isDirectory { resolver.directories.drop(attachment) }
    unlinked.forget(attachment)
    takeBack(attachment.state.withLock { $0.file.endRest() })
  }

  package func readLink(_ nodeID: NodeID) throws(Errno) -> [UInt8] {
    let node = try node(nodeID)
    return try locks.holding(.shared(node.stripe)) { () throws(Errno) in
      let reach = try resolver.reach(node)
      _ = try resolver.status(of: node, by: reach)
      return try reach.target()
    }
  }
}
