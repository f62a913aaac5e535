// The verbs that look at and change files: chflags, chmod, chown, ls.

private let walkSynopsis = "[-R [-H | -L | -P]]"

/// What goes with every change of many items.
private let changeOptions: [Option] = [.quiet, .fromInput, .undo, .resume, .json]

/// What chflags and chown take besides.
private let itemOptions: [Option] = [
  .force, .actOnLinks, .listChanges, .oneFileSystem, .recursive, .followNamed, .followAll, .followNone,
  .dryRun,
]

private let changeDiscussion =
  "With --dry-run it only says what it would do. With --undo FILE it saves the old state of what it changes, and "
  + "'varve acl restore FILE' restores it. To continue after Ctrl-C, add --resume."

extension Verb {
  package static let chflags = Verb(
    "chflags", "change file flags",
    order: .beforeOperands(dashed: ""),
    options: itemOptions + changeOptions,
    operands: [
      Operand(
        "FLAGS", .one, .list(typedFlagWords),
        "keywords with commas between them, with 'no' in front to clear one; or a number for all flags, octal or with 0x"
      ),
      Operand("PATH", .any, .path, "files and directories on a Varve volume"),
    ],
    forms: ["[-fhnqvx0] \(walkSynopsis) FLAGS PATH..."],
    discussion: [
      "Keywords: \(flagWords.joined(separator: ", ")). 'dump' clears nodump. 'waiting' alone puts locks "
        + "into force that a copying program restored (option twins, see mount.varve(8)). 'compressed' and "
        + "'dataless' are shown, never changed.",
      "Only root can change arch, schg, sappnd, sunlnk and restricted; the owner, and users with the right writesecurity, "
        + "can change the others. With -R a directory is changed after its contents.",
      changeDiscussion,
    ],
    examples: [
      Example("varve chflags uchg contract.pdf", "Nobody can change it until the flag is cleared."),
      Example("varve chflags -R nouchg,hidden drafts", "Unlock and hide a tree."),
    ])

  /// The keywords in the order in which they are printed.
  package static let flagWords = [
    "sappnd", "arch", "schg", "restricted", "sunlnk", "uappnd", "uchg", "nodump", "opaque", "hidden",
    "compressed", "datavault", "dataless",
  ]

  /// What can be typed to change them: with `no` in front they are cleared.
  package static let typedFlagWords = flagWords.filter { $0 != "compressed" && $0 != "dataless" }
    .flatMap { $0 == "nodump" ? [$0, "dump"] : [$0, "no" + $0] }

  package static let chmod = Verb(
    "chmod", "change modes and access lists",
    // Modes such as -w, and -a, begin with a dash without being options.
    order: .beforeOperands(dashed: "arwxXstugo"),
    options: [
      .force, .actOnLinks, .listChanges, .recursive, .followNamed, .followAll, .followNone,
      .removeList, .replaceList, .checkOrder, .dropInherited, .adoptInherited, .dryRun,
    ] + changeOptions,
    operands: [
      Operand(
        "MODE", .any, .words(["+a", "-a", "+a#", "-a#", "=a#", "+ai", "+ai#"]),
        "octal, or symbolic as in u+rwX,go-w"),
      Operand(
        "ENTRY", .any, .entry(after: ["+a", "-a", "+ai", "+a#", "=a#", "+ai#"]),
        "[user:|group:]NAME allow|deny RIGHT,... (in quotes: one word)"),
      Operand("N", .any, .number, "the number of an entry, from 0, as 'varve ls -le' prints it"),
      Operand("PATH", .any, .path, "files and directories on a Varve volume"),
    ],
    forms: [
      "[-fhnqv0] \(walkSynopsis) MODE PATH...",
      "[-fhnqv0] \(walkSynopsis) +a | +ai | -a ENTRY PATH...",
      "[-fhnqv0] \(walkSynopsis) +a# | +ai# | =a# N ENTRY PATH...",
      "[-fhnqv0] \(walkSynopsis) -a# N PATH...",
      "[-fhnqv0] \(walkSynopsis) -N | -E | -C | -I | -i PATH...",
    ],
    discussion: [
      "+a adds an entry at its canonical position, +a# as entry N, -a takes rights away, -a# removes entry N, "
        + "=a# replaces it; +ai and +ai# mark the entry as inherited.",
      "Rights: read, write, execute, append, delete, readattr, writeattr, readextattr, writeextattr, "
        + "readsecurity, writesecurity, chown; of directories: list, add_file, search, add_subdirectory, "
        + "delete_child. Inheritance: file_inherit, directory_inherit, limit_inherit, only_inherit.",
      changeDiscussion,
    ],
    examples: [
      Example(
        "varve chmod -R +a \"group:staff allow list,search,file_inherit,directory_inherit\" /mnt/team",
        "Let the group in, now and in what is made later."),
      Example("varve chmod -a# 0 report.txt", "Remove the first entry."),
      Example("varve chmod u=rw,go= diary.txt", "Set the mode."),
    ])

  package static let chown = Verb(
    "chown", "change owners and groups",
    order: .beforeOperands(dashed: ""),
    options: itemOptions + changeOptions,
    operands: [
      Operand("OWNER", .any, .owner, "a user, by name or number"),
      Operand("GROUP", .any, .text, "a group, by name or number"),
      Operand("PATH", .any, .path, "files and directories"),
    ],
    forms: [
      "[-fhnqvx0] \(walkSynopsis) OWNER[:GROUP] PATH...",
      "[-fhnqvx0] \(walkSynopsis) :GROUP PATH...",
      "[-fhnqvx0] \(walkSynopsis) :group=GROUP PATH...",
    ],
    discussion: [
      ":group=GROUP makes a group the owner instead of a user: all its members have the rights of the owner then. "
        + "'varve ls' shows group:GROUP as the owner, other programs show nobody. The group of the item does not change.",
      "Only root can give items to other users. A user with the right chown can take over an item, or make a group the "
        + "owner that they are a member of. Set-id bits are cleared. With -R a directory is changed after its "
        + "contents, and links are not changed unless -h is given.",
      changeDiscussion,
    ],
    examples: [
      Example("varve chown ann:staff plan.txt", "Give a file to Ann and to the group staff."),
      Example("varve chown -R :group=staff project", "Every member of staff is an owner of the project."),
    ])

  package static let ls = Verb(
    "ls", "list files with flags, access lists and extended attributes",
    options: [
      .long, .entries, .flags, .attributes, .all, .almostAll, .directory, .oneColumn, .recursive,
      .numeric, .humanSizes, .inodes, .reverse, .bySize, .byTime, .fullTime, .changeTime, .accessTime,
      .birthTime, .unsorted, .noOwner, .noGroup, .blocks, .kilobytes, .kindMarks, .directoryMarks, .columns,
      .rows, .stream, .colored, .followNamed, .followAll,
      .followNone, .displayNames, .languages, .skipHidden, .skipPackages, .fromInput, .json, .color,
    ],
    operands: [
      Operand("PATH", .any, .path, "what to list; the working directory if nothing is named")
    ],
    discussion: [
      "The mode is followed by @ if the item has extended attributes, else by + if it has an access list. Names "
        + "are sorted by their bytes; sizes on disk are counted in blocks of 512 bytes.",
      "With --display views are listed, in their own order: names that can be opened below .varve/view. With -a or "
        + "-A they show hidden items, too.",
    ],
    examples: [
      Example("varve ls -le shared", "The long form, with the entries of access lists."),
      Example("varve ls -lOd contract.pdf", "The flags of one file."),
      Example("varve ls --display --as fr /mnt/team", "What a French desktop shows."),
    ])
}
