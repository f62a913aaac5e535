// What there is to see of an object after something happened to it.

import Glibc
import LinuxFiles
import MountSupport

/// Owner, mode, flags and list, as root sees them on the mount.
struct Shown: Equatable, CustomStringConvertible {
  var owner: String
  var mode: String
  var flags = ""
  var list: [String] = []

  init(_ owner: String, _ mode: String, flags: String = "", list: [String] = []) {
    self.owner = owner
    self.mode = mode
    self.flags = flags
    self.list = list
  }

  /// On a `plain` directory, which is no mount, there are no flags and lists.
  init(of path: String, plain: Bool = false) throws {
    let status = try Calls.status(path).get()
    owner = "\(status.st_uid):\(status.st_gid)"
    mode = "0" + String(status.st_mode & 0o7777, radix: 8)
    guard !plain else { return }
    flags = try Attribute.text(path, Attribute.flags).get()
    if case .success(let text) = Attribute.text(path, Attribute.list) {
      list = text.split(separator: "\n").map(String.init)
    }
  }

  var description: String { "\(owner) \(mode) {\(flags)} \(list)" }
}

extension MountedVolume {
  /// Makes a directory as root, with owner, mode, list and, last, flags; answers its path.
  func directory(
    _ name: String, _ user: UInt32, _ group: UInt32, _ mode: mode_t, list: [String] = [], flags: String = ""
  ) throws -> String {
    let path = "\(self.path)/\(name)"
    guard mkdir(path, 0o700) == 0 else { throw TestFailure("mkdir \(path): \(Errno.current)") }
    try dress(path, user, group, mode, list: list, flags: flags)
    return path
  }

  /// The same with a file of a few bytes.
  func file(
    _ name: String, _ user: UInt32, _ group: UInt32, _ mode: mode_t, list: [String] = [], flags: String = ""
  ) throws -> String {
    let path = "\(self.path)/\(name)"
    if let error = Calls.write(path, "content") { throw TestFailure("write \(path): \(error)") }
    try dress(path, user, group, mode, list: list, flags: flags)
    return path
  }

  func dress(
    _ path: String, _ user: UInt32, _ group: UInt32, _ mode: mode_t, list: [String] = [], flags: String = ""
  ) throws {
    guard chown(path, user, group) == 0, chmod(path, mode) == 0 else {
      throw TestFailure("dress \(path): \(Errno.current)")
    }
    if !list.isEmpty, let error = Attribute.set(path, Attribute.list, list.joined(separator: "\n")) {
      throw TestFailure("list of \(path): \(error)")
    }
    if !flags.isEmpty, let error = Attribute.set(path, Attribute.flags, flags) {
      throw TestFailure("flags of \(path): \(error)")
    }
  }
}
