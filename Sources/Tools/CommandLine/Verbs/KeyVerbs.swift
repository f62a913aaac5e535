// The verbs of `varve key`: keyfiles.

extension Option {
  package static let passphrase = Option(
    nil, "passphrase", "ask on the terminal for a passphrase that protects the keyfile")
  package static let passphraseFile = Option(
    nil, "passphrase-file", value: Value("SRC", .path),
    "read the passphrase from SRC: a path, - (standard input), fd:N or cred:ID")
  package static let newPassphraseFile = Option(
    nil, "new-passphrase-file", value: Value("SRC", .path), "read the new passphrase from SRC")
  package static let removePassphrase = Option(
    nil, "remove", "remove the passphrase: the keyfile alone is enough then")
}

extension VerbGroup {
  package static let key = VerbGroup(
    "key", "make and check keyfiles",
    discussion: [
      "A keyfile holds the secret that opens the encrypted files of a volume, under a passphrase or without one. This "
        + "version makes and checks keyfiles; it does not encrypt files yet.",
      "A keyfile is a regular file that belongs to the caller or to root, and that nobody else may read or write. "
        + "Without it, and without a copy of it, what it protects is lost.",
    ],
    examples: [
      Example(
        "varve key create --passphrase /media/stick/team.key", "A keyfile on a stick, with a passphrase."),
      Example("varve key check /media/stick/team.key", "Whether it is sound."),
    ])
}

extension Verb {
  package static let keyCreate = Verb(
    "key create", "make a keyfile",
    options: [.passphrase, .passphraseFile, .json],
    operands: [Operand("FILE", .one, .path, "the keyfile, which must not exist")],
    discussion: [
      "The keyfile has the mode 0400 and is on the disk when this returns. An existing file is never replaced, and "
        + "nothing secret is printed.",
      "cred:ID is $CREDENTIALS_DIRECTORY/ID, as systemd gives credentials to a service. One newline at the end does not "
        + "belong to a passphrase; an empty one is refused.",
    ],
    examples: [
      Example("varve key create team.key", "A keyfile that opens whatever it is for, without a passphrase."),
      Example("varve key create --passphrase team.key", "A passphrase is asked for, twice."),
      Example("varve key create --passphrase-file cred:team team.key", "In a service of systemd."),
    ])

  package static let keyPassphrase = Verb(
    "key passphrase", "set, change or remove the passphrase of a keyfile",
    options: [.passphraseFile, .newPassphraseFile, .removePassphrase, .json],
    operands: [Operand("FILE", .one, .path, "the keyfile")],
    discussion: [
      "The secret stays the same, so the keyfile opens what it opened before. A new file takes the place of the old one; "
        + "copies of the keyfile keep their passphrase.",
      "--passphrase-file gives the passphrase the keyfile has; if it has none, the one it gets. What no source is named "
        + "for is asked on the terminal.",
    ],
    examples: [
      Example("varve key passphrase team.key", "The old passphrase is asked for, then the new one twice."),
      Example("varve key passphrase --remove team.key", "From now on the keyfile alone is enough."),
    ])

  package static let keyCheck = Verb(
    "key check", "check a keyfile, and whether it opens a volume",
    options: [.passphraseFile, .json],
    operands: [
      Operand("FILE", .one, .path, "the keyfile"),
      Operand("UPPER", .optional, .directory, "the upper directory of a volume"),
    ],
    discussion: [
      "Nothing is changed. A passphrase is asked for where the keyfile has one. With UPPER, the keybag of the volume is "
        + "opened with the keyfile; a keyfile that is kept on that volume is refused.",
      "The exit status is 0 if the keyfile is sound and opens the volume, and 1 if not.",
    ],
    examples: [
      Example("varve key check team.key", "Whether the keyfile is sound and the passphrase is right."),
      Example(
        "varve key check team.key /srv/team", "Whether it opens the volume, which need not be mounted."),
    ])

  /// All verbs of the group.
  package static let keys: [Verb] = [.keyCreate, .keyPassphrase, .keyCheck]
}
