// How operations come to the content of files, and what is done when nobody uses that of an encrypted one any more.

import Ciphers
import Decisions
import LinuxFiles
import RecordFormat
import Synchronization

extension Volume {
  /// The content of an encrypted file, one for all who use it; nil for a file that is stored otherwise.
  func sealedObject(of node: Node, _ facts: Facts) -> SealedObject? {
    guard case .protected(let protection, _) = facts.item.content, node.kind == .regular else { return nil }
    let content = node.attachment.encrypted {
      sealed.owing(node.backing)
        ?? SealedObject(
          SealedContext(
            sealed, inode: facts.status.inode, protection, isMarked: facts.head?.isMarked ?? true,
            isOfLower: node.layer > 0), after: sealed.former(node.id))
    }
    guard let object = content as? SealedObject else { return nil }
    sealed.register(object, as: node.id)
    return object
  }

  /// The content of an encrypted file, if it was asked for since the kernel knows the file.
  private func sealedObject(of node: Node) -> SealedObject? {
    node.existingAttachment?.encrypted as? SealedObject
  }

  /// One more opener of a file, by a descriptor that leads to it or is open, with the route that the kernel takes.
  func openFile(
    of node: Node, by descriptor: SharedDescriptor, _ facts: Facts, _ mode: OpenMode, for caller: Caller
  ) throws(Errno) -> OpenFile {
    guard let object = sealedObject(of: node, facts) else {
      let content: Content =
        if facts.item.content == .compressed {
          .compressed(try compressedFile(of: node, facts, by: descriptor))
        } else {
          .plain(PlainContent(descriptor, backingFlags(mode, facts.item), of: node.attachment))
        }
      let route = try route(to: content, by: descriptor, of: node.attachment, facts, mode)
      return OpenFile(node: node, content, mode: mode, route: route)
    }
    try handles.requireKeyRoom(for: caller.user, of: SecureHeap.fileKeys)
    return try object.arriving { () throws(Errno) in
      let isKnown = object.join(descriptor, changed: facts.status.change)
      let content = Content.sealed(object)
      do throws(Errno) {
        var route = try route(
          to: content, by: descriptor, of: node.attachment, facts, mode, isKnown: isKnown)
        // Where nobody writes, the kernel may drop them by itself, whoever else has the file open.
        if route == .cached(keepsPages: false), !live.forbidsChanges {
          link?.dropPages(node.id)
          route = .cached(keepsPages: true)
        }
        return OpenFile(node: node, content, mode: mode, route: route)
      } catch {
        giveUp(content, of: node)
        throw error
      }
    }
  }

  /// The flags of the backing descriptor.
  ///
  /// Never O_APPEND: write-back of a shared mapping would append its pages at the end of the file.
  func backingFlags(_ mode: OpenMode, _ item: Item) -> OpenFlags {
    // Of an encrypted file whole blocks are written, whatever the program writes.
    if case .protected = item.content { return mode.contains(.write) ? .readWrite : .readOnly }
    var flags: OpenFlags =
      mode.contains(.write) ? (mode.contains(.read) ? .readWrite : .writeOnly) : .readOnly
    if mode.contains(.synchronous) { flags.insert(.synchronous) }
    if mode.contains(.dataSynchronous) { flags.insert(.dataSynchronous) }
    // The kernel has asked whether the caller owns the file. Without privilege the daemon may not own it.
    if mode.contains(.noAccessTime), isPrivileged { flags.insert(.noAccessTime) }
    return flags
  }

  /// A handle comes to nothing: nothing was done to its content, so there is nothing to write.
  func giveUp(_ content: borrowing Content, of node: Node) {
    guard let object = content.sealed, object.leave() else { return }
    object.ending { object.rest() }
    sealed.noteIdle(node.id, object)
  }

  /// A handle is closed; called without a lock.
  func leave(_ content: borrowing Content, of node: Node) {
    if let object = content.sealed { leave(object, of: node) }
  }

  /// Whether another mount may cut a file whose bytes are not stored as they are.
  ///
  /// The kernel asks for pages up to the size that it remembers: it is not to remember that one.
  func mayBeCutElsewhere(_ node: Node, _ found: BriefFacts) -> Bool {
    guard node.kind == .regular, node.layer == 0, replacements.mayBeAtWorkElsewhere else { return false }
    return found.stored.core.isEncrypted || found.stored.core.isCompressed || found.head != nil
  }

