// Bytes in and out of open files.

import Decisions
import DirectoryModes
package import LinuxFiles
import Synchronization

extension Volume {
  /// Fewer bytes than are asked for only at the end.
  ///
  /// `isSecret`: whether what is in the bytes now, also after an error, must not stay in memory. `isUnbuffered`: whether
  /// they are for the program that asks (O_DIRECT), and not for pages.
  package func read(
    _ handle: HandleID, at offset: UInt64, into bytes: inout MutableSpan<UInt8>, isSecret: inout Bool,
    isUnbuffered: Bool = false
  ) throws(Errno) -> Int {
    let file = try handles.file(handle)
    guard file.canRead else { throw .badDescriptor }
    isSecret = file.content.isSecret
    try requireContent(of: file)
    let count = try file.content.read(at: try Int64(checking: offset), into: &bytes)
    if count < bytes.count, !isUnbuffered { try requireEnd(offset, read: count, of: bytes.count, file) }
    return count
  }

  /// Refuses pages behind the end of a file that another mount has cut, since the kernel fills them with zeros and keeps them.
  ///
  /// It asks for no page behind the end that it knows. Where the bytes are stored as they are this is as on any file system of
  /// several machines.
  private func requireEnd(
    _ offset: UInt64, read count: Int, of wanted: Int, _ file: OpenFile
  ) throws(Errno) {
    guard !file.content.isPlain, file.route.keepsCopy, replacements.mayBeAtWorkElsewhere,
      let node = file.node,
      node.layer == 0
    else { return }
    let page = UInt64(ResourceLimits.pageSize)
    let end = (offset + UInt64(count) + page - 1) / page * page
    guard offset + UInt64(wanted) > max(end, offset / page * page) else { return }
    link?.expireAttributes(node.id)
    throw .inputOutput
  }

  /// Bytes that were written may be others afterwards; those of a request that is delayed are what they were.
  ///
  /// `appends`: the caller's open file carries O_APPEND now. `isWriteBack`: the kernel brings pages that a program wrote
  /// through a mapping.
  package func write(
    _ handle: HandleID, at offset: UInt64, _ bytes: inout MutableSpan<UInt8>, appends: Bool,
    isWriteBack: Bool = false, clearsSetID: Bool, for caller: Caller
  ) throws(Errno) -> Int {
    let file = try handles.file(handle)
    do throws(Errno) {
      let node = try requireWritable(file)
      return try write(
        file, of: node, at: offset, &bytes, appends: appends, isWriteBack: isWriteBack,
        clearsSetID: clearsSetID, for: caller)
    } catch {
      // What was to be encrypted stays in no buffer, whoever refused it.
      if file.content.isSecret, error.delay == nil { bytes.wipe() }
      throw error
    }
  }

  private func write(
    _ file: OpenFile, of node: Node, at offset: UInt64, _ bytes: inout MutableSpan<UInt8>, appends: Bool,
    isWriteBack: Bool, clearsSetID: Bool, for caller: Caller
  ) throws(Errno) -> Int {
    let start = try Int64(checking: offset)
    let attachment = node.attachment
    let writer = Judge.strips(.write(isForeign: clearsSetID), by: caller.user) ? caller : nil
    // The kernel's idea of the end may be old, where a program wrote behind the mount. Else the bytes are in its copy already.
    let isPlaced = file.content.hasKnownEnd && file.route.keepsCopy
    let position: Descriptor.WritePosition = appends && !isPlaced ? .end : .offset(start)
    // Shared: a flag that is being set waits for us, or we see it and come back exclusively, so that nobody
    // else moves the end of a file that may only grow.
    if position == .end || !attachment.marks.isAppendOnly.load(ordering: .acquiring) {
      let written = try locks.holding(.shared(node.stripe)) { () throws(Errno) -> Int? in
        guard position == .end || !attachment.marks.isAppendOnly.load(ordering: .acquiring) else {
          return nil
        }
        return try put(&bytes, at: position, into: file, of: node, clearingFor: writer, isWriteBack)
      }
      if let written { return written }
    }
    return try locks.holding(.exclusive(node.stripe)) { () throws(Errno) in
      if attachment.marks.isAppendOnly.load(ordering: .acquiring) {
        let onlyGrows = try file.content.size() == offset
        try requireChange(of: node, file, isAppendOnly: true, onlyGrows: onlyGrows, isWriteBack)
      }
      return try put(&bytes, at: position, into: file, of: node, clearingFor: writer, isWriteBack)
    }
  }

