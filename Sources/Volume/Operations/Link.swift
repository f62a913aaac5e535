// A further name for a file.

import Decisions
package import LinuxFiles

extension Volume {
  package func link(
    _ nodeID: NodeID, as name: borrowing FileName, in parentID: NodeID, for caller: Caller
  ) throws(Errno) -> Entry {
    let node = try node(nodeID)
    let parent = try self.node(parentID)
    guard !isReserved(name, in: parent) else { throw .notPermitted }
    let directory = try resolver.directory(parent)
    let locks = LockRequests(.shared(parent.stripe), .exclusive(node.stripe))
    return try self.locks.holding(locks) { () throws(Errno) in
      let object = try hold(node)
      let above = try directoryFacts(parent)
      try gate.require(caller) { $0.link(object.facts.item, into: above.item) }
      try directory.descriptor.linkObject(object.descriptor.descriptor, as: name)
      return try show(name, in: parent, above, directory, for: caller)
    }
  }
}
