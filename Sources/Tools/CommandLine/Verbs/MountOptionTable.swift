// The options of a mount: the one table of the words after `-o`, for parsing, help, completion, mounting and remounting.
//
// A row says what a word means by a case of `MountEffect`, and the code that carries that out has a case for each, because
// the compiler asks for it: the daemon in `MountWords.swift` and `LiveWords.swift`, and for the flags that the kernel
// keeps of a mount `Remount.swift` of the tool. What the manual and `.varve/status` say is compared with the table by tests.

/// What a word of `-o` does, by who carries it out and when.
package enum MountEffect: Equatable, Sendable {
  /// The volume obeys it, and it can change while the volume is mounted.
  case live(Live)
  /// The kernel keeps it for each mount; in a remount, the remounting program changes it.
  case flag(Flag)
  /// In force until the volume is unmounted.
  case fixed(Fixed)
  /// Says nothing to a daemon.
  case ignored
  /// Asks for a remount.
  case remount

  package enum Live: Equatable, Sendable {
    case readOnly(Bool)
    case programs(Bool)
    case lists(Bool)
    case owners(Bool)
    case secureLevel
    case ownerFromDirectory(Bool)
    case adminGroup
    case chattr
    case groups
    case cache
    case debug(Bool)
  }

  package enum Flag: Equatable, Sendable {
    case setID(Bool)
    case devices(Bool)
    case links(Bool)
    case accessTimes(AccessTimes)
    case directoryAccessTimes(Bool)
  }

  package enum AccessTimes: Sendable {
    /// `atime`: what the kernel does by itself.
    case usual
    case never
    case relative
    case strict
  }

  package enum Fixed: Equatable, Sendable {
    case asynchronous
    case synchronous
    case synchronousNames
    case others(Bool)
    case upperDirectory
    case lowerDirectories
    case twins
    case audit
    case passthrough
    case threads
    case clonedDevice
    case sourceName
    case noReservedDirectory
    case foreground
    /// The mounting program reads it, and hands the secret to the daemon, which never sees this word.
    case keyfile
    case passphraseFile
    /// What the view `default` shows.
    case languages
    /// A view of a volume that is mounted already, which needs no daemon.
    case view
    case withoutFeature(String)
  }
}

/// One word that a mount understands.
package struct MountOptionRow: Equatable, Sendable {
  package let name: String
  /// The name of its value, or its values; nil for a bare word.
  package let value: String?
  package let effect: MountEffect
  /// What words that contradict each other have in common; of those the last one is in force.
  package let family: String

  fileprivate init(_ name: String, _ effect: MountEffect, value: String? = nil, family: String? = nil) {
    self.name = name
    self.value = value
    self.effect = effect
    self.family = family ?? name
  }

  /// As help shows it: `ro` or `securelevel=N`.
  package var synopsis: String {
    value.map { "\(name)=\($0)" } ?? name
  }

  fileprivate var isLive: Bool {
    if case .live = effect { true } else { false }
  }
}

/// Two words that contradict each other; the first one switches on.
private func either(_ on: String, _ off: String, _ effect: (Bool) -> MountEffect) -> [MountOptionRow] {
  contradicting([(on, effect(true)), (off, effect(false))])
}

/// Words that contradict each other.
private func contradicting(_ words: [(name: String, effect: MountEffect)]) -> [MountOptionRow] {
  words.map { MountOptionRow($0.name, $0.effect, family: words[0].name) }
}

private func ignored(_ names: String...) -> [MountOptionRow] {
  names.map { MountOptionRow($0, .ignored) }
}

