// Content that is being replaced, or was half replaced when a disk failed or a daemon was killed. Who asks for it waits for the
// one that replaces it; what nobody goes on with is settled by the first who asks, where the volume is written to.

import Decisions
import LinuxFiles
import RecordFormat

extension Volume {
  /// Runs what asks for the content of a file; once that is settled, where it is half replaced.
  ///
  /// EIO where nobody may settle it: on a volume that is not written to, and in a lower. The next mount for writing of the
  /// directory that the file is in does it.
  func settling<R: ~Copyable>(
    _ node: Node, for caller: Caller, _ operation: () throws(Errno) -> R
  ) throws(Errno) -> R {
    do throws(Errno) {
      return try operation()
    } catch {
      guard error == .unsupported, node.kind == .regular else { throw error }
    }
    var isSettled = try settleContent(of: node, for: caller)
    if !isSettled { isSettled = try isSettledElsewhere(node) }
    guard isSettled else {
      Log.damage(
        "inode \(node.number.value): its content was being replaced; a mount for writing of its upper directory finishes that"
      )
      throw .inputOutput
    }
    return try operation()
  }

  /// Whether another mount was replacing the content of a file, and has done so; delayed while it is at work.
  private func isSettledElsewhere(_ node: Node) throws(Errno) -> Bool {
    guard node.layer == 0, replacements.mayBeAtWorkElsewhere else { return false }
    // It has a lease, unless somebody had a compressed file open before, or the kernel has taken that after a while.
    let object = try locks.holding(.shared(node.stripe)) { () throws(Errno) in try holdAnew(node).descriptor }
    _ = try LayerDirectory.openForALook(object)
    guard !replacements.isAtWorkElsewhere(on: object) else { throw .delayed(.leased) }
    return try !isHalfReplaced(node)
  }

  /// Waits for whoever replaces the content of a file, or settles what nobody goes on with; false where it stays half
  /// replaced.
  private func settleContent(of node: Node, for caller: Caller) throws(Errno) -> Bool {
    var isWhole = true
    try copyUps.alone(node.id, for: caller) { () throws(Errno) in isWhole = try settleAlone(node) }
    return isWhole
  }

  /// The same for who has the content of the file to itself.
  func settleAlone(_ node: Node) throws(Errno) -> Bool {
    var readers: [CompressedFile] = []
    let half = try locks.holding(.exclusive(node.stripe)) { () throws(Errno) -> HalfReplaced? in
      let object = try holdAnew(node)
      guard node.layer == 0, object.facts.record.isReplacing, replacements.mayWrite() else { return nil }
      let half = try replacements.halfReplaced(object.descriptor)
      // Some may be at the frames: where it failed between the record and the first byte, nobody was sent away.
      readers = self.readers(of: node)
      for reader in readers { reader.leaveFrames(for: half.work) }
      return half
    }
    guard let half else { return try !isHalfReplaced(node) }
    try replacements.copyOver(half)
    try locks.holding(.exclusive(node.stripe)) { () throws(Errno) in
      try settle(node, by: half.trailer, readers) { (whenSettled) throws(Errno) in
        try replacements.settle(half, whenSettled: whenSettled)
      }
    }
    return true
  }

  /// The last steps of a replacement, and what they mean for who knows the file; under its lock, exclusive.
  ///
  /// The same where one that was interrupted is finished, but for the audit log: who finishes it has not asked for it.
  /// `readers`: who reads the work file.
  func settle(
    _ node: Node, by trailer: ReplacementTrailer, _ readers: [CompressedFile] = [],
    _ settle: (_ whenSettled: () -> Void) throws(Errno) -> Void
  ) throws(Errno) {
    defer { forgetFacts(of: node) }
    try settle {
      noteReplaced(node, by: trailer)
      for reader in readers { reader.becomePlain() }
    }
    unregisterContent(of: node)
    if isInUse(node) {
      // Who reads frames has pages that stay right; but its blocks are others, and its flag is gone.
      link?.expireAttributes(node.id)
    } else {
      // The kernel may have pages of it, from when it was last open; before anybody can open it (`SealedObject.arriving`).
      link?.dropPages(node.id)
    }
  }

  private func isHalfReplaced(_ node: Node) throws(Errno) -> Bool {
    try locks.holding(.shared(node.stripe)) { () throws(Errno) in try facts(of: node).record.isReplacing }
  }

  /// Leaves the operation to begin anew once content that was half replaced is settled; under its lock, after everything is
  /// decided.
  ///
  /// Replacing it gives back the mode, the capability and the time of modification that the file had, and would take away
  /// those that it is given now.
  func requireSettled(_ facts: Facts) throws(Errno) {
    guard facts.status.kind == .regular, facts.record.isReplacing else { return }
    throw .stillCompressed
  }

  /// The same for what only looks: inside `settling`.
  func requireWholeContent(_ facts: Facts) throws(Errno) {
    guard facts.status.kind == .regular, facts.record.isReplacing else { return }
    throw .unsupported
  }
}
