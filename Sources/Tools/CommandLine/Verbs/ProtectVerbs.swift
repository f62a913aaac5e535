// The verb that encrypts files, and says what is to become of new ones: protect.

extension Verb {
  package static let protect = Verb(
    "protect", "encrypt files, decrypt them, or change their class",
    options: [.recursive, .dryRun, .listChanged, .quiet, .fromInput, .json],
    operands: [
      Operand(
        "CLASS", .one, .words(classWords),
        "complete (a), complete-unless-open (b), until-first-unlock (c), or none"),
      Operand("PATH", .any, .path, "files and directories on a Varve volume"),
    ],
    discussion: [
      "What is made in a directory gets the class of the directory. Without -R only that class changes; with -R everything "
        + "below changes, too: each directory before its contents, so that files which are made meanwhile have the class. "
        + "Links are not followed, other mounts are not entered, and other kinds of items are passed over.",
      "A file is encrypted or decrypted in place, which needs room for a second copy; no process may have it open then. "
        + "For a change between two classes it may be open. The rights read, write and writeattr are needed for a file, "
        + "add_file and writeattr for a directory; where there is a class, to change or remove it, writesecurity as well, "
        + "which owners have. The volume must be unlocked.",
      "After Ctrl-C each file is either as it was or done; to continue, run it again. The old, plain bytes are not erased "
        + "from the disk.",
    ],
    examples: [
      Example("varve protect -R complete /mnt/team/salaries", "A tree, and what is made in it later."),
      Example("varve protect -R -n none /mnt/team", "How much would be decrypted."),
      Example(
        "varve protect until-first-unlock /mnt/team/log", "Files that are made in a directory from now on."),
    ])

  package static let classWords = ["complete", "complete-unless-open", "until-first-unlock", "none"]
}
