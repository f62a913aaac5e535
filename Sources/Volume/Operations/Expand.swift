// A compressed file that is about to be changed is expanded first, in place. Operations say so (`requireExpanded`), let go of
// their locks, and begin anew when it is done (`raising`). Only a file that is cut to nothing need not be expanded.

import Decisions
import LinuxFiles
import RecordFormat
import Synchronization

extension Volume {
  /// Leaves the operation to begin anew with an expanded file; under its lock, after everything is decided.
  func requireExpanded(_ facts: Facts) throws(Errno) {
    guard facts.item.content == .compressed else { return }
    throw .stillCompressed
  }

  /// Gives a compressed file its plain form; content that was half replaced gets the form that it was to have.
  ///
  /// Who has it open goes on reading it; nobody can have it open to write.
  /// ENOSPC where there is no room for a second copy: it stays compressed. EINTR likewise.
  func expand(_ node: Node, for caller: Caller) throws(Errno) {
    guard node.kind == .regular, node.layer == 0 else { return }
    try copyUps.alone(node.id, for: caller) { () throws(Errno) in
      // Its mode may have changed meanwhile, or its names: then once more.
      for _ in 0..<4 {
        do throws(Errno) { return try expandAlone(node, for: caller) } catch {
          guard error == .busy else { throw error }
          Clock.pause(milliseconds: 10)
        }
      }
      throw .busy
    }
  }

  private func expandAlone(_ node: Node, for caller: Caller) throws(Errno) {
    guard let (file, frames) = try compressedOriginal(node) else {
      _ = try settleAlone(node)
      return
    }
    let body = NewBody.expanding(frames)
    var replacement = try Replacement.prepare(file, as: body, at: replacements, watch: watch(for: caller))
    let followers = try locks.holding(.exclusive(node.stripe)) { () throws(Errno) -> [CompressedFile]? in
      // Then the operation is refused when it begins anew.
      guard replacements.mayWrite() else { return nil }
      forgetFacts(of: node)
      defer { forgetFacts(of: node) }
      try replacement.begin { false }
      let readers = readers(of: node)
      for reader in readers { reader.leaveFrames(for: replacement.workFile) }
      return readers
    }
    guard let followers else { return }
    // If it fails, they have all they need in the work file.
    try replacement.copyOver()
    try locks.holding(.exclusive(node.stripe)) { () throws(Errno) in
      try settle(node, by: replacement.trailer, followers) { (whenSettled) throws(Errno) in
        try replacement.settle(whenSettled: whenSettled)
      }
    }
  }

  /// A compressed file as it is to be replaced; nil if it is not compressed, or not any more.
  private func compressedOriginal(_ node: Node) throws(Errno) -> (ReplacedFile, FrameFile)? {
    try locks.holding(.exclusive(node.stripe)) { () throws(Errno) in
      let object = try holdAnew(node)
      guard object.facts.item.content == .compressed else { return nil }
      let descriptor = object.descriptor
      guard try descriptor.descriptor.status().size > 0 else {
        // It was cut, and something kept its record from saying so.
        _ = try storePlain(object, node)
        return nil
      }
      let source = try Errno.delayedByLease { () throws(Errno) in
        try descriptor.descriptor.reopen([.readOnly, .nonBlocking])
      }
      let frames = try FrameFile(source, logicalSize: object.facts.status.size, compressed)
      var final = object.facts.record
      final.noteCompressed(size: nil)
      let file = ReplacedFile(
        object: descriptor, path: lastKnownPath(of: node), present: object.facts.stored, final: final)
      return (file, frames)
    }
  }

  /// Cuts a compressed file to nothing, and leaves any other as it is.
  ///
  /// Under the node's exclusive lock. The bytes go first: whatever a crash leaves, what has no bytes is empty.
  func emptied(_ object: HeldObject, _ node: Node) throws(Errno) -> HeldObject {
    guard object.facts.item.content == .compressed else { return object }
    let writable = try PlainContent.openForWriting(object.descriptor)
    let readers = readers(of: node)
    for reader in readers { reader.leaveFrames() }
    do throws(Errno) { try writable.descriptor.truncate(to: 0) } catch {
      for reader in readers { reader.returnToFrames() }
      throw error
    }
    for reader in readers { reader.becomePlain() }
    return try storePlain(object, node)
  }

  /// Takes from the record of a file without bytes that it is compressed.
  private func storePlain(_ object: HeldObject, _ node: Node) throws(Errno) -> HeldObject {
    forgetFacts(of: node)
    var record = object.facts.record
    record.noteCompressed(size: nil)
    let stored = try rewrite(record, list: .keep, over: object.facts.stored, to: object)
    return HeldObject(
      descriptor: object.descriptor, facts: store.facts(try object.status(), StoredFacts(stored), of: node),
      nameless: object.nameless)
  }

  /// What is kept in memory of a file without a name says what its bytes are by now.
  func noteReplaced(_ node: Node, by trailer: ReplacementTrailer) {
    guard let nameless = node.nameless else { return }
    let present = nameless.stored(nil).record
    nameless.keep(store.rewritten(present.core.withForm(of: trailer.record), list: .keep, over: present))
  }

  /// The content of a compressed file, one for all who have it open.
  func compressedFile(
    of node: Node, _ facts: Facts, by descriptor: SharedDescriptor
  ) throws(Errno) -> CompressedFile {
    let storedSize = try descriptor.descriptor.status().size
    if let known = readers(of: node).first(where: { $0.isOf(facts.status, storedSize: storedSize) }) {
      return known
    }
    let file =
      descriptor.descriptor.isPath
      ? try Errno.delayedByLease { () throws(Errno) in
        SharedDescriptor(try descriptor.descriptor.reopen([.readOnly, .nonBlocking]))
      } : descriptor
    return try CompressedFile(file, logicalSize: facts.status.size, compressed, at: replacements)
  }

  /// A replacement whose caller may be interrupted.
  func watch(for caller: Caller) -> ReplacementWatch {
    ReplacementWatch(isInterrupted: { self.copyUps.isUnwanted(caller) })
  }

  /// What those read who opened the file while it was compressed.
  func readers(of node: Node) -> [CompressedFile] {
    let handles = node.existingAttachment?.state.withLock { $0.file.handles } ?? []
    return handles.compactMap { ($0 as? OpenFile)?.content.compressed }
  }
}
