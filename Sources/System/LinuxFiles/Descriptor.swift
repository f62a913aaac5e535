// An open descriptor, which all calls about files go through. For everything above: no other module but the door calls the
// system with pointers, so no other can read or write outside of its memory. What calls an operation makes is counted
// (`GuardTests`).

import CLinux
import Glibc

// Who owns an open file, and the first way to get one: by a path an administrator wrote.

/// An open descriptor that is closed exactly once.
package struct Descriptor: ~Copyable, Sendable {
  /// What it was opened for, as far as anybody has to know later.
  package enum Use: Sendable {
    case path, readWrite, other
  }

  package let rawValue: CInt
  package let use: Use

  /// Takes over `rawValue`, which nobody else may close from now on.
  package init(adopting rawValue: CInt, _ use: Use = .other) {
    self.rawValue = rawValue
    self.use = use
  }

  /// Whether it was opened with `O_PATH`, so that calls which answer EBADF then need not be tried.
  package var isPath: Bool { use == .path }

  /// Hands the number to code that will close it.
  package consuming func release() -> CInt {
    let number = rawValue
    discard self
    return number
  }

  deinit {
    // Not repeated on EINTR: the number is free by then.
    _ = lv_close(rawValue)
  }

  /// Opens a directory by a path from a configuration; follows symbolic links.
  ///
  /// The result can be listed and can stand as the base of every other call.
  package static func directory(atPath path: [UInt8]) throws(Errno) -> Descriptor {
    try open(path: path, [.readOnly, .directory])
  }

  /// The same for a path that is known to be text.
  package static func directory(atPath path: String) throws(Errno) -> Descriptor {
    try directory(atPath: Array(path.utf8))
  }

  /// Opens a path from a configuration; follows symbolic links, crosses mounts, never creates.
  package static func open(path: [UInt8], _ flags: OpenFlags) throws(Errno) -> Descriptor {
    let opened = try unsafe withTerminatedText(path) { path throws(Errno) in
      try retrying { unsafe lv_open(AT_FDCWD, path, flags.withoutCreation | O_CLOEXEC | O_NOCTTY, 0) }
    }
    return Descriptor(adopting: opened.asCInt, flags.use)
  }

  /// The same for a path that is known to be text.
  package static func open(path: String, _ flags: OpenFlags) throws(Errno) -> Descriptor {
    try open(path: Array(path.utf8), flags)
  }

  /// A second descriptor of the same open file: offset and locks are shared.
  package borrowing func duplicate() throws(Errno) -> Descriptor {
    Descriptor(adopting: try retrying { lv_duplicate(rawValue, 3) }.asCInt, use)
  }

  /// Makes the kernel find room for `count` descriptors of this process at once.
  ///
  /// Its table doubles whenever it is full, and in a process with threads each time takes as long as a
  /// thousand requests, for a thread that opens something then. Room that cannot be had is no matter.
  package borrowing func makeRoom(for count: Int) {
    let last = lv_duplicate(rawValue, CInt(clamping: count))
    if last >= 0 { _ = lv_close(CInt(clamping: last)) }
  }
}

/// A descriptor with many users, closed when the last one lets go of it.
///
/// For caches.
package final class SharedDescriptor: Sendable {
  package let descriptor: Descriptor

  package init(_ descriptor: consuming Descriptor) {
    self.descriptor = descriptor
  }
}
