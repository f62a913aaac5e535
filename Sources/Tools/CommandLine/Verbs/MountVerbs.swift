// The verbs for the life of a mount: mount, umount, status.

extension Verb {
  package static let mount = Verb(
    "mount", "mount a volume",
    options: [.mountOptions, .checkOnly, .foreground, .sloppy, .noTable, .namespace, .verbose],
    operands: [
      Operand(
        "SOURCE", .optional, .directory,
        "the directory that keeps the files (the upper directory); without it, the one that varve.conf names"),
      Operand("DIR", .one, .directory, "where the volume appears"),
    ],
    discussion: [
      "Returns when the volume can be used. Status: 0 mounted, 1 wrong usage, 2 system error, 32 the mount "
        + "failed, as for mount(8).",
      "Options: " + MountOptionTable.all.map(\.synopsis).joined(separator: ", ") + ".",
    ],
    examples: [
      Example("varve mount /srv/varve/team /mnt/team", "Mount a directory."),
      Example(
        "varve mount -o ro,noexec /srv/varve/team /mnt/look",
        "Read only: nothing there can be changed or run."),
    ])

  package static let remount = Verb(
    "remount", "change the options of a mounted volume",
    options: [.mountOptions, .checkChange, .sloppy, .verbose],
    operands: [Operand("DIR", .one, .mountPoint, "the mount point")],
    discussion: [
      "Options that are not named stay as they are. Status: 0 changed, 1 wrong usage or not permitted, 32 refused. If it is "
        + "not 0, nothing is changed.",
      "For root, and for the user who mounted: "
        + MountOptionTable.live.map(\.synopsis).joined(separator: ", ")
        + ". 'securelevel' only rises. For root alone: nosuid, nodev, noatime and their opposites.",
    ],
    examples: [
      Example("varve remount -o ro /mnt/team", "Nothing can be changed until it is remounted with rw."),
      Example("varve remount -o acl,securelevel=1 /mnt/team", "From now on access lists are enforced."),
    ])

  package static let umount = Verb(
    "umount", "unmount a volume, and wait until its daemon has ended",
    options: [.lazy, .verbose],
    operands: [Operand("DIR", .one, .mountPoint, "the mount point")],
    examples: [
      Example("varve umount /mnt/team", "When it returns, the directory can be copied or mounted again.")
    ])

  package static let status = Verb(
    "status", "show mounted volumes, or what is in force on one",
    options: [.counters, .json, .color],
    operands: [
      Operand("DIR", .optional, .mountPoint, "anything on a volume; without it, all volumes are listed")
    ],
    examples: [
      Example("varve status", "List the mounted volumes."),
      Example("varve status -v /mnt/team", "What is in force on one, and what its daemon has done."),
      Example("varve status --json /mnt/team", "Everything about one, for a script."),
    ])
}
