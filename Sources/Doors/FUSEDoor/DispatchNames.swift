// Requests about names: find, make, link, rename, remove, forget.

import CFUSE
import LayeredVolume
import LinuxFiles

extension Door {
  func lookup(_ request: borrowing Request, _ buffer: inout ReplyBuffer) throws(Errno) -> Undo {
    let (node, caller, unique) = (request.node, request.caller, request.unique)
    let answer = try request.withName { (name) throws(Errno) in
      try volume.lookup(name, in: node, for: caller, request: unique)
    }
    switch answer {
    case .found(let entry):
      return try handOut(entry, &buffer)
    case .missing(.none):
      throw .noSuchFile
    case .missing(let validity):
      try buffer.appendMissing(validity)
      return .nothing
    }
  }

  func makeNode(_ request: borrowing Request, _ buffer: inout ReplyBuffer) throws(Errno) -> Undo {
    let (node, caller) = (request.node, request.caller)
    let input = try request.read(fuse_mknod_in.self)
    // mknod(2) takes a mode without a kind for a regular file.
    let kindBits = input.mode & 0xF000
    guard let kind = kindBits == 0 ? .regular : FileKind(modeBits: kindBits) else { throw .invalid }
    let device = decodeDevice(input.rdev)
    let entry = try request.withName { (name) throws(Errno) in
      try volume.makeNode(
        name, in: node, kind: kind, mode: permissions(input.mode), deviceMajor: device.major,
        deviceMinor: device.minor, for: caller)
    }
    return try handOut(entry, &buffer)
  }

  func makeDirectory(_ request: borrowing Request, _ buffer: inout ReplyBuffer) throws(Errno) -> Undo {
    let (node, caller) = (request.node, request.caller)
    let input = try request.read(fuse_mkdir_in.self)
    let entry = try request.withName { (name) throws(Errno) in
      try volume.makeDirectory(name, in: node, mode: permissions(input.mode), for: caller)
    }
    return try handOut(entry, &buffer)
  }

  func makeSymbolicLink(_ request: borrowing Request, _ buffer: inout ReplyBuffer) throws(Errno) -> Undo {
    let (node, caller) = (request.node, request.caller)
    let entry = try request.withNameAndTarget { (name, target) throws(Errno) in
      try volume.makeSymbolicLink(name, in: node, target: target, for: caller)
    }
    return try handOut(entry, &buffer)
  }

  func link(_ request: borrowing Request, _ buffer: inout ReplyBuffer) throws(Errno) -> Undo {
    let (newParent, caller) = (request.node, request.caller)
    let input = try request.read(fuse_link_in.self)
    let entry = try request.withName { (name) throws(Errno) in
      try volume.link(input.oldnodeid, as: name, in: newParent, for: caller)
    }
    return try handOut(entry, &buffer)
  }

  func readLink(_ request: borrowing Request, _ buffer: inout ReplyBuffer) throws(Errno) {
    let target = try volume.readLink(request.node)
    try buffer.append(target.span)
  }

  func remove(_ request: borrowing Request) throws(Errno) {
    let (node, caller) = (request.node, request.caller)
    try request.withName { (name) throws(Errno) in try volume.remove(name, from: node, for: caller) }
  }

  func removeDirectory(_ request: borrowing Request) throws(Errno) {
    let (node, caller) = (request.node, request.caller)
    try request.withName { (name) throws(Errno) in try volume.removeDirectory(name, from: node, for: caller) }
  }

  func rename(_ request: borrowing Request) throws(Errno) {
    let input = try request.read(fuse_rename_in.self)
    try rename(request, to: input.newdir, .replace)
  }

  func renameWithFlags(_ request: borrowing Request) throws(Errno) {
    let input = try request.read(fuse_rename2_in.self)
    try rename(request, to: input.newdir, RenameStyle(flags: input.flags))
  }

  private func rename(
    _ request: borrowing Request, to newParent: NodeID, _ style: RenameStyle
  ) throws(Errno) {
    let (node, caller) = (request.node, request.caller)
    try request.withNames { (name, newName) throws(Errno) in
      try volume.rename(name, in: node, to: newName, in: newParent, style, for: caller)
    }
  }

  /// Answers with an entry, on which the kernel from then on holds a reference.
  func handOut(_ entry: Entry, _ buffer: inout ReplyBuffer) throws(Errno) -> Undo {
    try buffer.append(entry)
    return .forget(entry.node)
  }

  func permissions(_ mode: UInt32) -> UInt16 { UInt16(truncatingIfNeeded: mode & 0o7777) }
}

// MARK: Requests without an answer

extension Door {
  /// Hears what the kernel says without waiting for an answer; what is damaged is passed over.
  func takeNotice(_ opcode: Opcode, _ request: borrowing Request) {
    switch opcode {
    case .forget: forget(request)
    case .batchForget: forgetMany(request)
    // INTERRUPT ends the wait of a delayed request, which the workers know of. NOTIFY_REPLY answers a question that is
    // never asked.
    default: break
    }
  }

  private func forget(_ request: borrowing Request) {
    let input: fuse_forget_in
    do throws(Errno) { input = try request.read(fuse_forget_in.self) } catch { return }
    volume.forget(request.node, references: input.nlookup)
  }

  private func forgetMany(_ request: borrowing Request) {
    do throws(Errno) {
      let input = try request.read(fuse_batch_forget_in.self)
      var offset = 0
      for _ in 0..<input.count {
        let one = try request.readPayload(fuse_forget_one.self, at: offset)
        volume.forget(one.nodeid, references: one.nlookup)
        offset += MemoryLayout<fuse_forget_one>.size
      }
    } catch {
      // The list ended early: what there was has been forgotten.
    }
  }
}
