// The verbs for housekeeping: check, verify, fsck, completion.

extension Option {
  package static let repair = Option(nil, "repair", "repair what is found, after asking each time")
  package static let checkLowers = Option(
    nil, "lower", value: Value("A:B", .path),
    "check the layers with these lowers, topmost first, instead of those of the last mount")
  package static let data = Option(nil, "data", "read the content of compressed files, too")
  package static let yes = Option("y", "yes", "with --repair, do not ask")
}

extension Option {
  package static let mend = Option(nil, "repair", "repair what can be repaired without a loss")
  package static let trustOwners = Option(
    nil, "trust-owners", "with --repair, mark encrypted files of other users as well, who can then read them")
  package static let contentKeyfile = Option(
    nil, "keyfile", value: Value("SRC", .path),
    "verify the content, too; SRC: a path, - (standard input), fd:N or cred:ID")
}

extension Verb {
  package static let check = Verb(
    "check", "check the records that a volume keeps, and repair them",
    options: [.checkLowers, .repair, .yes, .data, .quiet, .json],
    operands: [
      Operand("PATH", .any, .path, "a volume, or a part of one; the working directory if nothing is named")
    ],
    discussion: [
      "PATH is below the upper directory, or below a mounted volume. Below the upper directory everything that is "
        + "stored is read: the volume file, records, access lists, the tables of compressed files, and what a crash has left. "
        + "Below a mounted volume only the damaged items are listed.",
      "--repair needs the upper directory of a volume that is not mounted. It never gives access that may have been "
        + "denied: an item whose record is damaged is locked (schg, and a list that denies everything) until root has "
        + "looked at it, and a damaged list is replaced by one that denies everything. The damaged bytes are kept in "
        + ".varve/damaged.",
      "Of a volume with lower layers, named as a whole, the marks are checked as well: removed names, paths of renamed "
        + "directories, and what copies say of their sources. If the lowers of the last mount are not there, or not what "
        + "they were, what needs them is not checked. A repair deletes nothing but marks.",
      "If a directory was not empty when it became a volume, the first lookup of each item asks for a record. A repair of "
        + "a whole volume that finds none notes that, and lookups no longer ask.",
      "The exit status is 0 if nothing is wrong or all is repaired, 1 if something is still wrong, and 2 if something "
        + "could not be looked at.",
    ],
    examples: [
      Example("varve check /srv/varve/team", "Look at a volume, mounted or not."),
      Example("varve check --repair /srv/varve/team", "Repair it, while it is not mounted."),
    ])

  package static let verify = Verb(
    "verify", "read encrypted files completely, and find damage",
    options: [.recursive, .fromInput, .quiet, .json],
    operands: [Operand("PATH", .any, .path, "an encrypted file of a mounted volume; with -R, a directory")],
    discussion: [
      "Everything that is stored of a file is read and checked against its tags. The caller must be able to read the file, "
        + "and its class must be unlocked. Ranges of bytes that cannot be read are printed. Blocks of a file that was being "
        + "written at a crash may have their old content; they are printed, too, and do not count as damage.",
      "An encrypted file whose record does not say so is named, too, as in a copy made without attributes. A file that is "
        + "not encrypted is named if its directory has a class.",
      "The exit status is 0 if nothing is damaged, 1 if something is, or if an encrypted file has lost its mark, and 2 if "
        + "something could not be verified.",
    ],
    examples: [
      Example("varve verify -R /mnt/team", "All encrypted files of a volume."),
      Example("varve verify --json plan.odt", "One file, for a script."),
    ])

  package static let fsck = Verb(
    "fsck", "check the encrypted files of an unmounted volume, and repair them",
    options: [.mend, .trustOwners, .contentKeyfile, .passphraseFile, .quiet, .json],
    operands: [
      Operand("UPPER", .one, .path, "the upper directory of the volume"),
      Operand(
        "FILE", .any, .path,
        "only these files below it, each treated as one that was being written at a crash"),
    ],
    discussion: [
      "Without a keyfile it checks the form: headers, what records say of them, encrypted files that have lost their "
        + "mark, the keybag and its copy. With --keyfile it also reads all content and checks it against its tags, as "
        + "'varve verify' does through a mount.",
      "--repair marks encrypted files again, and gives a directory its class again if all its files have one class and "
        + "some had lost their mark. With --keyfile it also restores a header or the keybag from its copy, and settles the "
        + "files that were being written when the machine crashed. Nothing is deleted, and what stays damaged is printed.",
      "An encrypted file that has lost its mark and belongs to another user is only marked with --trust-owners. Until then "
        + "only root can read it, because its owner may have put a copy of another user's file there.",
      "Name as FILE what was copied from a volume while it was mounted: content that was not synced may be missing from it.",
      "The exit status is 0 if nothing is wrong or all is repaired, 1 if something is still wrong, and 2 if something "
        + "could not be looked at.",
    ],
    examples: [
      Example("varve fsck --keyfile team.key /srv/varve/team", "Verify everything."),
      Example(
        "varve fsck --repair --keyfile team.key /srv/varve/team", "After a crash, or damage to a disk."),
      Example(
        "varve fsck --repair --trust-owners /srv/varve/team",
        "After a restore without attributes, having looked at whose files are named."),
    ])

  package static let completion = Verb(
    "completion", "print the script that completes command lines in a shell",
    operands: [
      Operand("SHELL", .one, .words(["bash", "zsh", "fish"]), "bash, zsh or fish"),
      Operand("WORD", .optional, .text, "what has been typed of an entry, WHO, owner or mount point"),
    ],
    forms: ["SHELL", "entry | who | owner | mounts [WORD]"],
    discussion: [
      "The scripts ask varve for what depends on the machine: 'entry' prints how to complete an entry of an access list, "
        + "'who' names for an entry, 'owner' accounts for chown, and 'mounts' mount points."
    ],
    examples: [
      Example("varve completion bash", "To be read by 'source' in ~/.bashrc."),
      Example("varve completion fish", "To be kept as ~/.config/fish/completions/varve.fish."),
    ])
}