/// What may follow `-o`.
package enum MountOptionTable {
  /// The words of mount(8) that are taken from everybody.
  package static let common: [MountOptionRow] = {
    let rows: [[MountOptionRow]] = [
      either("ro", "rw") { .live(.readOnly($0)) },
      either("suid", "nosuid") { .flag(.setID($0)) },
      either("dev", "nodev") { .flag(.devices($0)) },
      either("exec", "noexec") { .live(.programs($0)) },
      contradicting([
        ("atime", .flag(.accessTimes(.usual))), ("noatime", .flag(.accessTimes(.never))),
        ("relatime", .flag(.accessTimes(.relative))), ("norelatime", .flag(.accessTimes(.strict))),
        ("strictatime", .flag(.accessTimes(.strict))), ("nostrictatime", .flag(.accessTimes(.relative))),
      ]),
      either("lazytime", "nolazytime") { _ in .ignored },
      either("diratime", "nodiratime") { .flag(.directoryAccessTimes($0)) },
      either("symfollow", "nosymfollow") { .flag(.links($0)) },
      [
        MountOptionRow("sync", .fixed(.synchronous)), MountOptionRow("async", .fixed(.asynchronous)),
        MountOptionRow("dirsync", .fixed(.synchronousNames)),
      ],
      ignored("defaults"),
      either("auto", "noauto") { _ in .ignored },
      [MountOptionRow("nouser", .ignored, family: "user")],
      ignored("users", "owner", "group", "nofail", "_netdev"),
      [MountOptionRow("remount", .remount)],
      ignored("silent", "loud"),
      either("iversion", "noiversion") { _ in .ignored },
      either("mand", "nomand") { _ in .ignored },
      [MountOptionRow("user", .ignored, value: "NAME"), MountOptionRow("comment", .ignored, value: "TEXT")],
    ]
    return rows.flatMap { $0 }
  }()

  /// The words of ours.
  package static let own: [MountOptionRow] = {
    let rows: [[MountOptionRow]] = [
      either("allow_other", "noallow_other") { .fixed(.others($0)) },
      [
        MountOptionRow("lower", .fixed(.lowerDirectories), value: "DIRS"),
        MountOptionRow("lowerdir", .fixed(.lowerDirectories), value: "DIRS", family: "lower"),
        MountOptionRow("upperdir", .fixed(.upperDirectory), value: "DIR"),
        MountOptionRow("workdir", .ignored, value: "DIR"),
      ],
      either("acl", "noacl") { .live(.lists($0)) },
      either("owners", "noowners") { .live(.owners($0)) },
      [MountOptionRow("securelevel", .live(.secureLevel), value: "N")],
      either("suiddir", "nosuiddir") { .live(.ownerFromDirectory($0)) },
      [
        MountOptionRow("admin_group", .live(.adminGroup), value: "GROUP"),
        MountOptionRow("chattr", .live(.chattr), value: "system|user"),
        MountOptionRow("groups", .live(.groups), value: "process|nss"),
        MountOptionRow("cache", .live(.cache), value: "shared|exclusive|none"),
        MountOptionRow("twins", .fixed(.twins)),
        MountOptionRow("view", .fixed(.view), value: "display|all"),
        MountOptionRow("lang", .fixed(.languages), value: "LANGUAGES"),
        MountOptionRow("ext", .fixed(.view), value: "bit|all|never"),
        MountOptionRow("keyfile", .fixed(.keyfile), value: "SRC"),
        MountOptionRow("passphrase_file", .fixed(.passphraseFile), value: "SRC"),
        MountOptionRow("audit", .fixed(.audit), value: "FILE|journal"),
        MountOptionRow("passthrough", .fixed(.passthrough), value: "auto|off"),
        MountOptionRow("threads", .fixed(.threads), value: "N"),
        MountOptionRow("clone_fd", .fixed(.clonedDevice)),
        MountOptionRow("fsname", .fixed(.sourceName), value: "TEXT"),
        MountOptionRow("nomagic", .fixed(.noReservedDirectory)),
      ],
      either("debug", "nodebug") { .live(.debug($0)) },
      [MountOptionRow("foreground", .fixed(.foreground))],
    ]
    return rows.flatMap { $0 }
  }()

  /// The words that can change while a volume is mounted.
  package static var live: [MountOptionRow] { rows.filter(\.isLive) }

  /// What help names.
  package static var all: [MountOptionRow] {
    common.filter { ["ro", "noexec", "noatime"].contains($0.name) } + own
  }

  private static let rows = common + own
  private static let byName = Dictionary(uniqueKeysWithValues: rows.map { ($0.name, $0) })

  /// What completion offers: words, words with each of their values, and `name=` where any text may follow.
  package static let completions: [String] = rows.flatMap { row in
    guard let value = row.value else { return [row.name] }
    let bare = row.name == "user" ? [row.name] : []
    return bare
      + value.split(separator: "|").map { choice in
        let isWord = choice.allSatisfy { $0.isLowercase }
        return isWord ? "\(row.name)=\(choice)" : "\(row.name)="
      }
  }

  /// What the kernel writes into the table of mounts, from where mount(8) hands it on when it remounts.
  package static let fromTable: Set<String> = ["user_id", "group_id", "max_read", "blksize"]

  /// What the connection to the kernel consists of, and what is used of the file system below; `no_` in front of one
  /// does without it.
  ///
  /// Anything else that begins so is a mistake: `no_exec` must not be taken and ignored.
  package static let kernelFeatures: Set<String> = [
    "init_ext", "async_read", "atomic_o_trunc", "big_writes", "ioctl_dir", "auto_inval_data",
    "explicit_inval_data", "readdirplus", "readdirplus_auto", "parallel_dirops", "max_pages", "killpriv_v2",
    "passthrough",
    "epoch", "statx", "tmpfile", "noreplace", "exchange", "unlinked", "capability", "birthtime",
    "trusted", "local",
  ]

  /// What a word does; nil if it is unknown.
  ///
  /// `x-` words are for others.
  package static func effect(of name: String) -> MountEffect? {
    if let row = byName[name] { return row.effect }
    if name.hasPrefix("no_"), kernelFeatures.contains(String(name.dropFirst(3))) {
      return .fixed(.withoutFeature(String(name.dropFirst(3))))
    }
    return name.hasPrefix("x-") || name.hasPrefix("X-") ? .ignored : nil
  }

  /// What a word has in common with those that contradict it.
  package static func family(of name: String) -> String { byName[name]?.family ?? name }

  /// Whether an option of this name is understood.
  package static func isKnown(_ name: String) -> Bool { effect(of: name) != nil }

  /// The sentence about a word that is given a value and takes none.
  ///
  /// `noowners=no` would otherwise switch on what its writer wants off.
  package static func complaint(aboutValueOf name: String) -> String? {
    let isBare =
      if let row = byName[name] { row.value == nil } else { name.hasPrefix("no_") && isKnown(name) }
    return isBare ? "'\(name)' takes no value" : nil
  }

  /// The sentence about a value that is none of those an option takes.
  package static func complaint(aboutChoiceOf name: String) -> String {
    let words = byName[name]?.value?.split(separator: "|") ?? []
    return "'\(name)' is \(words.dropLast().joined(separator: ", ")) or \(words.last ?? "")"
  }

  /// The sentence about a word that cannot stand there; nil if it can.
  package static func complaint(about name: String, hasValue: Bool) -> String? {
    guard isKnown(name) else { return complaint(name) }
    return hasValue ? complaint(aboutValueOf: name) : nil
  }

  /// The sentence about a value of a view's options that stands alone, as in the name of a view; nil if it is none.
  package static func complaint(aboutLoneValue name: String) -> String? {
    let options = ["view", "ext"].filter {
      byName[$0]?.value?.split(separator: "|").contains { $0 == name } == true
    }
    if options.isEmpty { return nil }
    return "'\(name)' is a value, not an option; write "
      + options.map { "\($0)=\(name)" }.joined(separator: " or ")
  }

  /// The sentence about an option nobody knows.
  package static func complaint(_ name: String) -> String {
    "unknown mount option '\(name)'" + (advice[name] ?? suggestion(for: name, among: rows.map(\.name)))
  }

  /// What is said of options that other file systems have, where the nearest word would lead astray.
  private static let advice: [String: String] = {
    let owner =
      "; a volume keeps the owner of every item: 'varve chown' changes it, 'noowners' ignores all of them"
    let mode =
      "; a volume keeps the mode of every item: entries that are inherited give rights to what is made"
    return [
      "uid": owner, "gid": owner, "umask": mode, "fmask": mode, "dmask": mode, "file_mode": mode,
      "dir_mode": mode,
      "key": "; did you mean 'keyfile'?", "passphrase": "; did you mean 'passphrase_file'?",
      "default_permissions": "; it is not needed: the volume checks every access itself",
    ]
  }()
}
