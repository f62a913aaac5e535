// The records of READDIR and READDIRPLUS.

import CFUSE
import LayeredVolume
import LinuxFiles

/// Sizes of the records, which begin at multiples of 8.
private enum Record {
  static let name = MemoryLayout<fuse_dirent>.size
  static let entry = MemoryLayout<fuse_entry_out>.size

  static func padding(after count: Int) -> Int { (8 - count % 8) % 8 }
}

extension ReplyBuffer {
  /// Adds one name; false when it does not fit into the first `limit` bytes of the reply.
  ///
  /// With `entry` (READDIRPLUS) each name is preceded by what a lookup would answer, or by zeros, which
  /// tell the kernel to look the name up itself when it needs it.
  mutating func appendListed(
    _ name: Span<UInt8>, _ listed: ListedName, withEntry: Bool, limit: Int
  ) -> Bool {
    let plain = (withEntry ? Record.entry : 0) + Record.name + name.count
    guard name.count > 0, plain + Record.padding(after: plain) <= min(limit, capacity) - count else {
      return false
    }
    do throws(Errno) {
      if withEntry {
        try append(listed.entry.map(fuse_entry_out.init) ?? fuse_entry_out())
      }
      try append(
        ListedHead(
          inode: listed.inode, offset: UInt64(bitPattern: listed.nextOffset),
          nameCount: UInt32(clamping: name.count), kind: UInt32(listed.kind?.directoryType ?? 0)))
      try append(name)
      try appendZeros(Record.padding(after: plain))
      return true
    } catch {
      return false
    }
  }

  /// Calls `use` with each node that a READDIRPLUS reply hands to the kernel.
  borrowing func listedNodes(_ use: (NodeID) -> Void) {
    var start = 0
    while let node = number(UInt64.self, at: start),
      let nameCount = number(UInt32.self, at: start + Record.entry + ListedHead.nameCountOffset)
    {
      if node != 0 { use(node) }
      let plain = Record.entry + Record.name + Int(nameCount)
      start += plain + Record.padding(after: plain)
    }
  }
}

/// `fuse_dirent` without the flexible array, which Swift does not import as a field.
private struct ListedHead: BitwiseCopyable {
  static let nameCountOffset = 16

  var inode: UInt64
  var offset: UInt64
  var nameCount: UInt32
  var kind: UInt32
}
