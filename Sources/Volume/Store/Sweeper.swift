// Emptying a directory of ours, whatever a crash left in it.

import LinuxFiles

enum Sweeper {
  /// Removes everything in the workshop but replacements and notes, going down into directories; follows no link.
  ///
  /// `before` each removal it is asked whether that may go on.
  /// Goes by a stack of its own, not by calling itself: the depth is what a crash left, not ours to choose.
  static func empty(
    workshop: SharedDescriptor, before: () throws(Errno) -> Void = {}
  ) throws(Errno) {
    let swept = try workshop.descriptor.names().filter { ReplacementFiles.isSwept($0, in: workshop) }
    var path: [(directory: SharedDescriptor, name: [UInt8], left: [[UInt8]])] = [(workshop, [], swept)]
    while var level = path.popLast() {
      try before()
      guard let name = level.left.popLast() else {
        guard let above = path.last else { return }
        try FileName.with(level.name) { name throws(Errno) in
          try above.directory.descriptor.removeDirectory(name)
        }
        continue
      }
      path.append(level)
      if let inner = try remove(name, from: level.directory) {
        path.append((inner, name, try inner.descriptor.names()))
      }
    }
  }

  /// Removes the whiteouts in a directory that shows nothing.
  ///
  /// Anything else stays, and the directory with it, for the administrator: it came there behind the mount.
  static func removeWhiteouts(in directory: SharedDescriptor) throws(Errno) {
    for name in try directory.descriptor.names() {
      try FileName.with(name) { name throws(Errno) in
        guard try directory.descriptor.status(of: name).isWhiteout else { return }
        try directory.descriptor.removeFile(name)
      }
    }
  }

  /// Removes one name, or opens it if it is a directory that must be emptied first.
  private static func remove(
    _ name: [UInt8], from directory: SharedDescriptor
  ) throws(Errno) -> SharedDescriptor? {
    try FileName.with(name) { name throws(Errno) in
      do throws(Errno) {
        try directory.descriptor.removeFile(name)
        return nil
      } catch .isDirectory {
        return SharedDescriptor(try directory.descriptor.open(name, [.readOnly, .directory]))
      }
    }
  }
}
