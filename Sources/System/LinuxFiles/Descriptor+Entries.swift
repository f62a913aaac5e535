import CLinux
import Glibc

// Changing what a directory holds. Names are taken as they are; nothing follows a symbolic link.

/// How `rename` treats a name that is already there.
package struct RenameFlags: OptionSet, Sendable, Hashable {
  package let rawValue: UInt32

  package init(rawValue: UInt32) {
    self.rawValue = rawValue
  }

  /// EEXIST if the new name exists.
  package static let noReplace = RenameFlags(rawValue: LV_RENAME_NOREPLACE)
  /// Both names must exist and change places.
  package static let exchange = RenameFlags(rawValue: LV_RENAME_EXCHANGE)
  /// Leaves a character device 0:0 under the old name; needs CAP_MKNOD.
  package static let whiteout = RenameFlags(rawValue: LV_RENAME_WHITEOUT)
}

extension Descriptor {
  /// Refuses a directory in which the caller cannot make anything, with EROFS, EACCES and the like.
  ///
  /// A full disk is found out when something is made, not here.
  package borrowing func requireChangeable() throws(Errno) {
    try retrying { lv_is_changeable(rawValue) }
  }

  package borrowing func makeDirectory(_ name: borrowing FileName, mode: UInt16) throws(Errno) {
    try retrying { unsafe lv_make_directory(rawValue, name.pointer, UInt32(mode)) }
  }

  /// Makes a fifo, socket, device or empty regular file.
  package borrowing func makeNode(
    _ name: borrowing FileName, kind: FileKind, mode: UInt16, device: DeviceNumber = .none
  ) throws(Errno) {
    let bits = kind.modeBits | UInt32(mode)
    try retrying { unsafe lv_make_node(rawValue, name.pointer, bits, device.major, device.minor) }
  }

  /// Makes a symbolic link to `target`, which may be any text of 1 to 4,095 bytes without NUL.
  package borrowing func makeSymbolicLink(
    _ name: borrowing FileName, target: [UInt8]
  ) throws(Errno) {
    guard !target.isEmpty else { throw .noSuchFile }
    guard target.count < Int(PATH_MAX) else { throw .nameTooLong }
    guard !target.contains(0) else { throw .invalid }
    try unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: target.count + 1) {
      room throws(Errno) in
      guard let start = room.baseAddress else { throw .noMemory }
      unsafe UnsafeMutableRawBufferPointer(room).copyBytes(from: target)
      unsafe room[target.count] = 0
      try retrying { unsafe lv_make_symbolic_link(rawValue, name.pointer, start) }
    }
  }

  /// Removes anything but a directory.
  package borrowing func removeFile(_ name: borrowing FileName) throws(Errno) {
    try retrying { unsafe lv_remove(rawValue, name.pointer, 0) }
  }

  package borrowing func removeDirectory(_ name: borrowing FileName) throws(Errno) {
    try retrying { unsafe lv_remove(rawValue, name.pointer, 1) }
  }

  package borrowing func rename(
    _ name: borrowing FileName, to directory: borrowing Descriptor, as newName: borrowing FileName,
    _ flags: RenameFlags = []
  ) throws(Errno) {
    try retrying {
      unsafe lv_rename(rawValue, name.pointer, directory.rawValue, newName.pointer, flags.rawValue)
    }
  }

  /// Gives what `object` refers to (an `O_PATH` descriptor will do) a name in this directory.
  ///
  /// ENOENT when the object has lost its last name: Linux revives only unnamed files.
  package borrowing func linkObject(
    _ object: borrowing Descriptor, as name: borrowing FileName
  ) throws(Errno) {
    if Capabilities.hasEmptyPath {
      do throws(Errno) {
        try retrying { unsafe lv_link_object(object.rawValue, rawValue, name.pointer) }
        return
      } catch .noSuchFile {
        // Also the answer to a caller without CAP_DAC_READ_SEARCH; the path in /proc asks for none.
      }
    }
    try retrying { unsafe lv_link_object_by_proc(object.rawValue, rawValue, name.pointer) }
  }

  /// The target of the symbolic link this `O_PATH` descriptor refers to.
  package borrowing func readLink() throws(Errno) -> [UInt8] {
    try readingLink { buffer, count in unsafe lv_read_link(rawValue, nil, buffer, count) }
  }

  /// The target of the symbolic link `name` in this directory.
  package borrowing func readLink(_ name: borrowing FileName) throws(Errno) -> [UInt8] {
    try readingLink { buffer, count in unsafe lv_read_link(rawValue, name.pointer, buffer, count) }
  }
}

/// Linux limits targets to one byte less than a page, so that a full buffer means a longer target.
@safe private func readingLink(
  _ read: (UnsafeMutableRawPointer, Int) -> Int
) throws(Errno) -> [UInt8] {
  let room = Int(PATH_MAX)
  return try unsafe withUnsafeTemporaryAllocation(byteCount: room, alignment: 8) {
    buffer throws(Errno) -> [UInt8] in
    guard let start = buffer.baseAddress else { throw .noMemory }
    let count = try retrying { unsafe read(start, room) }
    guard count < room else { throw .nameTooLong }
    return unsafe [UInt8](UnsafeRawBufferPointer(start: start, count: count))
  }
}
