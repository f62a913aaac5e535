// /etc/fuse.conf: what the administrator lets users do who mount.

import LinuxFiles

enum FUSESettings {
  static let path = "/etc/fuse.conf"

  /// Whether users may let others into their mounts.
  static var letsUsersAllowOthers: Bool {
    // Without the file, or without a right to it, fusermount3 goes without.
    guard let bytes = try? Descriptor.open(path: path, .readOnly).read(upTo: 1 << 20) else { return false }
    return lines(of: bytes).contains("user_allow_other")
  }

  /// The lines without comments, and without blanks around them.
  static func lines(of bytes: [UInt8]) -> [String] {
    String(decoding: bytes, as: UTF8.self).split(separator: "\n").map { line in
      let words = line.prefix { $0 != "#" }.split { $0 == " " || $0 == "\t" }
      return words.joined(separator: " ")
    }
  }
}
