import CPrograms
import Glibc
package import LinuxFiles

// Paths as people name them: any bytes, relative, through links.

extension Descriptor {
  /// Whether a link in the last place of a path is followed.
  package enum LastLink: Sendable {
    case followed
    case held
  }

  /// Holds on to what a path names, without opening it for reading or writing.
  package static func item(atPath path: [UInt8], _ link: LastLink) throws(Errno) -> Descriptor {
    try openAny(AT_FDCWD, path, pathOnly | (link == .held ? O_NOFOLLOW : 0))
  }

  /// Holds on to what an absolute path of any length names, if no link is on the way nor at its end.
  ///
  /// ENOTDIR where a link, or anything but a directory, is on the way; ELOOP for a link at the end.
  package static func item(withoutLinks path: [UInt8]) throws(Errno) -> Descriptor {
    guard path.first == UInt8(ascii: "/") else { throw .invalid }
    let names = path.split(separator: UInt8(ascii: "/"))
    var item = try openAny(AT_FDCWD, [UInt8(ascii: "/")], pathOnly | O_DIRECTORY)
    for name in names.dropLast() {
      item = try openAny(item.rawValue, Array(name), pathOnly | O_NOFOLLOW | O_DIRECTORY)
    }
    guard let last = names.last else { return item }
    item = try openAny(item.rawValue, Array(last), pathOnly | O_NOFOLLOW)
    guard try item.knownStatus().kind != .symbolicLink else { throw .tooManySymbolicLinks }
    return item
  }

  /// Holds on to a name in this directory, also across a mount point.
  package borrowing func item(named name: [UInt8], _ link: LastLink) throws(Errno) -> Descriptor {
    try Descriptor.openAny(rawValue, name, pathOnly | (link == .held ? O_NOFOLLOW : 0))
  }

  /// The path of what is held, without links on the way; also of a link.
  ///
  /// ENAMETOOLONG for 4,096 bytes or more, ENOENT where it cannot be reached from the root any more.
  package borrowing func heldPath() throws(Errno) -> [UInt8] {
    let link = try Descriptor.openAny(
      AT_FDCWD, Array("/proc/self/fd/\(rawValue)".utf8), pathOnly | O_NOFOLLOW)
    let path = try link.readLink()
    guard path.first == UInt8(ascii: "/") else { throw .noSuchFile }
    return path
  }

  /// The number of the device it is on, as /proc/self/mountinfo writes it; its file system is asked nothing.
  package borrowing func knownDevice() throws(Errno) -> String {
    var (major, minor): (UInt32, UInt32) = (0, 0)
    let number = rawValue
    try retrying { unsafe lv_known_device(number, &major, &minor) }
    return "\(major):\(minor)"
  }

  /// Whether it is a regular file; its file system is asked nothing.
  package borrowing func isKnownRegular() throws(Errno) -> Bool {
    let number = rawValue
    return mode_t(truncatingIfNeeded: try retrying { lv_known_mode(number) }) & S_IFMT == S_IFREG
  }

  /// Opens the directory this descriptor holds on to, for listing.
  package borrowing func listing() throws(Errno) -> Descriptor {
    try Descriptor.openAny(rawValue, [UInt8(ascii: ".")], O_RDONLY | O_DIRECTORY)
  }

  /// Holds on to the directory above.
  package borrowing func parent() throws(Errno) -> Descriptor {
    try Descriptor.openAny(rawValue, Array("..".utf8), pathOnly | O_DIRECTORY)
  }

  /// Opens a file for reading.
  package static func reading(_ path: [UInt8]) throws(Errno) -> Descriptor {
    try openAny(AT_FDCWD, path, O_RDONLY)
  }

  /// Opens a file in this directory for reading.
  package borrowing func reading(_ name: [UInt8]) throws(Errno) -> Descriptor {
    try Descriptor.openAny(rawValue, name, O_RDONLY)
  }

  private static func openAny(_ directory: CInt, _ path: [UInt8], _ flags: CInt) throws(Errno) -> Descriptor {
    let opened = try unsafe withTerminatedText(path) { path throws(Errno) in
      try retrying { unsafe lv_open_any(directory, path, flags) }
    }
    return Descriptor(adopting: CInt(truncatingIfNeeded: opened), flags & pathOnly != 0 ? .path : .other)
  }
}

private let pathOnly = OpenFlags.path.rawValue

/// The path without links, `.` and `..`.
package func realPath(_ path: [UInt8]) throws(Errno) -> [UInt8] {
  try unsafe withTerminatedText(path) { path throws(Errno) in
    try unsafe withUnsafeTemporaryAllocation(byteCount: Int(PATH_MAX), alignment: 8) {
      room throws(Errno) -> [UInt8] in
      guard let start = room.baseAddress else { throw .noMemory }
      let count = try retrying { unsafe lv_real_path(path, start, room.count) }
      return unsafe Array(UnsafeRawBufferPointer(start: start, count: count))
    }
  }
}

/// Whether a path names a program this user may run.
package func isExecutable(_ path: [UInt8]) -> Bool {
  // What cannot be looked at cannot be run.
  let answer = try? unsafe withTerminatedText(path) { path throws(Errno) in
    try retrying { unsafe lv_is_executable(path) }
  }
  return answer == 1
}

/// The path of a program, in these folders or in PATH.
package func program(_ name: StaticString, in folders: [[UInt8]]) -> [UInt8]? {
  let others = (environment("PATH") ?? []).split(separator: UInt8(ascii: ":")).map { Array($0) }
  return (folders + others).map { $0 + Array("/\(name)".utf8) }.first(where: isExecutable)
}

/// The helper that mounts and unmounts for those who are not root; the usual places first, as it is set-user-id.
package func fusermount() -> [UInt8]? {
  program("fusermount3", in: [Array("/usr/bin".utf8), Array("/bin".utf8)])
}

/// What /proc/self/mountinfo says.
package func ownMountTable() throws(Errno) -> [UInt8] {
  try Descriptor.reading(Array("/proc/self/mountinfo".utf8)).readToEnd()
}

/// Takes a mount away; lazily, if it may go on until nobody uses it.
package func unmount(_ path: [UInt8], isLazy: Bool) throws(Errno) {
  _ = try unsafe withTerminatedText(path) { path throws(Errno) in
    try retrying { unsafe lv_unmount(path, isLazy ? 1 : 0) }
  }
}

/// The value of an environment variable.
package func environment(_ name: StaticString) -> [UInt8]? {
  guard let value = unsafe getenv("\(name)") else { return nil }
  return unsafe Array(UnsafeRawBufferPointer(start: value, count: strlen(value)))
}
