import CLinux
import CPrograms
package import LinuxFiles

// Files a tool writes for its user.

/// A file that is written from front to back.
package struct WritableFile: ~Copyable, Sendable {
  private let descriptor: Descriptor

  /// Opens a file for writing at its end, for this program alone; EEXIST unless it may be there already.
  ///
  /// A new file is its owner's alone: it may tell who may do what. ELOOP for a link, EBADMSG for anything else but
  /// a file, EAGAIN while another program has it open like this.
  package init(appendingTo path: [UInt8], mayExist: Bool) throws(Errno) {
    let opened = try unsafe withTerminatedText(path) { path throws(Errno) in
      try retrying { unsafe lv_open_alone(path, mayExist ? 1 : 0) }
    }
    descriptor = Descriptor(adopting: CInt(truncatingIfNeeded: opened))
  }

  private init(_ descriptor: consuming Descriptor) {
    self.descriptor = descriptor
  }

  /// Makes a file of its own in a directory, and writes `contents`; answers its path.
  package static func temporary(
    in directory: [UInt8], suffix: StaticString, contents: [UInt8]
  ) throws(Errno) -> [UInt8] {
    let suffix = Array("\(suffix)".utf8)
    var path = directory + Array("/varve-XXXXXX".utf8) + suffix + [0]
    let opened = unsafe path.withUnsafeMutableBytes { bytes in
      guard let start = bytes.baseAddress else { return -Int(Errno.noMemory.rawValue) }
      return unsafe lv_make_temporary(start.assumingMemoryBound(to: CChar.self), CInt(suffix.count))
    }
    let file = WritableFile(Descriptor(adopting: CInt(truncatingIfNeeded: try retrying { opened })))
    path.removeLast()
    try file.write(contents)
    return path
  }

  /// Reads on from where the last call ended, a page at most; empty at the end.
  package borrowing func read() throws(Errno) -> [UInt8] {
    try descriptor.readToEnd(limit: 65_536)
  }

  /// Writes everything.
  package borrowing func write(_ bytes: [UInt8]) throws(Errno) {
    try descriptor.writeToStream(bytes)
  }

  /// Leaves the first `count` bytes, and goes on after them.
  package borrowing func cut(to count: Int) throws(Errno) {
    try retrying { lv_truncate(descriptor.rawValue, Int64(count)) }
  }

  /// Waits until it is on the disk.
  package borrowing func synchronize() throws(Errno) {
    try retrying { lv_sync(descriptor.rawValue, 0) }
  }
}

/// Removes a file by its path.
package func removeFile(_ path: [UInt8]) throws(Errno) {
  _ = try unsafe withTerminatedText(path) { path throws(Errno) in
    try retrying { unsafe lv_remove_file(path) }
  }
}
