// The verbs of `varve key`: keyfiles.

extension Option {
  package static let passphrase = Option(
    nil, "passphrase", "ask on the terminal for a passphrase that protects the keyfile")
  package static let passphraseFile = Option(
    nil, "passphrase-file", value: Value("SRC", .path),
    "read the passphrase from SRC: a path, - (standard input), fd:N or cred:ID")
  package static let newPassphraseFile = Option(
    nil, "new-passphrase-file", value: Value("SRC", .path), "read the new passphrase from SRC")
  package static let presentKeyfile = Option(
    nil, "with", value: Value("OLD", .path),
    "a keyfile that opens the volume: a path, - (standard input), fd:N or cred:ID")
  package static let presentPassphraseFile = Option(
    nil, "with-passphrase-file", value: Value("SRC", .path), "read the passphrase of OLD from SRC")
  package static let newKeybag = Option(
    nil, "new-keybag", "make a keybag even if there are encrypted files, which it will not open")
  package static let removePassphrase = Option(
    nil, "remove", "remove the passphrase; then the keyfile alone is enough")
}

extension VerbGroup {
  package static let key = VerbGroup(
    "key", "make and check keyfiles, and say which open a volume",
    discussion: [
      "A keyfile holds the secret that opens the encrypted files of a volume. It can have a passphrase.",
      "A keyfile is a regular file that belongs to the caller or to root, and that no other user may read or write. "
        + "If it is lost and there is no copy, what it protects is lost.",
    ],
    examples: [
      Example(
        "varve key create --passphrase /media/stick/team.key", "A keyfile on a stick, with a passphrase."),
      Example("varve key check /media/stick/team.key", "Whether it is sound."),
      Example("varve key slot add /mnt/team team.key", "From now on it opens the volume."),
    ])

  package static let keySlot = VerbGroup(
    "key slot", "say which keyfiles open a volume",
    discussion: [
      "A volume has a keyslot for each keyfile that opens it, 64 at most; they are in its keybag. The volume must be "
        + "mounted, for writing if something is changed. Only root and the user who mounted it can do this.",
      "After a keyslot is removed, its keyfile does not open later copies of the volume. A person who opened the volume "
        + "before, or has an old keybag, may have kept the key itself. Then only a new volume helps: copy the files to it "
        + "through both mounts.",
    ],
    examples: [
      Example("varve key slot add /mnt/team team.key", "The first keyfile of a volume."),
      Example("varve key slot add /mnt/team second.key --with team.key", "Another one."),
      Example("varve key slot list /mnt/team", "Which keyfiles there are, by their identifiers."),
    ])
}

extension Verb {
  package static let keyCreate = Verb(
    "key create", "make a keyfile",
    options: [.passphrase, .passphraseFile, .json],
    operands: [Operand("FILE", .one, .path, "the keyfile, which must not exist")],
    discussion: [
      "The keyfile has the mode 0400 and is on the disk when the command returns. An existing file is never replaced, and "
        + "no secret is printed.",
      "cred:ID is $CREDENTIALS_DIRECTORY/ID, as systemd gives credentials to a service. One newline at the end of a "
        + "passphrase is ignored; an empty passphrase is refused.",
    ],
    examples: [
      Example("varve key create team.key", "A keyfile without a passphrase."),
      Example("varve key create --passphrase team.key", "A passphrase is asked for, twice."),
      Example("varve key create --passphrase-file cred:team team.key", "In a service of systemd."),
    ])

