import CLinux

// What Linux knows about an object, in one value.

/// The answer of `statx`.
package struct FileStatus: Sendable, Hashable {
  /// The device the object lives on: major in the upper half, minor in the lower.
  package var device: UInt64 = 0
  package var inode: UInt64 = 0
  package var kind: FileKind
  /// The low 12 bits: permissions, sticky, set-group-id, set-user-id.
  package var mode: UInt16
  package var linkCount: UInt32 = 1
  package var user: UInt32 = 0
  package var group: UInt32 = 0
  package var size: UInt64 = 0
  /// In units of 512 bytes, whatever the file system's own blocks are.
  package var blocks: UInt64 = 0
  package var blockSize: UInt32 = 4_096
  /// The device a character or block device stands for.
  package var specialDevice = DeviceNumber.none
  package var access = Timestamp(seconds: 0, nanoseconds: 0)
  package var modification = Timestamp(seconds: 0, nanoseconds: 0)
  package var change = Timestamp(seconds: 0, nanoseconds: 0)
  /// Absent where the file system does not record it.
  package var birth: Timestamp?
  /// What the file handle says, where there is no time of birth and the device has handles; else 0.
  package var handleMark: UInt64 = 0
  /// True for the root of any mount, also of a bind mount of the same device.
  package var isMountRoot = false
  /// Whether the change time was old enough that no later change of the object can show the same.
  package var isSettled = false
  /// As chattr(1) sets them, on file systems that tell.
  package var isImmutable = false
  package var isAppendOnly = false

  /// Of an object that no file system has; what is not said is nothing.
  package init(kind: FileKind, mode: UInt16) {
    (self.kind, self.mode) = (kind, mode)
  }

  /// Nil when the object is not a file, such as the descriptor of `epoll`.
  init?(_ found: lv_status) {
    guard let kind = FileKind(modeBits: found.mode) else { return nil }
    self.kind = kind
    device = DeviceNumber(major: found.device_major, minor: found.device_minor).packed
    inode = found.inode
    mode = UInt16(truncatingIfNeeded: found.mode & 0o7777)
    linkCount = found.links
    user = found.user
    group = found.group
    size = found.size
    blocks = found.blocks
    blockSize = found.block_size
    specialDevice = DeviceNumber(major: found.special_major, minor: found.special_minor)
    access = Timestamp(seconds: found.access_seconds, nanoseconds: found.access_nanoseconds)
    modification = Timestamp(
      seconds: found.modification_seconds, nanoseconds: found.modification_nanoseconds)
    change = Timestamp(seconds: found.change_seconds, nanoseconds: found.change_nanoseconds)
    birth =
      found.has_birth == 0 || Capabilities.hidesBirth
      ? nil : Timestamp(seconds: found.birth_seconds, nanoseconds: found.birth_nanoseconds)
    isSettled = found.is_settled != 0
    isMountRoot = found.is_mount_root != 0
    isImmutable = found.is_immutable != 0
    isAppendOnly = found.is_append_only != 0
  }

  /// Completes what tells objects apart.
  ///
  /// Under a name something else may stand by now: then it is told apart from both.
  fileprivate mutating func readMark(_ read: (inout UInt64) -> Int) {
    guard birth == nil, device == Capabilities.deviceWithHandles, device != 0 else { return }
    var mark: UInt64 = 0
    if read(&mark) >= 0 { handleMark = mark }
  }
}

extension Descriptor {
  /// What this descriptor refers to; also for an `O_PATH` descriptor.
  package borrowing func status() throws(Errno) -> FileStatus {
    var found = lv_status()
    try retrying { unsafe lv_status(rawValue, nil, &found) }
    guard var status = FileStatus(found) else { throw .inputOutput }
    status.readMark { unsafe lv_handle_mark(rawValue, nil, &$0) }
    return status
  }

  /// The same without the time of birth, which the kernel remembers of no FUSE file system.
  ///
  /// On a mount that was just listed, this asks nobody.
  package borrowing func knownStatus() throws(Errno) -> FileStatus {
    var found = lv_status()
    try retrying { unsafe lv_known_status(rawValue, nil, &found) }
    guard let status = FileStatus(found) else { throw .inputOutput }
    return status
  }

  /// Whether the file system tells objects apart by file handles that stay what they are.
  package borrowing func hasHandle() -> Bool {
    var mark: UInt64 = 0
    return unsafe lv_handle_mark(rawValue, nil, &mark) >= 0
  }

  /// Whether this is the root of a mount; the file system that is mounted is not asked, and need not answer.
  package borrowing func isMountRoot() throws(Errno) -> Bool {
    try retrying { lv_is_mount_root(rawValue) } != 0
  }

  /// What `name` in this directory is; a symbolic link is not followed.
  ///
  /// Looks across a mount point: `isMountRoot` tells.
  package borrowing func status(of name: borrowing FileName) throws(Errno) -> FileStatus {
    var found = lv_status()
    try retrying { unsafe lv_status(rawValue, name.pointer, &found) }
    guard var status = FileStatus(found) else { throw .inputOutput }
    status.readMark { unsafe lv_handle_mark(rawValue, name.pointer, &$0) }
    return status
  }
}
