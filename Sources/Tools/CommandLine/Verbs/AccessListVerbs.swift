// The verbs of `varve acl`: administrator operations on access lists.

private let change: [Option] = [
  .recursive, .dryRun, .listChanged, .quiet, .fromInput, .undo, .resume, .json,
]

private let paths = Operand("PATH", .any, .path, "files and directories on a Varve volume")

extension VerbGroup {
  package static let acl = VerbGroup(
    "acl", "administer access lists",
    discussion: [
      "A list belongs to one file or directory. Its entries are explicit, or inherited from the directory "
        + "above. The verbs do not need root: each works for every user who has the rights it needs. A link "
        + "that is named is followed; links below are passed over.",
      "With --dry-run a verb only says what it would do. With --undo FILE it saves the old lists first, and "
        + "'varve acl restore FILE' restores them.",
    ],
    examples: [
      Example("varve acl get /mnt/team", "Who may do what."),
      Example("varve acl propagate --dry-run /mnt/team", "What would change if the list were handed down."),
      Example("varve acl check -R /mnt/team", "Entries that do not do what they seem to do."),
    ])
}

extension Verb {
  package static let aclGet = Verb(
    "acl get", "print access lists",
    options: [.recursive, .everyItem, .format, .numbers, .fromInput, .json, .color],
    operands: [paths],
    discussion: [
      "Each list is printed below a comment with its path, so that the output can be given to 'varve acl set'. "
        + "nfs4 is the notation of nfs4_getfacl(1), zfs that of ls(1) on Solaris and FreeBSD; both show the "
        + "entries of the list, not what the mode adds to them."
    ],
    examples: [
      Example("varve acl get report.txt", "The list of one file."),
      Example("varve acl get -R --format nfs4 shared", "All lists in a tree, as NFSv4 tools print them."),
    ])

  package static let aclSet = Verb(
    "acl set", "replace access lists",
    options: [.entry, .listFile, .format] + change,
    operands: [paths],
    discussion: [
      "The entries given replace the whole list, in the order given. To add or remove single entries, use "
        + "'varve chmod +a' and 'varve chmod -a'."
    ],
    examples: [
      Example(
        "varve acl set -e \"group:staff allow modify\" -e \"everyone allow read\" plan.txt",
        "A list of two entries."),
      Example("varve acl set -F list.txt -R drafts", "The same list for a whole tree."),
    ])

  package static let aclEdit = Verb(
    "acl edit", "edit an access list in an editor",
    options: [.numbers, .listChanged, .quiet, .undo, .resume],
    operands: [Operand("PATH", .oneOrMore, .path, "a file or directory on a Varve volume")],
    discussion: [
      "The editor is $VISUAL, else $EDITOR, else sensible-editor. A mistake is shown with its line, and the "
        + "text can be edited again. Nothing is changed if the list has changed meanwhile."
    ],
    examples: [Example("varve acl edit shared", "Change entries as text.")])

  package static let aclPropagate = Verb(
    "acl propagate", "hand a directory's list down to everything below it",
    options: [.handDownOnly, .handDownOwner, .handDownGroup, .handDownMode]
      + change.filter { $0 != .recursive },
    operands: [paths],
    discussion: [
      "Explicit entries stay as they are, in front; inherited entries are replaced by what the directory "
        + "above hands down now. Items whose list is marked no_inherit are left alone with everything below. "
        + "Locked items are reported, and the rest is done.",
      "With --replace every item below gets exactly the entries that are handed down, as with 'Apply to enclosed "
        + "items' on macOS.",
      "With --owner, --group or --mode the directory's owner, group and mode are handed down instead of its "
        + "list. Files get no set-id bits, and are executable only for classes that could execute them before.",
      "Running it again changes nothing. To continue an interrupted run, run it again; if it writes an undo "
        + "file, with --resume.",
    ],
    examples: [
      Example("varve acl propagate --dry-run /mnt/team", "What would change."),
      Example("varve acl propagate --undo before.acl /mnt/team", "Do it, and be able to undo it."),
      Example("varve acl restore before.acl", "Go back."),
      Example("varve acl propagate --group --mode /mnt/team", "One group and one mode for everything below."),
    ])

  package static let aclImport = Verb(
    "acl import", "make entries of the POSIX ACLs that a tree has brought along",
    options: change.filter { $0 != .recursive },
    operands: [paths],
    discussion: [
      "POSIX ACLs of the upper directory count for nothing on a volume, except that their mask is taken for the rights "
        + "of the group. This gives every item below PATH entries that say what its ACL said, the mask included, a mode "
        + "with what the group really had, and no POSIX ACL. Default ACLs become entries that are inherited.",
      "No user gets more rights than the ACL gave. Members of several groups may get less, where POSIX would have given what "
        + "either group has; such items are counted.",
    ],
    examples: [
      Example("varve acl import --dry-run -v /mnt/team", "The entries that each item would get."),
      Example("varve acl import --undo before.acl /mnt/team", "Import them, and be able to go back."),
    ])

