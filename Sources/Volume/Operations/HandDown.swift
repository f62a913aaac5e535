// Handing a directory's list down to files in it, many at once, for `varve acl propagate`: the verb `handdown` of the
// control socket. Without it `varve acl propagate --undo` took 1.5 times as long (docs/performance.md, "Whole trees").

package import AccessControl
import Decisions
package import LinuxFiles

/// What is done about the files of such a question.
package enum HandingDown: Sendable {
  /// Only told.
  case look
  case change
  /// Changed if they still have these lists, one for each.
  case changeFrom([AccessList?])
}

/// What is handed down to files, and what is done about it.
private struct HandDownRequest {
  let how: HandingDown
  /// Whether entries of a file's own go.
  let isReplacing: Bool
}

/// What has become of one file, or in a look would.
package struct HandedFile: Sendable {
  package let outcome: HandedDown
  /// In a look, the list of a file that would be changed.
  package var former: AccessList?
}

extension Volume {
  /// Renews what the files of these names inherit from the directory they are in.
  ///
  /// Each is decided, locked and changed as if it were alone; only the way here is shared. What is not a plain file, and
  /// what fails, is left to a question of its own, which can say why.
  ///
  /// `isWaiting`: whether whoever asked still does. Without it the rest is left aside: a run that was killed changes
  /// nothing after its end, when it may be undone already.
  package func handDown(
    _ names: [[UInt8]], in directory: NodeID, _ how: HandingDown, replacing isReplacing: Bool = false,
    for peer: SocketPeer, while isWaiting: () -> Bool
  ) throws(Errno) -> [HandedFile] {
    // Before any lock is taken: an account's groups may have to be asked for.
    _ = subject(of: peer)
    let caller = Caller(user: peer.user, group: peer.group, thread: peer.process)
    let parent = try node(directory)
    let held = try resolver.directory(parent)
    // What is in a lower is brought up by a question of its own.
    guard held.layer == 0 else { return names.map { _ in HandedFile(outcome: .aside) } }
    let request = HandDownRequest(how: how, isReplacing: isReplacing)
    var files: [HandedFile] = []
    files.reserveCapacity(names.count)
    for (index, name) in names.enumerated() {
      do throws(Errno) {
        guard isWaiting() else { throw .canceled }
        files.append(try handDown(name, index, in: parent, held, request, for: caller))
      } catch {
        files.append(HandedFile(outcome: .aside))
      }
    }
    return files
  }

  private func number(of found: FoundObject) throws(Errno) -> ItemNumber {
    guard resolver.stack != nil else { return ItemNumber(found.status) }
    return try facts(found.status, of: found.descriptor, knownBy: nodes.node(of: found.identity)).number
  }

  private func handDown(
    _ bytes: [UInt8], _ index: Int, in parent: Node, _ directory: LayerDirectory,
    _ request: HandDownRequest, for caller: Caller
  ) throws(Errno) -> HandedFile {
    try FileName.with(bytes) { name throws(Errno) in
      let found = try directory.findHeld(name)
      let identity = found.identity
      guard identity.kind == .regular else { throw .unsupported }
      let number = try number(of: found)
      let locks = LockRequests(.shared(parent.stripe), .exclusive(number.stripe))
      return try self.locks.holding(locks) { () throws(Errno) in
        let above = try directoryFacts(parent)
        try gate.require(caller, .handDown, on: above.item)
        // It may have gone elsewhere before the locks were taken, and inherits from there.
        guard try directory.find(name).map(ObjectIdentity.init) == identity else { throw .stale }
        let node = nodes.node(of: identity)
        let status = try found.descriptor.descriptor.status()
        let object = HeldObject(
          descriptor: found.descriptor, facts: try facts(status, of: found.descriptor, knownBy: node))
        let place = { self.lastKnownPath(of: parent).path(to: bytes) }
        return try handDown(above.item.list, to: object, node, at: place, index, request, for: caller)
      }
    }
  }

  private func handDown(
    _ list: AccessList?, to object: HeldObject, _ node: Node?, at place: () -> [UInt8], _ index: Int,
    _ request: HandDownRequest, for caller: Caller
  ) throws(Errno) -> HandedFile {
    let item = object.facts.item
    // Who may not look at it learns nothing here either.
    try gate.require(caller, .readList, on: item)
    let outcome: Propagation
    do throws(TooManyEntries) {
      outcome = try AccessList.propagated(
        to: item.list, from: list, forDirectory: false, replacing: request.isReplacing)
    } catch {
      throw .noSpace
    }
    switch outcome {
    case .unchanged: return HandedFile(outcome: .unchanged)
    case .blocked: return HandedFile(outcome: .blocked)
    case .store(let list):
      var after = item
      after.list = list
      // A lookup under way may be about to hand out attributes for everybody. The kernel can be told better only
      // of what it holds already, as it does when it asks about the file itself.
      guard !item.isVisibleToAnyone || after.isVisibleToAnyone else { throw .busy }
      switch request.how {
      case .look:
        try gate.require(caller, .setList(list), scene(object.facts))
        return HandedFile(outcome: .changed, former: item.list)
      case .changeFrom(let former) where former[index] != item.list: throw .busy
      case .change, .changeFrom:
        try replaceList(of: object, node, at: place(), with: list, for: caller)
        return HandedFile(outcome: .changed)
      }
    }
  }
}
