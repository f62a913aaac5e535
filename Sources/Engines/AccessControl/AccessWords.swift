// The words of the text form, each in one table that reading and printing share.

/// What kind of object a list is on, as far as its words depend on it.
package enum ObjectKind: Hashable, Sendable {
  /// Everything that is not a directory.
  case file
  case directory

  package init(isDirectory: Bool) {
    self = isDirectory ? .directory : .file
  }
}

/// Keywords of rights and of inheritance, in the order in which they are printed.
enum AccessWords {
  /// A right with its word on files and its word on directories; both are read everywhere.
  struct Right {
    let right: Rights
    let onFile: String
    let onDirectory: String
    /// Whether macOS prints the right on a file.
    let isListedOnFile: Bool

    init(_ right: Rights, _ onFile: String, _ onDirectory: String? = nil, isListedOnFile: Bool = true) {
      self.right = right
      self.onFile = onFile
      self.onDirectory = onDirectory ?? onFile
      self.isListedOnFile = isListedOnFile
    }

    func word(for kind: ObjectKind) -> String { kind == .directory ? onDirectory : onFile }
  }

  /// The thirteen rights `ls -le` of macOS prints, in bit order.
  static let rights: [Right] = [
    Right(.read, "read", "list"),
    Right(.write, "write", "add_file"),
    Right(.execute, "execute", "search"),
    Right(.delete, "delete"),
    Right(.append, "append", "add_subdirectory"),
    Right(.deleteChild, "delete_child", isListedOnFile: false),
    Right(.readAttributes, "readattr"),
    Right(.writeAttributes, "writeattr"),
    Right(.readExtended, "readextattr"),
    Right(.writeExtended, "writeextattr"),
    Right(.readSecurity, "readsecurity"),
    Right(.writeSecurity, "writesecurity"),
    Right(.takeOwnership, "chown"),
  ]

  /// Rights macOS has no command-line word for.
  ///
  /// They are still printed: a list that hides what it grants would deceive its reader.
  static let generic: [Right] = [
    Right(.genericAll, "generic_all"),
    Right(.genericExecute, "generic_execute"),
    Right(.genericWrite, "generic_write"),
    Right(.genericRead, "generic_read"),
  ]

  /// Nothing ever asks for it; printed only where nothing may be lost.
  static let synchronize = Right(.synchronize, "synchronize")

  /// Several rights in one word, for typing only.
  static let shorthands: [(word: String, rights: Rights)] = [
    ("full", Rights(rawValue: 0x3FFE)),
    (
      "modify",
      [
        .read, .write, .execute, .delete, .append, .readAttributes, .writeAttributes, .readExtended,
        .writeExtended, .readSecurity,
      ]
    ),
    // With `execute`, because the same bit lets one pass through a directory; a file still needs its x bit.
    ("readonly", [.read, .execute, .readAttributes, .readExtended, .readSecurity]),
  ]

  /// The word of an entry that carries no right and no inheritance, so that it can be read back.
  static let none = "none"

  /// Identities that have no name of an account.
  static let identities = ["everyone", "owner@", "group@", "nobody@"]

  static let inherited = "inherited"

  static let limitInherit: (word: String, flag: AccessEntry.Inheritance) = ("limit_inherit", .limitInherit)

  /// How entries travel, in printing order.
  static let inheritance: [(word: String, flag: AccessEntry.Inheritance)] = [
    ("file_inherit", .fileInherit),
    ("directory_inherit", .directoryInherit),
    limitInherit,
    ("only_inherit", .onlyInherit),
  ]

  static let audit: [(word: String, flag: AccessEntry.Inheritance)] = [
    ("audit_success", .auditSuccess),
    ("audit_failure", .auditFailure),
  ]

  static let kinds: [(word: String, kind: AccessEntry.Kind)] = [
    ("allow", .allow), ("deny", .deny), ("audit", .audit), ("alarm", .alarm),
  ]

  static let listFlags: [(word: String, flag: AccessList.Flags)] = [
    ("defer_inherit", .deferInherit), ("no_inherit", .noInherit),
  ]

  /// What a word adds to an entry.
  enum Meaning {
    case rights(Rights)
    case inheritance(AccessEntry.Inheritance)
  }

  static func meaning(of word: String) -> Meaning? { meanings[word] }

  /// What people type behind the verb, in a fixed order; nobody types what only other systems use.
  static let typed =
    rights.flatMap { $0.onFile == $0.onDirectory ? [$0.onFile] : [$0.onFile, $0.onDirectory] }
    + shorthands.map(\.word) + inheritance.map(\.word)

  private static let meanings: [String: Meaning] = {
    var meanings: [String: Meaning] = [inherited: .inheritance(.inherited), none: .rights([])]
    for known in rights + generic + [synchronize] {
      meanings[known.onFile] = .rights(known.right)
      meanings[known.onDirectory] = .rights(known.right)
    }
    for known in shorthands { meanings[known.word] = .rights(known.rights) }
    for known in inheritance + audit { meanings[known.word] = .inheritance(known.flag) }
    return meanings
  }()
}
