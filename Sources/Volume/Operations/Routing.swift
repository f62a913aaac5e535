// Which route an open takes: straight to the backing file wherever nothing is lost by it.

import Decisions
import FlagRules
import LinuxFiles
import Synchronization

extension Volume {
  /// Finds the route of an open and counts the opener; EBUSY when there is none.
  ///
  /// `isKnown`: of an encrypted file, whether nobody but this volume has changed it.
  func route(
    to content: borrowing Content, by descriptor: SharedDescriptor, of attachment: Attachment, _ facts: Facts,
    _ mode: OpenMode, isKnown: Bool? = nil
  ) throws(Errno) -> Route {
    let (wish, mayShare) = content.wish(of: mode, isAppendOnly: facts.item.flags.isAppendOnly)
    let mayHandOver = mayHandOver(from: facts.layerFacts.layer)
    // Pages that others have read are not for who came without a key.
    let mayCopy = !mode.contains(.withoutBytes)
    let change = facts.status.change

    let (offer, keepsPages, unused) = attachment.state.withLock { state in
      let isUnchanged = isKnown ?? (state.file.seenAtOpen == change)
      // Pages may be kept as long as every later change would show another time.
      state.file.seenAtOpen = facts.status.isSettled ? change : nil
      let unused = wish.wantsBacking ? nil : state.file.routes.endRest()
      let offer = state.file.routes.enter(
        wish, mayShareBacking: mayShare, mayHandOver: mayHandOver, keepsPages: isUnchanged, mayCopy: mayCopy)
      return (offer, isUnchanged, unused)
    }
    takeBack(unused)
    switch offer {
    case .granted(let route): return route
    case .conflict: throw .busy
    case .needsBacking: break
    }
    // A call to the kernel, so not under the lock; another opener may be faster or may have gone another way meanwhile.
    // A handle that joins later writes with the ids of the owner, too.
    actAsOwner(FileOwner(facts.status))
    let id = link?.openBacking(descriptor.descriptor)
    let way = descriptor.descriptor.isPath && handsOverByPath ? descriptor : nil
    let second: OpenRoutes.Offer = attachment.state.withLock { state in
      if let id, state.file.routes.establish(id, by: way) { return .granted(wish.through(id)) }
      return state.file.routes.enter(
        wish, mayShareBacking: mayShare, mayHandOver: false, keepsPages: keepsPages,
        mayCopy: mayCopy)
    }
    if let id, second != .granted(wish.through(id)) { link?.closeBacking(id) }
    guard case .granted(let route) = second else { throw .busy }
    return route
  }

  /// Whether the kernel may have files of a layer.
  ///
  /// Of a lower only while nothing is brought up: then it could not be given another file. And only by way of a mount
  /// that keeps access times, as the kernel reads by it.
  func mayHandOver(from layer: UInt8) -> Bool {
    layer == 0
      || !replacements.mayWrite() && lowers.indices.contains(Int(layer) - 1)
        && lowers[Int(layer) - 1].isSealed
  }

  /// The volume becomes writable: files of lowers that nobody has open are taken back from the kernel.
  func takeBackLowers() {
    guard resolver.stack != nil else { return }
    for identifier in nodes.identifiers {
      if let node = nodes.node(identifier), node.layer != 0 { endRest(of: node) }
    }
  }

  /// EBUSY while a process has a file of a lower by way of the kernel, from when the volume was read-only.
  func requireNotHandedOver(_ node: Node) throws(Errno) {
    endRest(of: node)
    let isHandedOver = node.existingAttachment?.state.withLock { $0.file.routes.isHandedOver } ?? false
    if isHandedOver { throw .busy }
  }

  /// Refuses O_DIRECT where the backing file cannot be read and written without buffers, as that file would.
  ///
  /// The kernel passes the wish on when it opens the backing file, and would answer EIO.
  func requireUnbuffered(_ descriptor: SharedDescriptor, _ mode: OpenMode) throws(Errno) {
    guard mode.contains(.unbuffered) else { return }
    _ = try Errno.delayedByLease { () throws(Errno) in
      try descriptor.descriptor.reopen([.readOnly, .unbuffered, .nonBlocking])
    }
  }
}
