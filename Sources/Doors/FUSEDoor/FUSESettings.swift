// /etc/fuse.conf: what the administrator lets users do who mount.

import LinuxFiles

enum FUSESettings {
  /// Where fusermount3 of every distribution reads it.
  static let path = "/etc/fuse.conf"
  /// Where one that was built by hand reads it.
  ///
  /// Which one mounts is libfuse's to choose, and either decides by itself: what is read here only finds better words.
  private static let ownPath = "/usr/local/etc/fuse.conf"

  /// Whether users may let others into their mounts.
  static var letsUsersAllowOthers: Bool {
    [path, ownPath].contains { path in
      // Without the file, or without a right to it, fusermount3 goes without.
      let text = try? Descriptor.open(path: path, .readOnly).read(upTo: 1 << 20)
      return text.map { lines(of: $0).contains("user_allow_other") } ?? false
    }
  }

  /// The lines without comments, and without blanks around them.
  static func lines(of bytes: [UInt8]) -> [String] {
    String(decoding: bytes, as: UTF8.self).split(separator: "\n").map { line in
      let words = line.prefix { $0 != "#" }.split { $0 == " " || $0 == "\t" }
      return words.joined(separator: " ")
    }
  }
}