  /// Leads to the backing file, where all who have a file open share one way.
  func sharedWay(to node: Node) -> SharedDescriptor? { sealedObject(of: node)?.way }

  /// Whether the key of a file is not to be had.
  func isLocked(_ node: Node, _ facts: Facts) -> Bool {
    sealedObject(of: node, facts).map { keyring.state(of: $0.context.format) != .open } ?? false
  }

  /// Leads to a file that is to be cut without a handle; may be delayed.
  ///
  /// `isOpen`: what is given is open for writing.
  func wayToChange(
    _ node: Node, _ object: SharedDescriptor, _ facts: Facts, isOpen: Bool
  ) throws(Errno) -> SharedDescriptor {
    isOpen || sealedObject(of: node, facts) != nil ? object : try PlainContent.openForWriting(object)
  }

  /// What the first bytes of a file say, now that its size or its record is another.
  func head(
    of node: Node, _ status: FileStatus, _ stored: StoredRecord, after before: Facts
  ) -> KnownHead? {
    // What became plain has none, whatever is still in memory.
    if before.record.isEncrypted, !stored.core.isEncrypted { return nil }
    // What was cut to nothing has no head, and if nobody has it open nobody knows of one.
    return node.existingAttachment?.encrypted?.head ?? (status.size == 0 ? nil : before.head)
  }

  // MARK: Letting go

  /// The kernel has forgotten a file, or one that nobody uses is stored in another form now, or elsewhere; that under its
  /// exclusive lock.
  func unregisterContent(of node: Node) {
    guard sealed.mayKnow(node, hasContent: node.existingAttachment?.encrypted != nil) else { return }
    node.existingAttachment?.forgetEncrypted()
    sealed.unregister(node.id, node.backing)
  }

  /// An encrypted file in use reads and writes one file, which cannot be exchanged.
  func requireUnusedContent(_ node: Node) throws(Errno) {
    if sealedObject(of: node)?.hasUsers ?? false { throw .busy }
  }

  /// Lets go of content that nobody uses; EBUSY where a last close is on its way that has yet to write what the file itself
  /// does not say.
  func forgetUnusedContent(of node: Node) throws(Errno) {
    guard let content = sealedObject(of: node) else { return }
    guard !content.hasUsers, content.forgetUnused() else { throw .busy }
  }

  // MARK: Requests without a handle

  /// Comes to the content of an encrypted file without a handle.
  func join(_ object: SealedObject, of node: Node, by way: SharedDescriptor, _ facts: Facts) {
    object.arriving {
      if !object.join(way, changed: facts.status.change), !live.forbidsChanges { link?.dropPages(node.id) }
    }
  }

  /// Lends the content of an encrypted file to a request that comes without a handle.
  func usingSealed<R>(
    _ object: SealedObject, of node: Node, by way: SharedDescriptor, _ facts: Facts,
    _ work: (SealedObject) throws(Errno) -> R
  ) throws(Errno) -> R {
    join(object, of: node, by: way, facts)
    defer { if object.leave() { finish(object, of: node) } }
    return try work(object)
  }

  /// Lends the content of a file that is not compressed to such a request.
  ///
  /// `way`: open for writing, unless the file is encrypted.
  func usingContent(
    of node: Node, by way: SharedDescriptor, _ facts: Facts,
    _ work: (borrowing Content) throws(Errno) -> Void
  ) throws(Errno) {
    guard let object = sealedObject(of: node, facts) else {
      return try work(.plain(PlainContent(way, .writeOnly, of: node.attachment)))
    }
    try usingSealed(object, of: node, by: way, facts) { (object) throws(Errno) in try work(.sealed(object)) }
  }

  /// An encrypted file whose record says that it is: where only its bytes did, as in a copy made without attributes,
  /// that is written down now.
  ///
  /// Before the bytes go, or their form changes; under the node's exclusive lock.
  func marked(_ object: HeldObject, _ node: Node) throws(Errno) -> HeldObject {
    guard let head = object.facts.head, !head.isMarked, let content = sealedObject(of: node, object.facts)
    else { return object }
    forgetFacts(of: node)
    var record = object.facts.record
    record.protection = content.context.protection
    record.isEncrypted = true
    let stored = try rewrite(record, list: .keep, over: object.facts.stored, to: object)
    content.context.isMarked = true
    let now = KnownHead(protection: head.protection, size: content.head?.size ?? head.size, isMarked: true)
    return HeldObject(
      descriptor: object.descriptor, facts: Facts(try object.status(), StoredFacts(stored, now)),
      nameless: object.nameless)
  }

