// The verbs for housekeeping: check, completion.

extension Option {
  package static let repair = Option(nil, "repair", "repair what is found, after asking each time")
  package static let yes = Option("y", "yes", "with --repair, do not ask")
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

  package static let completion = Verb(
    "completion", "print the script that completes command lines in a shell",
    operands: [Operand("SHELL", .one, .words(["bash", "zsh", "fish"]), "bash, zsh or fish")],
    examples: [
      Example("varve completion bash", "To be read by 'source' in ~/.bashrc."),
      Example("varve completion fish", "To be kept as ~/.config/fish/completions/varve.fish."),
    ])
}
