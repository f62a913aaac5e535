// A further name for a file.

import Decisions
package import LinuxFiles

extension Volume {
  package func link(
    _ nodeID: NodeID, as name: borrowing FileName, in parentID: NodeID, for caller: Caller
  ) throws(Errno) -> Entry {
    let node = try node(nodeID)
    let parent = try self.directory(ofNames: parentID, for: caller)
    try requireUnreserved(name, in: parent)
    let directory = try resolver.directory(parent)
    let locks = LockRequests(.shared(parent.stripe), .exclusive(node.stripe))
    return try self.locks.holding(locks) { () throws(Errno) in
      let object = try holdAnew(node)
      let above = try self.facts(of: parent)
      try gate.require(
        caller, .link(protectsLinks: KernelRules.protectsLinks), Scene(object.facts.item, to: above.item))
      try directory.link(object.descriptor, as: name)
      // Under the object's lock its record is what it was.
      let facts = Facts(
        try object.descriptor.descriptor.status(), StoredFacts(object.facts.stored, object.facts.head))
      return entry(refer(to: facts.brief, name, in: parent), facts.brief, in: above, for: caller)
    }
  }
}
