// The options of a mount: for help, for `-s`, and for a check without mounting.

import Arguments

/// One option that a mount understands.
package struct MountOptionEntry: Equatable, Sendable {
  package let name: String
  /// The name of its value; nil for a bare word.
  package let value: String?
  /// Whether this version knows the word and refuses to mount with it: to ignore one could expose data or lose it.
  package let isPlanned: Bool

  fileprivate init(_ name: String, _ value: String? = nil, isPlanned: Bool = false) {
    self.name = name
    self.value = value
    self.isPlanned = isPlanned
  }

  /// As help shows it: `ro` or `securelevel=N`.
  package var synopsis: String {
    value.map { "\(name)=\($0)" } ?? name
  }
}

/// What may follow `-o`.
package enum MountOptionTable {
  /// The words of mount(8) that are taken from everybody.
  package static let common: [MountOptionEntry] =
    [
      "ro", "rw", "suid", "nosuid", "dev", "nodev", "exec", "noexec", "atime", "noatime", "relatime",
      "norelatime", "strictatime", "nostrictatime", "lazytime", "nolazytime", "diratime", "nodiratime",
      "symfollow", "nosymfollow",
      "sync", "async", "dirsync", "defaults", "auto", "noauto", "nouser", "users", "owner", "group", "nofail",
      "_netdev", "remount", "silent", "loud", "iversion", "noiversion", "mand", "nomand",
    ].map { MountOptionEntry($0) } + [MountOptionEntry("user", "NAME"), MountOptionEntry("comment", "TEXT")]

  /// The words of ours.
  package static let own: [MountOptionEntry] = [
    MountOptionEntry("allow_other"),
    MountOptionEntry("noallow_other"),
    MountOptionEntry("lower", "A:B", isPlanned: true),
    MountOptionEntry("lowerdir", "A:B", isPlanned: true),
    MountOptionEntry("upperdir", "DIR"),
    MountOptionEntry("workdir", "DIR"),
    MountOptionEntry("acl"),
    MountOptionEntry("noacl"),
    MountOptionEntry("owners"),
    MountOptionEntry("noowners"),
    MountOptionEntry("securelevel", "N"),
    MountOptionEntry("suiddir"),
    MountOptionEntry("nosuiddir"),
    MountOptionEntry("admin_group", "GROUP"),
    MountOptionEntry("chattr", "system|user"),
    MountOptionEntry("groups", "process|nss"),
    MountOptionEntry("cache", "shared|exclusive|none"),
    MountOptionEntry("twins"),
    MountOptionEntry("view", "display", isPlanned: true),
    MountOptionEntry("lang", "LANGUAGE", isPlanned: true),
    MountOptionEntry("keyfile", "SOURCE", isPlanned: true),
    MountOptionEntry("interop", "overlay", isPlanned: true),
    MountOptionEntry("audit", "FILE|journal"),
    MountOptionEntry("passthrough", "auto|off"),
    MountOptionEntry("threads", "N"),
    MountOptionEntry("clone_fd"),
    MountOptionEntry("fsname", "TEXT"),
    MountOptionEntry("nomagic"),
    MountOptionEntry("debug"),
    MountOptionEntry("nodebug"),
    MountOptionEntry("foreground"),
  ]

  /// The words that can change while a volume is mounted.
  package static let live: [MountOptionEntry] = {
    let names: Set = [
      "ro", "rw", "exec", "noexec", "acl", "noacl", "owners", "noowners", "securelevel", "suiddir",
      "nosuiddir",
      "admin_group", "chattr", "groups", "cache", "debug", "nodebug",
    ]
    return (common + own).filter { names.contains($0.name) }
  }()

  /// What help names.
  package static var all: [MountOptionEntry] {
    [MountOptionEntry("ro"), MountOptionEntry("noexec"), MountOptionEntry("noatime")]
      + own.filter { !$0.isPlanned }
  }

  /// Whether an option of this name will be understood by a later version.
  package static func isPlanned(_ name: String) -> Bool {
    own.contains { $0.name == name && $0.isPlanned }
  }

  /// What completion offers: words, words with each of their values, and `name=` where any text may follow.
  package static let completions: [String] = (common + own).filter { !$0.isPlanned }.flatMap { entry in
    guard let value = entry.value else { return [entry.name] }
    let bare = entry.name == "user" ? [entry.name] : []
    return bare
      + value.split(separator: "|").map { choice in
        let isWord = choice.allSatisfy { $0.isLowercase }
        return isWord ? "\(entry.name)=\(choice)" : "\(entry.name)="
      }
  }

  /// What the kernel writes into the table of mounts, from where mount(8) hands it on when it remounts.
  package static let fromTable: Set<String> = ["user_id", "group_id", "max_read", "blksize"]

  /// What the connection to the kernel consists of, and what is used of the file system below; `no_` in front of one
  /// does without it.
  ///
  /// Anything else that begins so is a mistake: `no_exec` must not be taken and ignored.
  package static let kernelFeatures: Set<String> = [
    "init_ext", "async_read", "atomic_o_trunc", "big_writes", "ioctl_dir", "auto_inval_data", "readdirplus",
    "readdirplus_auto", "parallel_dirops", "max_pages", "killpriv_v2", "passthrough",
    "epoch", "statx", "tmpfile",
  ]

  /// The feature that a word switches off.
  package static func switchedOff(by name: String) -> String? {
    guard name.hasPrefix("no_") else { return nil }
    let feature = String(name.dropFirst(3))
    return kernelFeatures.contains(feature) ? feature : nil
  }

  /// Whether an option of this name is understood.
  ///
  /// `user` comes with and without a value, and `x-` words are for others.
  package static func isKnown(_ name: String) -> Bool {
    if name.hasPrefix("x-") || name.hasPrefix("X-") || switchedOff(by: name) != nil { return true }
    return (common + own).contains { $0.name == name }
  }

  /// The sentence about a word that is given a value and takes none.
  ///
  /// `noowners=no` would otherwise switch on what its writer wants off.
  package static func complaint(aboutValueOf name: String) -> String? {
    let isBare =
      (common + own).contains { $0.name == name && $0.value == nil } || switchedOff(by: name) != nil
    return isBare ? "'\(name)' takes no value" : nil
  }

  /// The sentence about a word that cannot stand there; nil if it can.
  package static func complaint(about name: String, hasValue: Bool) -> String? {
    guard isKnown(name) else { return complaint(name) }
    return hasValue ? complaint(aboutValueOf: name) : nil
  }

  /// The sentence about an option nobody knows.
  package static func complaint(_ name: String) -> String {
    "unknown mount option '\(name)'" + suggestion(for: name, among: (common + own).map(\.name))
  }
}
