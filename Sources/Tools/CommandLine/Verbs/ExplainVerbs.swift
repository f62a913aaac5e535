// The verbs that explain decisions: why, access.

extension Option {
  package static let asUser = Option(
    nil, "as", value: Value("USER[:GROUP,...]", .user),
    "ask about another user; named groups replace those of the account, the first is the primary one")
  package static let lastDenials = Option(
    nil, "last", "print your latest denials, or N of them, with their reasons; as root, those of all users")
  package static let everyObstacle = Option(
    nil, "all", "list every obstacle, not only the first, and the command that lifts each")
}

extension Verb {
  /// What `varve why` can be asked about, in the order of its manual.
  package static let operationWords = [
    "read", "write", "append", "execute", "search", "list", "create", "mkdir", "delete", "rename", "link",
    "readattr", "writeattr", "readxattr", "writexattr", "readacl", "writeacl", "chown", "chmod", "chflags",
  ]

  /// What a right that is no operation is needed for.
  package static let operationsOfRights = [
    "add_file": "create", "add_subdirectory": "mkdir", "delete_child": "delete", "readextattr": "readxattr",
    "writeextattr": "writexattr", "readsecurity": "readacl", "writesecurity": "writeacl",
  ]

  package static let why = Verb(
    "why", "say whether something is allowed, and which rule says so",
    options: [.asUser, .everyObstacle, .lastDenials, .json, .color],
    operands: [
      Operand("OP", .optional, .words(operationWords), "what would be done"),
      Operand("PATH", .optional, .path, "to what; a new name for create and mkdir, or a directory"),
      Operand("PATH2", .optional, .path, "the new name of a rename or link; beside the old one if left out"),
    ],
    forms: ["[--as USER[:GROUP,...]] [--all] OP PATH [PATH2]", "--last [N]"],
    discussion: [
      "OP is one of " + operationWords.joined(separator: ", ") + ".",
      "Nothing is done. The daemon walks the path as the kernel would and asks the rules it enforces, so the "
        + "answer is what would happen now. You are told what you may read yourself, and about others only where "
        + "you may read every rule on the way; root is told everything.",
      "With --all the answer does not end at the first refusal: each obstacle is told with the command that would "
        + "lift it, as if those before it were lifted. What lies behind a directory that may not be searched only "
        + "root is told.",
      "Status: 0 allowed, 1 denied, 2 wrong usage, or something else than a rule is in the way.",
    ],
    examples: [
      Example("varve why delete /mnt/team/plan.txt", "Which rule lets you, or does not."),
      Example("varve why --as ann write /mnt/team/plan.txt", "The same about another user."),
      Example("varve why --all write /mnt/team/plan.txt", "Everything that is in the way, and what to type."),
      Example("varve why --last", "What you were refused lately, and why."),
    ])

  package static let access = Verb(
    "access", "print what may be done with files, as a table",
    options: [.asUser, .fromInput, .json, .color],
    operands: [
      Operand("OPS", .any, .list(operationWords), "only these, with commas between them"),
      Operand("PATH", .any, .path, "files and directories on a Varve volume"),
    ],
    forms: ["[--as USER[:GROUP,...]] [OPS] PATH..."],
    discussion: [
      "Prints a line for every operation of 'varve why', with the rule that decides. A file that has the name of an "
        + "operation is written as ./read.",
      "Status: 0 if all is allowed, 1 if something is denied, 2 if something else is wrong.",
    ],
    examples: [
      Example("varve access /mnt/team/plan.txt", "All you may do with a file."),
      Example("varve access --as ann read,write /mnt/team", "Two rights of another user."),
    ])
}