  /// `writer`: whose bytes they are, if set-id bits go before they arrive.
  private func put(
    _ bytes: inout MutableSpan<UInt8>, at position: Descriptor.WritePosition, into file: OpenFile,
    of node: Node, clearingFor writer: Caller?, _ isWriteBack: Bool
  ) throws(Errno) -> Int {
    try requireChange(of: node, file, isAppendOnly: false, onlyGrows: false, isWriteBack)
    if let writer { try stripBeforeWriting(node, file, for: writer) }
    actAsOwner(of: node)
    return try file.write(&bytes, at: position, isWriteBack: isWriteBack)
  }

  /// Asks what may have changed since the file was opened.
  private func requireChange(
    of node: Node, _ file: OpenFile, isAppendOnly: Bool, onlyGrows: Bool, _ isWriteBack: Bool
  ) throws(Errno) {
    do throws(Errno) {
      try Judge.writeBytes(isAppendOnly: isAppendOnly, onlyGrows: onlyGrows, lacksLock: live.forbidsChanges)
        .required()
    } catch {
      // They are in the copies that the kernel keeps, if it keeps any.
      if isWriteBack || file.route.keepsCopy { dropPagesAside(of: node.id) }
      throw error
    }
  }

  /// Lets what is written to an open file count as its owner's.
  private func actAsOwner(of node: Node) {
    actAsOwner(node.attachment.marks.owner)
  }

  /// An open file to write through, with its node.
  private func writable(_ handle: HandleID) throws(Errno) -> (OpenFile, Node) {
    let file = try handles.file(handle)
    return (file, try requireWritable(file))
  }

  private func requireWritable(_ file: OpenFile) throws(Errno) -> Node {
    guard file.canWrite, let node = file.node else { throw .badDescriptor }
    try requireContent(of: file)
    return node
  }

  /// Refuses a handle whose file has got content of another form since it was opened, or a record that nobody can read,
  /// as far as that was noticed; and one that was opened without a key, even if the key came since.
  private func requireContent(of file: OpenFile) throws(Errno) {
    let obstacle = file.node?.existingAttachment?.marks.contentObstacle.load(ordering: .acquiring) ?? 0
    // Who has it open compressed is sent to where its bytes are.
    let follows = obstacle == Errno.unsupported.rawValue && file.content.compressed != nil
    guard obstacle == 0 || follows else { throw Errno(rawValue: obstacle) }
    if file.mode.contains(.withoutBytes) { throw .noKey }
  }

  /// The set-id bits and the capability go before the first foreign byte arrives.
  ///
  /// Every unprivileged write asks for this; once done it need not be done again until a bit is set.
  private func stripBeforeWriting(_ node: Node, _ file: OpenFile, for caller: Caller) throws(Errno) {
    if let object = file.object { try stripBeforeWriting(node, object, for: caller) }
  }

  func stripBeforeWriting(_ node: Node, _ object: SharedDescriptor, for caller: Caller) throws(Errno) {
    guard node.attachment.marks.mayHavePrivilege.load(ordering: .acquiring) else { return }
    let status = try object.descriptor.status()
    let isChanged = try stripPrivilege(of: node, object, status, for: caller)
    node.attachment.marks.mayHavePrivilege.store(false, ordering: .releasing)
    // Where the kernel keeps no copy of the bytes it leaves the stripping to us, and would go on running the program
    // with the mode it remembers.
    if isChanged { link?.expireAttributes(node.id) }
  }

  /// Takes the set-id bits and the capability from a file that is written to; whether there were such bits.
  @discardableResult
  func stripPrivilege(
    of node: Node, _ object: SharedDescriptor, _ status: FileStatus, for caller: Caller
  ) throws(Errno) -> Bool {
    let nameless = status.linkCount == 0 ? node.nameless : nil
    let status = nameless?.shown(status) ?? status
    let mode = Mode(status.mode)
    let stripped = mode.afterForeignWrite
    if stripped != mode {
      // No write is refused because the log does not know of what.
      let before = audit == nil ? nil : try? facts(status, of: object, knownBy: node).item
      if let nameless {
        nameless.changeMode(stripped.bits)
      } else {
        try object.descriptor.changeMode(stripped.bits)
      }
      if let before {
        var after = before
        after.mode = stripped
        audit?.add(.change(PolicyChange(caller, lastKnownPath(of: node), from: before, to: after)))
      }
    }
    try dropCapability(of: object.descriptor, nameless)
    return stripped != mode
  }