  /// A handle or request stops using the content; called without a lock.
  func leave(_ object: SealedObject, of node: Node) {
    guard object.leave() else { return }
    defer { letGoOfIdle() }
    defer { if object.isChanged, keyring.sessions.isOld() { endSessionAside() } }
    // Another user may have come and left meanwhile, whose writes are finished here as well.
    if !object.owesFinish, object.ending({ settle(object, of: node) }) { return }
    do throws(Errno) {
      let isTouched = try locks.holding(.exclusive(node.stripe)) { () throws(Errno) in
        finish(object, of: node)
      }
      // The kernel forgets the attributes it caches, for the change time is new; outside the lock, which write-back may
      // wait for.
      if isTouched { link?.expireAttributes(node.id) }
    } catch {
      failed(error)
    }
  }

  /// Writes what is owed when the last user is gone; under the node's exclusive lock, so that the times that come of it
  /// can be given back; whether the backing file was touched.
  @discardableResult
  private func finish(_ object: SealedObject, of node: Node) -> Bool {
    object.ending {
      guard !object.hasUsers else { return false }
      let isTouched = complete(object, of: node)
      // What it owes now could not be written.
      if !settle(object, of: node) { object.abandon() }
      return isTouched
    }
  }

  /// Writes what is owed, and gives back what that takes away, under the node's exclusive lock and within `ending`;
  /// whether there was something.
  @discardableResult
  func complete(_ object: SealedObject, of node: Node) -> Bool {
    guard let way = object.way, object.owesFinish else { return false }
    // A daemon that has lost the lock for writing leaves this to the next mount.
    guard !live.forbidsChanges else {
      failed(.readOnly)
      return false
    }
    actAsOwner(node.attachment.marks.owner)
    do throws(Errno) {
      let before = try backingState(of: node, way.descriptor)
      guard try object.finish() else { return false }
      try before.giveBack(to: way.descriptor)
      return true
    } catch {
      failed(error)
      return true
    }
  }

  /// Forgets the key of a file that may be in use, and gives back what its last commit takes away; under the node's
  /// exclusive lock and within `ending`.
  ///
  /// That commit frees pages, so there can be more to write than ``complete(_:of:)`` found.
  func lockDown(_ object: SealedObject, of node: Node, mayBeLate: Bool) {
    guard object.isChanged, let way = object.way, !live.forbidsChanges else {
      return _ = object.lockDown(mayBeLate: mayBeLate)
    }
    actAsOwner(node.attachment.marks.owner)
    let before: BackingState
    do throws(Errno) { before = try backingState(of: node, way.descriptor) } catch {
      failed(error)
      return _ = object.lockDown(mayBeLate: mayBeLate)
    }
    _ = object.lockDown(mayBeLate: mayBeLate) {
      do throws(Errno) { try before.giveBack(to: way.descriptor) } catch { failed(error) }
    }
  }

  private func failed(_ error: Errno) {
    sealed.noteUnfinished()
    Log.error("what was written to an encrypted file could not be completed: \(error)")
  }

  /// Lets go of what nobody uses, within `ending`; false if its class is locked and it must not be forgotten, because of
  /// what it owes.
  private func settle(_ object: SealedObject, of node: Node) -> Bool {
    defer { sealed.dropSettled() }
    object.noteSeen()
    object.rest()
    sealed.rest(object, as: node.id)
    guard keyring.state(of: object.context.format) != .open else { return true }
    // It was open when its class was locked; now its key goes, too, and what the kernel keeps of it.
    guard object.forgetUnused() else { return false }
    keyring.contexts.drain()
    dropPagesAside(of: node.id)
    return true
  }
}

extension Volume {
  func backingState(of node: Node, _ file: borrowing Descriptor) throws(Errno) -> BackingState {
    try BackingState(
      of: file, mayHavePrivilege: node.attachment.marks.mayHavePrivilege.load(ordering: .acquiring),
      storesCapabilities: features.storesCapabilities)
  }
}
