// The verbs for housekeeping: check, verify, fsck, completion.

extension Option {
  package static let repair = Option(nil, "repair", "repair what is found, after asking each time")
  package static let yes = Option("y", "yes", "with --repair, do not ask")
}

extension Option {
  package static let mend = Option(nil, "repair", "repair what can be repaired without a loss")
  package static let contentKeyfile = Option(
    nil, "keyfile", value: Value("SRC", .path),
    "verify the content, too; SRC: a path, - (standard input), fd:N or cred:ID")
}

extension Verb {
  package static let check = Verb(
    "check", "check what a volume stores beside the files, and repair it",
    options: [.repair, .yes, .quiet, .json],
    operands: [
      Operand("PATH", .any, .path, "a volume, or a part of one; the working directory if nothing is named")
    ],
    discussion: [
      "PATH is below the upper directory, or below a mounted volume. Below the upper directory everything that is "
        + "stored is read: the volume file, the records and the access lists, and what a crash left behind. Through "
        + "a mount it is seen which items are damaged, not how.",
      "--repair needs the upper directory, and the volume not to be mounted. It never opens what may have been "
        + "closed: an item whose record is damaged is locked (schg, and a list that denies everything) until root has "
        + "looked at it, and a damaged list is replaced by one that denies everything. The damaged bytes are kept in "
        + ".varve/damaged.",
      "A directory that was not empty when it became a volume is taken to have records, and the first look at each item "
        + "asks for one. A repair of a whole volume that finds none writes that down, and lookups ask no more.",
      "The exit status is 0 if nothing is wrong any more, 1 if something is, and 2 if something could not be "
        + "looked at.",
    ],
    examples: [
      Example("varve check /srv/team", "Look at a volume, mounted or not."),
      Example("varve check --repair /srv/team", "Repair it, while it is not mounted."),
    ])

  package static let verify = Verb(
    "verify", "read all of encrypted files, and find what is damaged",
    options: [.recursive, .fromInput, .quiet, .json],
    operands: [Operand("PATH", .any, .path, "an encrypted file of a mounted volume; with -R, a directory")],
    discussion: [
      "Everything that is stored of a file is read again and held against its tags, as far as the caller may read it; its "
        + "class has to be unlocked. Ranges of bytes that cannot be read are printed. So is what a crash took of a file that "
        + "was being written: such blocks are what they were before, and count as no damage.",
      "Files that are not encrypted are named where their directory has a class.",
      "The exit status is 0 if nothing is damaged, 1 if something is, and 2 if something could not be verified.",
    ],
    examples: [
      Example("varve verify -R /mnt/team", "All encrypted files of a volume."),
      Example("varve verify --json plan.odt", "One file, for a script."),
    ])

  package static let fsck = Verb(
    "fsck", "check the encrypted files of an unmounted volume, and repair them",
    options: [.mend, .contentKeyfile, .passphraseFile, .quiet, .json],
    operands: [
      Operand("UPPER", .one, .path, "the upper directory of the volume"),
      Operand(
        "FILE", .any, .path, "only these files below it, each taken for one that a crash interrupted"),
    ],
    discussion: [
      "Without a keyfile the form is looked at: headers, what records say of them, encrypted files that have lost their "
        + "mark, and the keybag and its copy. With --keyfile all content is read and held against its tags, as "
        + "'varve verify' does through a mount.",
      "--repair marks encrypted files again, and gives a directory its class back where all its files are of one class and "
        + "some had lost their mark. With --keyfile it also makes a header from its copy and the keybag from its copy, and "
        + "settles the files that were being written when the machine crashed. Nothing is deleted, and what stays damaged "
        + "is said.",
      "Name a FILE that was copied from a volume while it was mounted: what had not been synced may be missing from it.",
      "The exit status is 0 if nothing is wrong any more, 1 if something is, and 2 if something could not be "
        + "looked at.",
    ],
    examples: [
      Example("varve fsck --keyfile team.key /srv/team", "Verify everything."),
      Example("varve fsck --repair --keyfile team.key /srv/team", "After a restore without attributes."),
    ])

  package static let completion = Verb(
    "completion", "print the script that completes command lines in a shell",
    operands: [Operand("SHELL", .one, .words(["bash", "zsh", "fish"]), "bash, zsh or fish")],
    examples: [
      Example("varve completion bash", "To be read by 'source' in ~/.bashrc."),
      Example("varve completion fish", "To be kept as ~/.config/fish/completions/varve.fish."),
    ])
}
