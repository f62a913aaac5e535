// A further name for a file.

import Decisions
import LayerRules
package import LinuxFiles
import RecordFormat

extension Volume {
  package func link(
    _ nodeID: NodeID, as name: borrowing FileName, in parentID: NodeID, for caller: Caller
  ) throws(Errno) -> Entry {
    let node = try node(nodeID)
    let parent = try directory(of: name, in: parentID, for: caller)
    do throws(Errno) {
      return try raising(for: caller, { [parent, node] }) { () throws(Errno) in
        try link(node, as: name, in: parent, overWhiteout: false, for: caller)
      }
    } catch {
      guard error == .exists, try isWhiteout(name, in: parent) else { throw error }
    }
    return try link(node, as: name, in: parent, overWhiteout: true, for: caller)
  }

  private func link(
    _ node: Node, as name: borrowing FileName, in parent: Node, overWhiteout: Bool, for caller: Caller
  ) throws(Errno) -> Entry {
    let directory = try resolver.directory(parent)
    let isLayered = resolver.stack != nil
    let locks = LockRequests(
      overWhiteout || isLayered ? .exclusive(parent.stripe) : .shared(parent.stripe),
      .exclusive(node.stripe))
    return try self.locks.holding(locks) { () throws(Errno) in
      let object = try holdAnew(node)
      let above = try self.facts(of: parent)
      // Where one call does it, that call says whether the name is taken.
      let taken = overWhiteout || isLayered ? try resolver.find(name, in: parent) : nil
      let victim = try taken.map { found throws(Errno) in try self.facts(of: found, name).item }
      try gate.require(
        caller, .link(protectsLinks: KernelRules.protectsLinks),
        Scene(object.facts.item, to: above.item, over: victim))
      if overWhiteout || isLayered {
        try link(object, as: name, in: parent, above)
      } else {
        try directory.link(object.descriptor, as: name)
      }
      // Under the object's lock its record is what it was.
      let facts = store.facts(
        try object.descriptor.descriptor.status(), StoredFacts(object.facts.stored, object.facts.head),
        of: node)
      return entry(referToNew(facts.brief, name, in: parent), facts.brief, in: above, for: caller)
    }
  }

  /// The same over a whiteout, or where layers are below.
  private func link(
    _ object: HeldObject, as name: borrowing FileName, in parent: Node, _ above: Facts
  ) throws(Errno) {
    let linked = MakingPlan.LinkedObject(
      isUp: object.facts.layerFacts.layer == 0, hasOrigin: hasOrigin(object.facts))
    let directory = try upperPart(of: parent)
    try object.facts.requireUnfrozen(addedTo: above, isCopy: linked.hasOrigin)
    if directory == nil, linked.isUp { try requireRoomForLink(object) }
    let steps = try steps(
      MakingPlan.link(
        linked, to: try nameFacts(name, in: parent, nil),
        in: ParentFacts(isUp: directory != nil, isImpure: above.record.isImpure)))
    guard let directory else { throw .belowUpper }
    var runner = try planRunner(name, in: directory)
    runner.object = object.descriptor
    try runner.run(steps) { step throws(Errno) in
      guard case .markImpure = step else { throw .inputOutput }
      try markImpure(parent, directory)
    }
  }
}
