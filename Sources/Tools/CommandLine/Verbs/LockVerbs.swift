// The verbs that open and close the encrypted files of a mounted volume: unlock and lock.

extension Option {
  package static let lockAfter = Option(
    nil, "after", value: Value("S", .number),
    "lock by itself after S seconds in which no encrypted file was used")
  package static let exportedKeybag = Option(
    nil, "keybag", value: Value("FILE", .path), "use an exported keybag, if the volume has lost its own")
  package static let lockNow = Option(
    nil, "now", "do not wait until the kernel has written what programs wrote: it is lost")
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
      "Only root and the user who mounted the volume can do this. If the keyfile has a passphrase, it is asked for. If the "
        + "keyfile does not open the volume, nothing changes: an open volume stays open.",
      "With --keybag, a volume that has lost its keybag takes the exported one as its own.",
    ],
    examples: [
      Example("varve unlock /mnt/team /media/stick/team.key", "Until it is locked or unmounted."),
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
      "Writes what programs have written to the disk, wipes the keys from memory, and makes the kernel drop what it has "
        + "cached of the files. Files of the class complete-unless-open that are open stay open. Other files on the volume "
        + "stay usable.",
      "With --after nothing is locked now; --after 0 cancels that. Only root and the user who mounted the volume can lock "
        + "it. The exit status is 1 if something could not be written to the disk, or if a key is still in use.",
      "With --sleep it locks the volumes for which /etc/varve/varve.conf says 'sleep = lock'; for root also those of other "
        + "users. The systemd unit varve-sleep.service runs it.",
    ],
    examples: [
      Example("varve lock /mnt/team", "One volume."),
      Example("varve lock --now --all", "At once, and everything."),
      Example("varve lock --after 600 /mnt/team", "After ten minutes without use."),
    ])
}
