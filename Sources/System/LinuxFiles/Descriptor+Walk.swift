import CLinux
import Glibc

// From a directory down several steps at once, when nothing on the way is held open.

extension Descriptor {
  /// Holds on to the directory at `path`, several names joined by "/", below this directory.
  ///
  /// No step leaves this directory, follows a symbolic link or crosses a mount (ELOOP or ENOTDIR, EXDEV).
  /// Every component obeys the rules of `FileName`; a path has at most 4,095 bytes.
  package borrowing func openDirectoryPath(beneath path: Span<UInt8>) throws(Errno) -> Descriptor {
    guard path.count < Int(PATH_MAX) else { throw .nameTooLong }
    if Capabilities.hasOpenat2 {
      try checkComponents(of: path)
      do throws(Errno) { return try openAtOnce(path) } catch .notImplemented {
        Capabilities.hasOpenat2 = false
      }
    }
    var end = componentEnd(in: path, from: 0)
    var current = try openStep(path.extracting(0..<end))
    while end < path.count {
      let start = end + 1
      end = componentEnd(in: path, from: start)
      current = try current.openStep(path.extracting(start..<end))
    }
    return current
  }

  private borrowing func openStep(_ name: Span<UInt8>) throws(Errno) -> Descriptor {
    try FileName.with(name) { name throws(Errno) in try openDirectoryPath(name) }
  }

  private borrowing func openAtOnce(_ path: Span<UInt8>) throws(Errno) -> Descriptor {
    try unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: path.count + 1) {
      room throws(Errno) -> Descriptor in
      guard let start = room.baseAddress else { throw .noMemory }
      unsafe path.withUnsafeBytes { bytes in
        unsafe UnsafeMutableRawBufferPointer(room).copyMemory(from: bytes)
      }
      unsafe room[path.count] = 0
      let flags = LV_O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC
      return Descriptor(
        adopting: try retrying { unsafe lv_open_beneath(rawValue, start, flags) }.asCInt, .path)
    }
  }
}

private func checkComponents(of path: Span<UInt8>) throws(Errno) {
  var start = 0
  while true {
    let end = componentEnd(in: path, from: start)
    try FileName.with(path.extracting(start..<end)) { _ throws(Errno) in }
    guard end < path.count else { return }
    start = end + 1
  }
}

private func componentEnd(in path: Span<UInt8>, from start: Int) -> Int {
  var end = start
  while end < path.count, path[end] != UInt8(ascii: "/") { end += 1 }
  return end
}
