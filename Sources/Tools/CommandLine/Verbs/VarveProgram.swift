// The program as a whole.
//
// For the parser, the help, the completion and the tests of the manuals, which read one table of verbs and options:
// `ManualTests` find each option in a manual, and no other.

extension Program {
  package static let varve = Program(
    "varve", version: "0.1.0", "file system with macOS flags and access lists",
    verbs: [.mount, .remount, .umount, .status, .chflags, .chmod, .chown, .ls, .find] + Verb.names
      + Verb.layers
      + Verb.accessLists
      + [.why, .access, .check, .compress, .decompress, .protect, .verify, .fsck, .unlock, .lock] + Verb.keys
      + [.completion],
    groups: [.acl, .layout, .key, .keySlot, .layer],
    discussion: [
      "A Varve volume is a directory mounted again, with the file flags and access lists of macOS enforced "
        + "for every program."
    ],
    examples: [
      Example("varve mount /srv/varve/team /mnt/team", "Mount a directory."),
      Example("varve chmod +a \"everyone deny delete\" /mnt/team/plan.txt", "Only root may delete it."),
      Example("varve ls -le /mnt/team", "See who may do what."),
    ])
}
