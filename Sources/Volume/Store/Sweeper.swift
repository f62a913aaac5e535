// Emptying a directory of ours, whatever a crash left in it.

import LinuxFiles

enum Sweeper {
  /// Removes everything in `directory`, going down into directories; follows no link.
  static func empty(_ directory: borrowing Descriptor, depth: Int = 0) throws(Errno) {
    guard depth < 64 else { throw .tooManySymbolicLinks }
    var page = EntryBuffer()
    try directory.seekDirectory(to: 0)
    var names: [[UInt8]] = []
    while try directory.readEntries(into: &page) > 0 {
      while let entry = try page.next() {
        guard entry.role == .child else { continue }
        names.append(try page.withName(of: entry) { name throws(Errno) in name.copy() })
      }
    }
    for name in names {
      try FileName.with(name) { name throws(Errno) in try remove(name, from: directory, depth: depth) }
    }
  }

  private static func remove(
    _ name: borrowing FileName, from directory: borrowing Descriptor, depth: Int
  ) throws(Errno) {
    do throws(Errno) {
      try directory.removeFile(name)
    } catch .isDirectory {
      try empty(try directory.open(name, [.readOnly, .directory]), depth: depth + 1)
      try directory.removeDirectory(name)
    }
  }
}
