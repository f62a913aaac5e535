// ioctl(2): the flags of lsattr and chattr.

import CFUSE
import LayeredVolume
import LinuxFiles

extension Door {
  func control(_ request: borrowing Request, _ buffer: inout ReplyBuffer) throws(Errno) {
    let input = try request.read(fuse_ioctl_in.self)
    switch input.cmd {
    case LV_FS_IOC_GETFLAGS:
      try requireRoom(UInt32.self, input)
      try buffer.appendControl(volume.inodeFlags(of: request.node, for: request.caller))
    case LV_FS_IOC_SETFLAGS:
      let word = try request.readPayload(UInt32.self, at: 0)
      try volume.changeInodeFlags(of: request.node, to: word, for: request.caller)
      try buffer.appendControl()
    case LV_FS_IOC_FSGETXATTR:
      try requireRoom(lv_fsxattr.self, input)
      var out = lv_fsxattr()
      out.xflags = try volume.extendedInodeFlags(of: request.node, for: request.caller)
      try buffer.appendControl(out)
    case LV_FS_IOC_FSSETXATTR:
      let wanted = try request.readPayload(lv_fsxattr.self, at: 0)
      // Extent sizes and project numbers are not kept: better refused than lost.
      guard wanted.extent_size == 0, wanted.cow_extent_size == 0, wanted.project == 0 else {
        throw .unsupported
      }
      try volume.changeExtendedInodeFlags(of: request.node, to: wanted.xflags, for: request.caller)
      try buffer.appendControl()
    case LV_FS_IOC_GETVERSION:
      try requireRoom(UInt32.self, input)
      try buffer.appendControl(volume.inodeGeneration(of: request.node))
    default:
      // Never ENOSYS: an overlay on top of us takes that for a broken file and refuses to copy it up.
      throw .notTerminal
    }
  }

  /// Checks that the caller's buffer can take what is answered.
  ///
  /// The numbers of GETFLAGS and GETVERSION say 8 bytes, but callers hold an int and the kernel exchanges 4:
  /// 8 make lsattr fail with EIO.
  private func requireRoom<T>(_ type: T.Type, _ input: fuse_ioctl_in) throws(Errno) {
    guard Int(input.out_size) >= MemoryLayout<T>.size else { throw .invalid }
  }
}
