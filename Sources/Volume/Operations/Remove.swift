// unlink and rmdir.

import Decisions
package import LinuxFiles
import Synchronization

extension Volume {
  package func remove(
    _ name: borrowing FileName, from parent: NodeID, for caller: Caller
  ) throws(Errno) {
    try remove(name, from: parent, directory: false, for: caller)
  }

  package func removeDirectory(
    _ name: borrowing FileName, from parent: NodeID, for caller: Caller
  ) throws(Errno) {
    try remove(name, from: parent, directory: true, for: caller)
  }

  private func remove(
    _ name: borrowing FileName, from parentID: NodeID, directory isDirectory: Bool, for caller: Caller
  ) throws(Errno) {
    let parent = try directory(ofNames: parentID, for: caller)
    try requireUnreserved(name, in: parent)
    let directory = try resolver.directory(parent)
    // The lock of what will be removed is known only by looking. So one is guessed, and what is found under it says
    // whether that was right.
    var expected = guesses.stripe(of: name, in: parent.id)
    while true {
      let locks = LockRequests(.exclusive(parent.stripe), expected.map { .exclusive($0) })
      let stripe = try self.locks.holding(locks) { () throws(Errno) -> Int? in
        guard let status = try directory.find(name) else { throw .noSuchFile }
        let stripe = ItemNumber(status).stripe
        guard locks.includesExclusive(stripe) else { return stripe }
        let facts = try facts(status, of: name, in: directory)
        let above = try self.facts(of: parent)
        try gate.require(caller, .remove(directory: isDirectory), on: facts.item, in: above.item)
        try loseName(status, name, in: parent, directory) { () throws(Errno) in
          try directory.remove(name, isDirectory: isDirectory)
        }
        return nil
      }
      guard let stripe else { return }
      expected = stripe
    }
  }

  /// Takes a name away from an object in a way that keeps it reachable for whoever still uses it.
  ///
  /// A file that was last seen under another of its names is reached by that one.
  func loseName(
    _ status: FileStatus, _ name: borrowing FileName, in parent: Node, _ directory: LayerDirectory,
    by removal: () throws(Errno) -> Void
  ) throws(Errno) {
    guard let node = nodes.node(of: ObjectIdentity(status)) else { return try removal() }
    guard status.kind == .directory || status.linkCount <= 1 || node.wasLastSeen(as: name, in: parent) else {
      return try removal()
    }
    let way = try wayWithoutName(to: node, name, in: directory)
    try removal()
    endRest(of: node)
    forgetFacts(of: node)
    node.lostName()
    if let way { unlinked.keep(node.attachment, by: way) }
  }

  /// A descriptor for a node that is about to lose a name: an open handle, or one opened for this.
  private func wayWithoutName(
    to node: Node, _ name: borrowing FileName, in directory: LayerDirectory
  ) throws(Errno) -> SharedDescriptor? {
    let open = node.existingAttachment?.state.withLock { state in
      state.pin.way ?? state.file.handles.first?.object ?? state.file.routes.way ?? state.directory.descriptor
    }
    if let open { return open }
    do throws(Errno) {
      return try directory.hold(name)
    } catch .tooManyOpenFiles {
      // Whoever still uses the object without having it open gets ESTALE; the removal itself goes on.
      return nil
    }
  }
}