  /// Whether a write would be refused now, because its file is locked; waits for nothing.
  package func refusesWrite(to handle: HandleID, isWriteBack: Bool) -> Bool {
    (try? handles.file(handle))?.content.refusesWrite(isWriteBack: isWriteBack) ?? false
  }

  /// Pages that a program wrote were refused, and nobody will bring them again.
  package func lostPages(of handle: HandleID) { (try? handles.file(handle))?.content.noteLostPages() }

  package func synchronize(_ handle: HandleID, dataOnly: Bool) throws(Errno) {
    try handles.file(handle).synchronize(dataOnly: dataOnly)
  }

  // MARK: Space

  package func allocate(
    _ handle: HandleID, _ mode: AllocationMode, offset: UInt64, length: UInt64, for caller: Caller
  ) throws(Errno) {
    let (file, node) = try writable(handle)
    let start = try Int64(checking: offset)
    let count = try Int64(checking: length)
    try locks.holding(.shared(node.stripe)) { () throws(Errno) in
      let isAppendOnly = node.attachment.marks.isAppendOnly.load(ordering: .acquiring)
      let verdict = Judge.writeBytes(
        isAppendOnly: isAppendOnly, onlyGrows: mode == .keepSize, lacksLock: live.forbidsChanges)
      try verdict.required()
      if Judge.strips(.space, by: caller.user) { try stripBeforeWriting(node, file, for: caller) }
      actAsOwner(of: node)
      try file.content.allocate(mode, offset: start, length: count)
    }
  }

  /// Where data or a hole begins; `whence` is `SEEK_DATA` or `SEEK_HOLE`.
  package func seek(_ handle: HandleID, offset: UInt64, whence: UInt32) throws(Errno) -> UInt64 {
    let file = try handles.file(handle)
    try requireContent(of: file)
    guard let origin = SeekOrigin(rawValue: CInt(truncatingIfNeeded: whence)) else { throw .invalid }
    // A negative offset is, as on other file systems, one behind the end.
    guard let start = Int64(exactly: offset) else { throw .noDevice }
    guard origin == .data || origin == .hole, mayHaveUnseenData(file) else {
      return try file.content.seek(from: start, origin)
    }
    let size = try file.content.size()
    guard offset < size else { throw .noDevice }
    return origin == .data ? offset : size
  }

  /// Whether a program may have written to holes of a file through a mapping without that we were told.
  ///
  /// The kernel asks where data are (LSEEK) without writing its pages back first, and tells of no mapping. It lets go of
  /// the handle behind one only when it has written back what the mapping had.
  private func mayHaveUnseenData(_ file: OpenFile) -> Bool {
    guard let attachment = file.node?.existingAttachment else { return false }
    return attachment.state.withLock { state in
      state.file.handles.contains {
        ($0 as? OpenFile).map { $0.canMapForWriting && $0.route.keepsCopy } ?? false
      }
    }
  }

  package func copyRange(
    from source: HandleID, at sourceOffset: UInt64, to target: HandleID, at targetOffset: UInt64,
    length: UInt64, for caller: Caller
  ) throws(Errno) -> UInt64 {
    let (file, node) = try writable(target)
    let origin = try handles.file(source)
    guard origin.canRead else { throw .badDescriptor }
    try requireContent(of: origin)
    let from = try Int64(checking: sourceOffset)
    let to = try Int64(checking: targetOffset)
    // Bounded, so that one request does not keep a worker for minutes; the caller asks again.
    let count = Int(min(length, 64 << 20))
    return try locks.holding(.shared(node.stripe)) { () throws(Errno) in
      let isAppendOnly = node.attachment.marks.isAppendOnly.load(ordering: .acquiring)
      try Judge.writeBytes(isAppendOnly: isAppendOnly, onlyGrows: false, lacksLock: live.forbidsChanges)
        .required()
      if Judge.strips(.space, by: caller.user) { try stripBeforeWriting(node, file, for: caller) }
      actAsOwner(of: node)
      return UInt64(try origin.content.copy(from: from, to: file.content, at: to, length: count))
    }
  }

  package func fileSystemStatus() throws(Errno) -> FileSystemStatus {
    try resolver.top.descriptor.descriptor.fileSystemStatus()
  }
}

extension Int64 {
  /// An offset from the kernel; EINVAL beyond what the system calls below can take.
  init(checking offset: UInt64) throws(Errno) {
    guard let offset = Int64(exactly: offset) else { throw .invalid }
    self = offset
  }
}
