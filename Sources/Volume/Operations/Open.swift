// Opening and closing files.

import Decisions
import FlagRules
package import LinuxFiles
import RecordFormat
import Synchronization

extension Volume {
  package func open(_ nodeID: NodeID, _ mode: OpenMode, for caller: Caller) throws(Errno) -> OpenAnswer {
    if let answer = try reservedOpen(nodeID, mode) { return answer }
    let node = try node(nodeID)
    guard node.kind == .regular else { throw node.isDirectory ? .isDirectory : .noDevice }
    try handles.requireRoom()
    let truncates = mode.contains(.truncate)
    let lock: LockRequest = truncates ? .exclusive(node.stripe) : .shared(node.stripe)
    return try locks.holding(lock) { () throws(Errno) in
      let reach = try resolver.reach(node)
      let facts = try facts(of: node, by: reach)
      let request = OpenRequest(
        // Running a file asks for `execute` in place of `read`.
        reads: mode.contains(.read) && !mode.contains(.execute), writes: mode.contains(.write),
        appends: mode.contains(.append), truncates: truncates, executes: mode.contains(.execute))
      try gate.require(caller) { $0.open(facts.item, request) }
      // Bytes this version cannot turn back into content must not be shown or overwritten as they are.
      guard facts.record.presence.isDisjoint(with: [.encrypted, .compressed, .replacing]) else {
        throw .unsupported
      }
      let file = try resolver.open(node, by: reach, flags: backingFlags(mode))
      try confirm(facts, by: reach, of: file)
      if truncates {
        try emptied(file, facts, mode, clearsSetID: mode.contains(.clearsSetID) || caller.user != 0)
      }
      return register(file, node, facts, mode)
    }
  }

  private func emptied(
    _ file: SharedDescriptor, _ facts: Facts, _ mode: OpenMode, clearsSetID: Bool
  ) throws(Errno) {
    if mode.contains(.write) {
      try file.descriptor.truncate(to: 0)
    } else {
      // O_RDONLY | O_TRUNC: the right to write was asked, the handle stays read-only.
      try file.descriptor.reopen(.writeOnly).truncate(to: 0)
    }
    guard clearsSetID else { return }
    try stripPrivilege(of: file.descriptor, facts.item.mode)
  }

  /// The flags of the backing descriptor.
  ///
  /// Never O_APPEND: write-back of a shared mapping would append its pages at the end of the file.
  private func backingFlags(_ mode: OpenMode) -> OpenFlags {
    var flags: OpenFlags =
      mode.contains(.write) ? (mode.contains(.read) ? .readWrite : .writeOnly) : .readOnly
    if mode.contains(.synchronous) { flags.insert(.synchronous) }
    if mode.contains(.dataSynchronous) { flags.insert(.dataSynchronous) }
    // The kernel has asked whether the caller owns the file. Without privilege the daemon may not own it.
    if mode.contains(.noAccessTime), isPrivileged { flags.insert(.noAccessTime) }
    return flags
  }

  /// Makes a handle of an opened file.
  ///
  /// Called with the node's lock held, or before anybody knows the node.
  func register(
    _ descriptor: SharedDescriptor, _ node: Node, _ facts: Facts, _ mode: OpenMode
  ) -> OpenAnswer {
    let file = OpenFile(node: node, content: .plain(descriptor), mode: mode)
    let attachment = node.attachment
    let isAppendOnly = facts.item.flags.isAppendOnly
    attachment.isAppendOnly.store(isAppendOnly, ordering: .releasing)
    let change = facts.status.change
    let isUnchanged = attachment.state.withLock { state in
      defer { state.seenAtOpen = change }
      state.openFiles.append(file)
      return state.seenAtOpen == change
    }
    // A writable mapping could overwrite what may only grow; bypassing the cache makes the kernel refuse it.
    let bypasses = isAppendOnly && mode.contains(.write)
    return OpenAnswer(
      handle: handles.add(file), pages: bypasses ? .bypass : isUnchanged ? .keep : .drop)
  }

  package func release(_ handle: HandleID) {
    guard let file = handles.remove(handle), let node = file.node else { return }
    node.existingAttachment?.state.withLock { state in
      guard let place = state.openFiles.firstIndex(where: { $0 === file }) else { return }
      state.openFiles.remove(at: place)
    }
  }

  /// Nothing is held back in the daemon: what was written is in the backing file.
  package func flush(_ handle: HandleID) throws(Errno) {
    _ = try handles.file(handle)
  }
}
