// Requests about open files and their bytes.

import CFUSE
import Glibc
import LayeredVolume
import LinuxFiles

extension Door {
  func create(_ request: borrowing Request, _ buffer: inout ReplyBuffer) throws(Errno) -> Undo {
    let (node, caller) = (request.node, request.caller)
    let input = try request.read(fuse_create_in.self)
    let mode = OpenMode(flags: input.flags, openFlags: input.open_flags)
    let (entry, opened) = try request.withName { (name) throws(Errno) in
      try volume.create(name, in: node, mode: permissions(input.mode), flags: mode, for: caller)
    }
    return try handOut(entry, opened, &buffer)
  }

  /// Answers O_TMPFILE.
  ///
  /// The name that comes along is the kernel's placeholder "/" and no name.
  func createUnnamed(_ request: borrowing Request, _ buffer: inout ReplyBuffer) throws(Errno) -> Undo {
    let input = try request.read(fuse_create_in.self)
    let (entry, opened) = try volume.createUnnamed(
      in: request.node, mode: permissions(input.mode),
      flags: OpenMode(flags: input.flags, openFlags: input.open_flags), for: request.caller)
    return try handOut(entry, opened, &buffer)
  }

  private func handOut(
    _ entry: Entry, _ opened: OpenAnswer, _ buffer: inout ReplyBuffer
  ) throws(Errno) -> Undo {
    try buffer.append(entry)
    try buffer.appendOpenFile(opened)
    return .forgetAndRelease(entry.node, opened.handle)
  }

  func open(_ request: borrowing Request, _ buffer: inout ReplyBuffer) throws(Errno) -> Undo {
    let input = try request.read(fuse_open_in.self)
    var mode = OpenMode(flags: input.flags, openFlags: input.open_flags)
    // Programs say that they can take large files.
    if input.flags == 0 { mode.insert(.withoutBytes) }
    let opened = try volume.open(request.node, mode, for: request.caller)
    try buffer.appendOpenFile(opened)
    return .release(opened.handle)
  }

  func read(_ request: borrowing Request, _ buffer: inout ReplyBuffer) throws(Errno) {
    let input = try request.read(fuse_read_in.self)
    var isSecret = false
    defer { if isSecret { buffer.wipeAfterwards() } }
    try buffer.fill(upTo: Int(input.size)) { (bytes) throws(Errno) in
      try volume.read(
        input.fh, at: input.offset, into: &bytes, isSecret: &isSecret, isUnbuffered: input.isUnbuffered)
    }
  }

  func write(_ request: borrowing Request, _ buffer: inout ReplyBuffer) throws(Errno) {
    let caller = request.caller
    let input = try request.read(fuse_write_in.self)
    let written = try request.withWritableData(count: input.size) { (bytes) throws(Errno) in
      try volume.write(
        input.fh, at: input.offset, &bytes, appends: input.appends, isWriteBack: input.isWriteBack,
        clearsSetID: input.write_flags & UInt32(FUSE_WRITE_KILL_SUIDGID) != 0, for: caller)
    }
    try buffer.appendWritten(written)
  }

  /// Comes only from kernels that do not know FOPEN_NOFLUSH.
  func flush(_ request: borrowing Request) throws(Errno) {
    try volume.flush(try request.read(fuse_flush_in.self).fh)
  }

  func synchronize(_ request: borrowing Request) throws(Errno) {
    let input = try request.read(fuse_fsync_in.self)
    try volume.synchronize(input.fh, dataOnly: input.isDataOnly)
  }

  func synchronizeDirectory(_ request: borrowing Request) throws(Errno) {
    let input = try request.read(fuse_fsync_in.self)
    try volume.synchronizeDirectory(input.fh, dataOnly: input.isDataOnly)
  }

  /// Closes a file or a directory.
  func release(_ request: borrowing Request) throws(Errno) {
    volume.release(try request.read(fuse_release_in.self).fh)
  }

  func allocate(_ request: borrowing Request) throws(Errno) {
    let input = try request.read(fuse_fallocate_in.self)
    try volume.allocate(
      input.fh, AllocationMode(rawValue: CInt(bitPattern: input.mode)), offset: input.offset,
      length: input.length, for: request.caller)
  }

  func seek(_ request: borrowing Request, _ buffer: inout ReplyBuffer) throws(Errno) {
    let input = try request.read(fuse_lseek_in.self)
    let offset = try volume.seek(input.fh, offset: input.offset, whence: input.whence)
    try buffer.append(fuse_lseek_out(offset: offset))
  }

  /// The older form, whose answer has 32 bits: a longer range is copied in part and asked for again.
  func copyRange(_ request: borrowing Request, _ buffer: inout ReplyBuffer) throws(Errno) {
    let longest: UInt64 = 0xFFFF_F000
    let copied = try copy(request, atMost: longest)
    try buffer.appendWritten(Int(min(copied, longest)))
  }

  func copyLongRange(_ request: borrowing Request, _ buffer: inout ReplyBuffer) throws(Errno) {
    try buffer.append(lv_fuse_copy_file_range_out(bytes_copied: copy(request, atMost: .max)))
  }

  private func copy(_ request: borrowing Request, atMost longest: UInt64) throws(Errno) -> UInt64 {
    let input = try request.read(fuse_copy_file_range_in.self)
    guard input.flags == 0 else { throw .invalid }
    return try volume.copyRange(
      from: input.fh_in, at: input.off_in, to: input.fh_out, at: input.off_out,
      length: min(input.len, longest), for: request.caller)
  }
}

extension fuse_read_in {
  fileprivate var isUnbuffered: Bool { flags & lv_open_unbuffered != 0 }
}

extension fuse_write_in {
  /// Pages that come from the kernel's copy have their offset, whatever the flags of the file they go through.
  fileprivate var appends: Bool { flags & UInt32(O_APPEND) != 0 && !isWriteBack }

  var isWriteBack: Bool { write_flags & UInt32(FUSE_WRITE_CACHE) != 0 }
}

extension fuse_fsync_in {
  fileprivate var isDataOnly: Bool { fsync_flags & UInt32(FUSE_FSYNC_FDATASYNC) != 0 }
}
