// Requests about the attributes of a node: stat, chmod, chown, truncate, utimes, access.

import CFUSE
import LayeredVolume
import LinuxFiles

extension Door {
  func attributes(_ request: borrowing Request, _ buffer: inout ReplyBuffer) throws(Errno) {
    let input = try request.read(fuse_getattr_in.self)
    try buffer.append(
      volume.attributes(
        of: request.node, handle: handle(input.fh, if: input.getattr_flags), for: request.caller))
  }

  func extendedStatus(_ request: borrowing Request, _ buffer: inout ReplyBuffer) throws(Errno) {
    let input = try request.read(lv_fuse_statx_in.self)
    try buffer.appendExtended(
      volume.attributes(
        of: request.node, handle: handle(input.fh, if: input.getattr_flags), for: request.caller))
  }

  private func handle(_ handle: HandleID, if flags: UInt32) -> HandleID? {
    flags & UInt32(FUSE_GETATTR_FH) != 0 ? handle : nil
  }

  func changeAttributes(
    _ request: borrowing Request, _ buffer: inout ReplyBuffer, _ isInterrupted: () -> Bool
  ) throws(Errno) {
    let input = try request.read(fuse_setattr_in.self)
    let handle = input.valid & UInt32(FATTR_FH) != 0 ? input.fh : nil
    try buffer.append(
      volume.changeAttributes(
        of: request.node, AttributeChange(input), handle: handle, for: request.caller,
        isInterrupted: isInterrupted))
  }

  /// Answers access(2) and chdir(2).
  ///
  /// Without an answer of our own the kernel would stop asking and allow both.
  func access(_ request: borrowing Request) throws(Errno) {
    let input = try request.read(fuse_access_in.self)
    try volume.access(request.node, mask: input.mask, for: request.caller)
  }
}
