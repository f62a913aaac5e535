// By which class a file is encrypted, or what is made in a directory: the door `system.varve.class`.
//
// On a directory only its record changes. A file without bytes gets its mark. Between classes the key of a file is
// wrapped anew; between encrypted and plain all bytes are written anew, into the same inode (`Content/Replacement`).

import Decisions
import LinuxFiles
import RecordFormat
import Synchronization

extension Volume {
  /// The class of a word; nil for the one that says that nothing is encrypted.
  func protection(named word: String) throws(Errno) -> ProtectionClass? {
    if word.isEmpty || word == "none" { return nil }
    guard let protection = ProtectionClass(word: word) else { throw .invalid }
    return protection
  }

  /// EINTR if its caller is interrupted while bytes are written anew beside the file; then it is as it was.
  func changeClass(
    of node: Node, to wanted: ProtectionClass?, for caller: Caller
  ) throws(Errno) {
    var unused: UnusedFile?
    let pending = try settling(node, for: caller) { () throws(Errno) in
      try changing(node, for: caller) { () throws(Errno) in
        try beginChange(of: node, to: wanted, unused: &unused, for: caller)
      }
    }
    guard let pending, let unused else { return }
    try copyUps.alone(node.id, for: caller) { () throws(Errno) in
      try replace(pending, of: node, to: wanted, since: unused, for: caller)
    }
  }

  /// Changes the class, under the node's exclusive lock; or answers what is to be replaced for that.
  private func beginChange(
    of node: Node, to wanted: ProtectionClass?, unused: inout UnusedFile?, for caller: Caller
  ) throws(Errno) -> ReplacedFile? {
    let held = try holdForClass(node, to: wanted, for: caller)
    let item = held.facts.item
    if item.lacksMark || wanted != item.content.protection { try requireUp(node) }
    let object = try marked(held, node)
    guard wanted != object.facts.item.content.protection else { return nil }
    if node.isDirectory {
      try store(class: wanted, of: node, object, for: caller)
    } else if wanted != nil, object.facts.item.content.protection != nil {
      try rewrap(node, object, to: wanted, for: caller)
    } else {
      unused = try Errno.delayedByUse { () throws(Errno) in try requireUnused(node) }
      try requireExpanded(object.facts)
      let file = replaced(node, object, by: wanted)
      // Of an encrypted file without content a killed daemon may have left the header.
      guard try object.descriptor.descriptor.status().size == 0 else { return file }
      try changingPolicy(of: node, object, for: caller) { () throws(Errno) in
        try replacements.changeEmpty(file) { self.isInUse(node) }
        return try replacements.record(of: object.descriptor)
      }
      unregisterContent(of: node)
    }
    return nil
  }

  /// Held by a descriptor that only leads there: one that is open would be in the way of the lease.
  private func holdForClass(
    _ node: Node, to wanted: ProtectionClass?, for caller: Caller
  ) throws(Errno) -> HeldObject {
    let object = try holdAnew(node)
    try gate.require(caller, .setClass(wanted), on: object.facts.item)
    return object
  }

  private func replaced(
    _ node: Node, _ object: HeldObject, by wanted: ProtectionClass?
  ) -> ReplacedFile {
    var final = object.facts.record
    final.protection = wanted
    final.isEncrypted = wanted != nil
    return ReplacedFile(
      object: object.descriptor, path: lastKnownPath(of: node), present: object.facts.stored, final: final)
  }

  private func store(
    class wanted: ProtectionClass?, of node: Node, _ object: HeldObject, for caller: Caller
  ) throws(Errno) {
    var record = object.facts.record
    record.protection = wanted
    try changingPolicy(of: node, object, for: caller) { () throws(Errno) in
      try rewrite(record, list: .keep, over: object.facts.stored, to: object)
    }
  }

  /// Gives an encrypted file, open or not, a key that is wrapped for another class.
  private func rewrap(
    _ node: Node, _ object: HeldObject, to wanted: ProtectionClass?, for caller: Caller
  ) throws(Errno) {
    guard let wanted, let content = sealedObject(of: node, object.facts) else { throw .inputOutput }
    let modified = try object.status().modification
    // A capability may have been set behind the mount since it was last looked for.
    node.attachment.marks.mayHavePrivilege.store(true, ordering: .releasing)
    let before = try backingState(of: node, object.descriptor.descriptor)
    if let obstacle = before.obstacle { throw obstacle }
    func giveBack() throws(Errno) {
      guard object.nameless == nil else {
        return try object.changeTimes(access: .omit, modification: .set(modified))
      }
      try before.giveBack(to: object.descriptor.descriptor)
    }
    // Of a file without a name, or without bytes, a crash leaves nothing to give back to.
    let below = try object.descriptor.descriptor.status()
    let note =
      below.linkCount > 0 && below.size > 0 ? before.note(of: below, at: lastKnownPath(of: node)) : nil
    try replacements.noting(note, of: object.descriptor, restore: giveBack) { () throws(Errno) in
      try usingSealed(content, of: node, by: object.descriptor, object.facts) { (content) throws(Errno) in
        try content.changeClass(to: wanted, restoreTimes: giveBack)
        guard keyring.state(of: content.context.format) != .open else { return }
        // A lock of the new class has passed it by, because it still had the old one.
        _ = content.ending { content.lockDown() }
        dropPagesAside(of: node.id)
      }
    }
    try store(class: wanted, of: node, object, for: caller)
  }

  /// Writes all bytes anew, beside the file and then over it; no lock is held while bytes are copied.
  private func replace(
    _ file: ReplacedFile, of node: Node, to wanted: ProtectionClass?, since unused: UnusedFile,
    for caller: Caller
  ) throws(Errno) {
    let context = SealedContext(
      sealed, inode: try file.object.descriptor.status().inode, wanted ?? .complete, isMarked: true)
    let body: NewBody =
      wanted == nil ? .decrypting(context, sealed.budget) : .encrypting(context, sealed.budget)
    var replacement = try prepare(file, body, for: caller)
    // The last moment: from here on it can only go forward.
    try copyUps.requireWanted(caller)
    let object = try locks.holding(.exclusive(node.stripe)) { () throws(Errno) in
      // What allowed it may have been taken back meanwhile.
      let object = try holdForClass(node, to: wanted, for: caller)
      try requireUnused(node)
      forgetFacts(of: node)
      defer { forgetFacts(of: node) }
      try replacement.begin { unused.isUsed }
      return object
    }
    try replacement.copyOver()
    _ = try locks.holding(.exclusive(node.stripe)) { () throws(Errno) in
      try changingPolicy(of: node, object, for: caller) { () throws(Errno) in
        try settle(node, by: replacement.trailer) { (whenSettled) throws(Errno) in
          try replacement.settle(whenSettled: whenSettled)
        }
        return try replacements.record(of: object.descriptor)
      }
    }
  }

  /// A lock of the volume ends it, and waits for that.
  private func prepare(
    _ file: ReplacedFile, _ body: NewBody, for caller: Caller
  ) throws(Errno) -> Replacement {
    sealed.beginConversion(of: file.path)
    defer { sealed.endConversion(of: file.path) }
    let locks = keyring.epoch
    let isLocked = { self.keyring.isDraining || self.keyring.epoch != locks }
    let watch = ReplacementWatch(isInterrupted: { self.copyUps.isUnwanted(caller) || isLocked() })
    do throws(Errno) {
      return try Replacement.prepare(file, as: body, at: replacements, watch: watch)
    } catch {
      throw error == .interrupted && isLocked() ? .noKey : error
    }
  }
}
