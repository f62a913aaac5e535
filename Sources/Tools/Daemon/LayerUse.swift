// Who shows a directory as a layer of a mounted volume. A layer that is a volume has a lock of its own; one without
// bookkeeping is locked itself by the daemon that shows it (`LowerRoot`), which changes nothing in it.
//
// Any user who may open a directory can lock it, and could keep others from mounting it. So only a process of root or of
// the mounting user counts. Not found: a daemon of another PID namespace, whose locks the kernel does not tell.

import LinuxFiles
import LinuxPrograms

/// Reads the kernel's table of locks.
enum LayerUse {
  /// A process that shows a directory as a layer; `device` as tables of mounts write it, `8:1`.
  static func holder(
    of directory: borrowing Descriptor, on device: String, believing users: (_ user: UInt32) -> Bool
  ) -> Int32? {
    guard let inode = try? directory.status().inode,
      let table = try? Descriptor.reading(Array("/proc/locks".utf8)).readToEnd()
    else { return nil }
    return sharedLocks(in: table, of: inode, on: device).first { process in
      ProcessCredentials.credentials(ofThread: process).map { users($0.realUser) } ?? false
    }
  }

  /// The processes that share a file or directory by flock(2): `1: FLOCK  ADVISORY  READ  4711 fe:00:1234 0 EOF`.
  static func sharedLocks(in table: [UInt8], of inode: UInt64, on device: String) -> [Int32] {
    table.split(separator: UInt8(ascii: "\n")).compactMap { line in
      let words = String(decoding: line, as: UTF8.self).split(separator: " ")
      guard words.count > 5, words[1] == "FLOCK", words[3] == "READ" else { return nil }
      let object = words[5].split(separator: ":")
      guard object.count == 3, let major = UInt32(object[0], radix: 16),
        let minor = UInt32(object[1], radix: 16), "\(major):\(minor)" == device, UInt64(object[2]) == inode
      else { return nil }
      return Int32(words[4])
    }
  }
}
