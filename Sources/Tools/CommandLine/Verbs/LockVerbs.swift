// The verbs that open and close the encrypted files of a mounted volume: unlock and lock.

extension Option {
  package static let lockAfter = Option(
    nil, "after", value: Value("S", .number),
    "lock by itself when nobody has asked for encrypted files for S seconds")
  package static let exportedKeybag = Option(
    nil, "keybag", value: Value("FILE", .path), "use an exported keybag, where the volume's own is lost")
  package static let lockNow = Option(
    nil, "now", "do not wait for what programs have written and the kernel has not: it is lost")
  package static let lockAll = Option(
    nil, "all", "close the class until-first-unlock, too")
  package static let lockForSleep = Option(
    nil, "sleep", "lock the volumes that the settings want locked when the machine goes to sleep")
}

extension Verb {
  package static let unlock = Verb(
    "unlock", "open the encrypted files of a mounted volume",
    options: [.lockAfter, .exportedKeybag, .passphraseFile, .verbose, .json],
    operands: [
      Operand("DIR", .one, .directory, "the mount point, or anything on the volume"),
      Operand("KEYFILE", .one, .path, "the keyfile: a path, - (standard input), fd:N or cred:ID"),
    ],
    discussion: [
      "For root, and for the user who mounted. A passphrase is asked for where the keyfile has one. Nothing changes if the "
        + "keyfile does not open the volume, and an open volume stays open.",
      "With --keybag, a volume that has lost its keybag takes the exported one as its own.",
    ],
    examples: [
      Example("varve unlock /mnt/team /media/stick/team.key", "Until somebody locks it, or it is unmounted."),
      Example(
        "varve unlock --after 600 /mnt/team team.key", "It locks by itself after ten minutes without use."),
      Example(
        "varve unlock --keybag team.keybag /mnt/team team.key", "The volume has lost its own keybag."),
    ])

  package static let lock = Verb(
    "lock", "close the encrypted files of mounted volumes",
    options: [.lockNow, .lockAll, .lockAfter, .lockForSleep, .verbose, .json],
    operands: [
      Operand(
        "DIR", .optional, .directory,
        "the mount point, or anything on the volume; without it, all volumes that you have mounted")
    ],
    discussion: [
      "What programs have written is brought to the disk, the keys are wiped from memory, and the kernel drops what it "
        + "keeps of the files. Files of the class complete-unless-open stay open where they are open. Everything else on "
        + "the volume goes on.",
      "With --after nothing is locked now; --after 0 takes that back. For root, and for the user who mounted. The exit "
        + "status is 1 if something could not be brought to the disk, or if a key is still in use.",
      "With --sleep those volumes are locked for which /etc/varve/varve.conf says 'sleep = lock'; for root those of other "
        + "users, too. The systemd unit varve-sleep.service does so.",
    ],
    examples: [
      Example("varve lock /mnt/team", "One volume."),
      Example("varve lock --now --all", "At once, and everything."),
      Example("varve lock --after 600 /mnt/team", "When nobody has used it for ten minutes."),
    ])
}