  package static let aclInherit = Verb(
    "acl inherit", "renew what an item inherits from the directory above it",
    options: [.handDownOnly] + change,
    operands: [paths],
    discussion: [
      "What 'varve acl propagate' does to each item, for this item alone; with -R, then for everything below. "
        + "Useful after a move: a moved item keeps its old list."
    ],
    examples: [Example("varve acl inherit moved.txt", "As if it had been made where it is now.")])

  package static let aclExplicit = Verb(
    "acl explicit", "turn inherited entries into explicit ones",
    options: [.markNoInherit] + change,
    operands: [paths],
    discussion: [
      "The entries stay, but later runs of 'varve acl propagate' add what is handed down then. With --no-inherit they "
        + "leave the item alone, with everything below it, as 'Disable inheritance' does on Windows. "
        + "'varve acl inherit --replace' goes back."
    ],
    examples: [
      Example("varve acl explicit project", "Its entries no longer change with the directory above."),
      Example("varve acl explicit --no-inherit project", "And nothing new is handed down to it."),
    ])

  package static let aclStrip = Verb(
    "acl strip", "remove access lists",
    options: [.onlyInherited] + change,
    operands: [paths],
    examples: [
      Example("varve acl strip -R drafts", "Only the modes count from now on."),
      Example("varve acl strip --inherited report.txt", "Keep the explicit entries."),
    ])

  package static let aclCopy = Verb(
    "acl copy", "copy an access list to other items",
    options: [.whole] + change,
    operands: [
      Operand("SOURCE", .one, .path, "the item whose list is copied"),
      Operand("PATH", .any, .path, "the items that get it"),
    ],
    discussion: [
      "The explicit entries are copied; inherited entries of the target stay, behind them, as with 'cp -p' on macOS. "
        + "A file gets no inheritance words, and no entry that is for what is made in a directory only."
    ],
    examples: [Example("varve acl copy model shared other", "Both get the entries of model.")])

  package static let aclSort = Verb(
    "acl sort", "put access lists into canonical order",
    options: change,
    operands: [paths],
    discussion: [
      "Explicit entries come before inherited ones, and among each of these, entries that deny before entries "
        + "that allow; otherwise the order stays. "
        + "This can change what a list means."
    ],
    examples: [Example("varve acl sort --dry-run -v report.txt", "See the new order first.")])

  package static let aclCheck = Verb(
    "acl check", "find entries that do not do what they seem to do",
    options: [.recursive, .fromInput, .quiet, .json, .color],
    operands: [paths],
    discussion: [
      "Reports lists out of order, entries that are redundant or never used, numbers without an account, "
        + "inheritance that reaches nothing, inherited entries that the directory above does not hand down, modes "
        + "that undo a list, and damage. The status is 1 if there is anything to report."
    ],
    examples: [Example("varve acl check -R /mnt/team", "Check a tree.")])

  package static let aclDump = Verb(
    "acl dump", "write the access lists of trees to standard output",
    options: [.dumpAll, .withNames, .fromInput, .quiet],
    operands: [paths],
    discussion: [
      "Writes a record for every item, in the format of undo files: see varve-acl(1). With --all it saves flags, modes, "
        + "owners and groups as well."
    ],
    examples: [
      Example("varve acl dump /mnt/team", "Redirect the output to a file to keep it."),
      Example("varve acl dump --all /mnt/team >team.acl", "Lists, flags, modes and owners."),
    ])

  package static let aclRestore = Verb(
    "acl restore", "bring back what a dump or an undo file holds",
    options: [.root, .dryRun, .listChanged, .quiet, .undo, .resume, .json],
    operands: [Operand("FILE", .one, .path, "what 'varve acl dump' or --undo wrote; - is standard input")],
    discussion: [
      "Restores lists, and what chmod, chflags and chown, or 'acl dump --all', saved: modes, owners, flags. Items that no longer exist are "
        + "reported; new items are left alone. A link that has replaced a directory is not followed. To continue an "
        + "interrupted run, run it again."
    ],
    examples: [
      Example("varve acl restore before.acl", "Restore them where they came from."),
      Example("varve acl restore --root /mnt/copy team.acl", "Restore them in a copy of the tree."),
    ])

  /// All verbs of the group.
  package static let accessLists: [Verb] = [
    .aclGet, .aclSet, .aclEdit, .aclPropagate, .aclInherit, .aclImport, .aclExplicit, .aclStrip, .aclCopy,
    .aclSort, .aclCheck, .aclDump, .aclRestore,
  ]
}