  package static let keyPassphrase = Verb(
    "key passphrase", "set, change or remove the passphrase of a keyfile",
    options: [.passphraseFile, .newPassphraseFile, .removePassphrase, .json],
    operands: [Operand("FILE", .one, .path, "the keyfile")],
    discussion: [
      "The secret stays the same, so the keyfile opens what it opened before. A new file replaces the old one; "
        + "copies of the keyfile keep their passphrase.",
      "--passphrase-file gives the present passphrase; if the keyfile has none, the new one. A passphrase without a "
        + "source is asked for on the terminal.",
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
      Operand("DIR", .optional, .directory, "a mounted volume, or the upper directory of one"),
    ],
    discussion: [
      "Nothing is changed. If the keyfile has a passphrase, it is asked for. With DIR, the keyfile is tried on the keybag of "
        + "the volume, and the volume stays locked; a keyfile that is on that volume is refused.",
      "The exit status is 0 if the keyfile is sound and opens the volume, and 1 if not.",
    ],
    examples: [
      Example("varve key check team.key", "Whether the keyfile is sound and the passphrase is right."),
      Example(
        "varve key check team.key /srv/varve/team", "Whether it opens the volume, mounted or not."),
    ])

  package static let keySlotAdd = Verb(
    "key slot add", "let another keyfile open a volume",
    options: [.presentKeyfile, .passphraseFile, .presentPassphraseFile, .newKeybag, .json],
    operands: [
      Operand("DIR", .one, .directory, "the mount point, or anything on the volume"),
      Operand("NEW", .one, .path, "the keyfile that gets a keyslot"),
    ],
    discussion: [
      "The first keyslot makes the keybag, and needs no other keyfile; later --with names one that opens the volume. "
        + "--passphrase-file gives the passphrase of NEW; a passphrase without a source is asked for on the terminal.",
      "If all keyfiles of the volume are lost, or its keybag is lost, the encrypted files are lost. So make two keyfiles, "
        + "give both a keyslot, export the keybag, and keep them in different places.",
      "A volume that has lost its keybag gets it back with 'varve unlock --keybag', not here: if there are encrypted files, "
        + "no keybag is made without --new-keybag.",
    ],
    examples: [
      Example("varve key slot add /mnt/team team.key", "The first keyfile of a volume."),
      Example("varve key slot add /mnt/team second.key --with team.key", "A second one."),
    ])

  package static let keySlotRemove = Verb(
    "key slot remove", "no longer let a keyfile open a volume",
    options: [.presentKeyfile, .presentPassphraseFile, .json],
    operands: [
      Operand("DIR", .one, .directory, "the mount point, or anything on the volume"),
      Operand("FILE|ID", .one, .path, "the keyfile, or its identifier if it is lost"),
    ],
    discussion: [
      "--with names a keyfile that opens the volume, which may be the same. The last keyslot cannot be removed. The passphrase "
        + "of FILE is not needed."
    ],
    examples: [
      Example("varve key slot remove /mnt/team old.key --with team.key", "old.key no longer opens it.")
    ])

  package static let keySlotList = Verb(
    "key slot list", "list the keyfiles that open a volume",
    options: [.json],
    operands: [Operand("DIR", .one, .directory, "the mount point, or anything on the volume")],
    discussion: [
      "Prints their identifiers, one a line; 'varve key check' prints the identifier of a keyfile."
    ],
    examples: [Example("varve key slot list /mnt/team", "Which keyfiles could open it.")])

  package static let keyExport = Verb(
    "key export", "write a copy of a volume's keybag to a file",
    options: [.presentKeyfile, .presentPassphraseFile, .json],
    operands: [
      Operand("DIR", .one, .directory, "the mount point, or anything on the volume"),
      Operand("FILE", .one, .path, "the file, which must not exist"),
    ],
    discussion: [
      "The copy is useless without a keyfile. With one, 'varve unlock --keybag' opens a volume that has lost its own "
        + "keybag. Export again when keyslots have changed. With --with, the keybag is only exported if that keyfile opens "
        + "it."
    ],
    examples: [Example("varve key export /mnt/team /media/stick/team.keybag", "Keep it in another place.")]
  )

  /// All verbs of the group.
  package static let keys: [Verb] = [
    .keyCreate, .keyPassphrase, .keyCheck, .keySlotAdd, .keySlotRemove, .keySlotList, .keyExport,
  ]
}
