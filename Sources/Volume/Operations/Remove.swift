// unlink and rmdir.

import Decisions
import LayerRules
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
    let parent = try directory(of: name, in: parentID, for: caller)
    try raising(for: caller, { [parent] }) { () throws(Errno) in
      do throws(Errno) {
        try remove(name, from: parent, directory: isDirectory, for: caller)
      } catch {
        guard error == .noSuchFile || error == .exists, resolver.stack != nil else { throw error }
        // Behind the mount a layer lost the name that was decided about, or the upper got it. The kernel asks once more.
        throw try resolver.find(name, in: parent) == nil ? .noSuchFile : .stale
      }
    }
  }

  private func remove(
    _ name: borrowing FileName, from parent: Node, directory isDirectory: Bool, for caller: Caller
  ) throws(Errno) {
    // Before any lock is taken, as the way there may have to be walked.
    _ = try resolver.directory(parent)
    // The lock of what will be removed is known only by looking. So one is guessed, and what is found under it says
    // whether that was right.
    var expected = guesses.stripe(of: name, in: parent.id)
    while true {
      let locks = LockRequests(.exclusive(parent.stripe), expected.map { .exclusive($0) })
      let stripe = try self.locks.holding(locks) { () throws(Errno) -> Int? in
        guard let found = try resolver.find(name, in: parent) else { throw .noSuchFile }
        let stripe = try number(of: found, name).stripe
        guard locks.includesExclusive(stripe) else { return stripe }
        let facts = try facts(of: found, name)
        let above = try self.facts(of: parent)
        try gate.require(caller, .remove(directory: isDirectory), on: facts.item, in: above.item)
        if try !isAlone(found, facts, name, in: parent) {
          try facts.requireUnfrozen(removedFrom: above)
          try removeInLayers(name, from: parent, facts, found)
        } else {
          try loseName(found, name, in: parent) { () throws(Errno) in
            try removeAlone(name, from: parent, facts, found, isDirectory: isDirectory)
          }
        }
        nameChanged(name, in: parent)
        return nil
      }
      guard let stripe else { return }
      expected = stripe
    }
  }

  /// The number of what was found, which its lock goes by.
  func number(of found: FoundName, _ name: borrowing FileName) throws(Errno) -> ItemNumber {
    guard resolver.stack != nil else { return ItemNumber(found.status) }
    if let links = found.links { return links.origin.number }
    return try facts(found.status, of: name, in: found.directory).number
  }

  /// Whether a name concerns the upper alone: there is one layer, or only the upper has its directory.
  func isAlone(
    _ found: FoundName, _ facts: Facts, _ name: borrowing FileName, in parent: Node
  ) throws(Errno) -> Bool {
    guard let stack = resolver.stack else { return true }
    guard found.directory.layer == 0, links(facts, found) == .single, try isPure(parent) else { return false }
    guard facts.item.isDirectory else { return true }
    if let node = nodes.node(of: ObjectIdentity(found.status)), resolver.isKnownPure(node) { return true }
    // Nothing else leads from here to a lower.
    return try !stack.hasRedirect(name, in: found.directory)
  }

  /// Whether only the upper has a directory, so that no other layer can have what is in it.
  func isPure(_ directory: Node) throws(Errno) -> Bool {
    try resolver.parts(directory).isPure
  }

  /// Where the upper alone is concerned: whiteouts that are left of others keep no directory from being empty.
  private func removeAlone(
    _ name: borrowing FileName, from parent: Node, _ facts: Facts, _ found: FoundName, isDirectory: Bool
  ) throws(Errno) {
    do throws(Errno) {
      return try found.directory.remove(name, isDirectory: isDirectory)
    } catch {
      guard isDirectory, error == .notEmpty else { throw error }
    }
    let names = try nameFacts(name, in: parent, facts, losesDirectory: true, found: found)
    let steps = try steps(RemovingPlan.directory(names, in: ParentFacts(isUp: true, isImpure: true)))
    try planRunner(name, in: found.directory).run(steps) { (_) throws(Errno) in }
  }

  private func removeInLayers(
    _ name: borrowing FileName, from parent: Node, _ facts: Facts, _ found: FoundName
  ) throws(Errno) {
    let upper = try upperPart(of: parent)
    let place = ParentFacts(isUp: upper != nil, isImpure: true)
    let names = try nameFacts(name, in: parent, facts, losesDirectory: true, found: found)
    let steps = try steps(
      facts.item.isDirectory
        ? RemovingPlan.directory(names, in: place) : RemovingPlan.file(names, in: place))
    guard let upper else { throw .belowUpper }
    let runner = try planRunner(name, in: upper)
    try loseName(found, name, in: parent) { () throws(Errno) in
      try runner.run(steps) { step throws(Errno) in
        guard case .settleCount(_, let change) = step else { throw .inputOutput }
        settleCount(of: found, facts, by: change)
      }
    }
  }

  /// A name of an object is gone: counts those that are left.
  func settleCount(of lost: FoundName, _ facts: Facts, by change: Int32) {
    if let links = lost.links {
      settleCount(of: links, by: change)
    } else {
      settleCount(of: facts)
    }
  }

  /// Takes a name away from an object in a way that keeps it reachable for processes that still use it.
  ///
  /// A file that was last seen under another of its names is reached by that one.
  func loseName(
    _ found: FoundName, _ name: borrowing FileName, in parent: Node, by removal: () throws(Errno) -> Void
  ) throws(Errno) {
    let status = found.status
    guard let node = nodes.node(of: ObjectIdentity(status)) else { return try removal() }
    guard status.kind == .directory || status.linkCount <= 1 || node.wasLastSeen(as: name, in: parent) else {
      try removal()
      return noteNames(of: node, after: found)
    }
    let way = try wayWithoutName(to: node, name, found)
    let memory = memory(ofFileLosing: name, found, node)
    try removal()
    endRest(of: node)
    forgetFacts(of: node)
    node.lostName()
    if let memory { node.nameless = memory }
    if let way { unlinked.keep(node.attachment, by: way) }
    noteNames(of: node, after: found)
  }

  /// What is in a lower keeps its count of names there; only its node knows that none is left.
  private func noteNames(of node: Node, after lost: FoundName) {
    guard node.layer > 0 else { return }
    if node.isDirectory { return node.lostAllNames() }
    guard let links = lost.links else {
      if lost.status.linkCount <= 1 { node.lostAllNames() }
      return
    }
    // Counted down to nothing, there is no entry any more.
    let isLast = links.state.settled(by: -1)?.isUnused ?? false
    if isLast { node.lostAllNames() }
  }

  /// A descriptor for a node that is about to lose a name: an open handle, or one opened for this.
  private func wayWithoutName(
    to node: Node, _ name: borrowing FileName, _ found: FoundName
  ) throws(Errno) -> SharedDescriptor? {
    let open = node.existingAttachment?.state.withLock { state in
      state.pin.way ?? state.file.handles.first?.object ?? state.file.routes.way ?? state.directory.descriptor
    }
    if let open { return open }
    do throws(Errno) {
      return try found.hold(name)
    } catch .tooManyOpenFiles {
      // A process that still uses the object without having it open gets ESTALE; the removal itself continues.
      return nil
    }
  }
}
