// The verb that encrypts files, and says what is to become of new ones: protect.

extension Verb {
  package static let protect = Verb(
    "protect", "encrypt files, or change by which class they are encrypted",
    options: [.recursive, .dryRun, .listChanged, .quiet, .fromInput, .json],
    operands: [
      Operand(
        "CLASS", .one, .words(classWords),
        "complete (a), complete-unless-open (b), until-first-unlock (c), or none"),
      Operand("PATH", .any, .path, "files and directories on a Varve volume"),
    ],
    discussion: [
      "What is made in a directory gets the directory's class. On a directory only that changes; with -R everything "
        + "below is changed, too: first each directory, then what is in it, so that nothing made meanwhile is left out. "
        + "Links are not followed, other mounts are not entered, and other kinds of items are passed over.",
      "A file is encrypted or decrypted in place and needs room for a second copy meanwhile. Nobody may have it open; "
        + "between two classes it may be open. It takes the rights to read and write the file and the right writeattr, in "
        + "a directory add_file and writeattr; and the volume unlocked.",
      "After Ctrl-C each file is as it was or done; run again, it goes on. What was on the disk in the open is not "
        + "erased there.",
    ],
    examples: [
      Example("varve protect -R complete /mnt/team/salaries", "A tree, and what is made in it later."),
      Example("varve protect -R -n none /mnt/team", "How much would be decrypted."),
      Example("varve protect until-first-unlock /mnt/team/log", "What is made in a directory from now on."),
    ])

  package static let classWords = ["complete", "complete-unless-open", "until-first-unlock", "none"]
}
