// The programs that tests run against a mount: one table, for skipping what cannot be run and for seeing in CI that
// nothing was skipped.

import Foundation
import Glibc

package enum Programs {
  /// A Debian package and what the tests run of it.
  package struct Source: Sendable {
    package let package: String
    package let programs: [String]
    /// Every Debian has it; `scripts/setup` installs all others.
    package let isEssential: Bool

    init(_ package: String, _ programs: String..., isEssential: Bool = false) {
      self.package = package
      self.programs = programs
      self.isEssential = isEssential
    }
  }

  package static let table = [
    Source("acl", "getfacl", "setfacl"),
    Source("attr", "getfattr", "setfattr"),
    Source("bindfs", "bindfs"),
    Source("borgbackup", "borg"),
    Source("bsdutils", "script", isEssential: true),
    Source("btrfs-progs", "btrfs", "mkfs.btrfs"),
    Source("dpkg", "dpkg", "dpkg-deb", isEssential: true),
    Source("e2fsprogs", "chattr", "filefrag", "lsattr", "mkfs.ext4"),
    Source("ed", "ed"),
    Source("fio", "fio"),
    Source("fish", "fish"),
    Source("fuse3", "fusermount3", "mount.fuse3"),
    Source("gcc", "gcc"),
    Source("git", "git"),
    Source("gocryptfs", "gocryptfs"),
    Source("iproute2", "ip"),
    Source("libarchive-tools", "bsdtar"),
    Source("libglib2.0-bin", "gio"),
    Source("libplist-utils", "plistutil"),
    Source("make", "make"),
    Source("nano", "nano"),
    Source("nfs4-acl-tools", "nfs4_getfacl", "nfs4_setfacl", "nfs4_editfacl"),
    Source("perl-base", "perl", isEssential: true),
    Source("python3", "python3"),
    Source("restic", "restic"),
    Source("rsync", "rsync"),
    Source("samba", "smbd", "smbpasswd"),
    Source("shared-mime-info", "update-mime-database"),
    Source("smbclient", "smbclient", "smbcacls"),
    Source("sqlite3", "sqlite3"),
    Source("strace", "strace"),
    Source("stress-ng", "stress-ng"),
    Source("systemd", "systemd-analyze"),
    Source("tar", "tar", isEssential: true),
    Source("util-linux", "setpriv", "unshare", isEssential: true),
    Source("vim-tiny", "vim.tiny"),
    Source("xfsprogs", "mkfs.xfs"),
    Source("zsh", "zsh"),
    Source("zstd", "zstd"),
  ]

  /// Where a program is, or nil.
  package static func path(of name: String) -> String? {
    let own = ProcessInfo.processInfo.environment["PATH"] ?? ""
    let folders = own.split(separator: ":") + ["/usr/bin", "/bin", "/usr/sbin", "/sbin"]
    return folders.lazy.map { "\($0)/\(name)" }.first { access($0, X_OK) == 0 }
  }

  /// Whether programs are there; a test of one that is not is skipped, with that as the reason.
  package static func has(_ names: String...) -> Bool {
    names.allSatisfy { name in
      // Else nobody would notice in CI that the test is skipped.
      precondition(table.contains { $0.programs.contains(name) }, "\(name) is not in the table of programs")
      return path(of: name) != nil
    }
  }
}
