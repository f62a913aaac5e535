// The verbs of `varve layer`: layers of a mounted volume.

extension VerbGroup {
  package static let layer = VerbGroup(
    "layer", "show the layers of a volume, and what was changed in the upper one",
    discussion: [
      "A volume that is mounted with 'lower=' shows read-only directories, the lowers, below its upper directory. Layer 0 is "
        + "the upper directory, layer 1 the topmost lower. What is changed is copied to the upper directory first."
    ],
    examples: [
      Example("varve layer list /mnt/team", "Which layers there are."),
      Example("varve layer diff /mnt/team", "What was added, changed and removed."),
    ])
}

extension Verb {
  package static let layers: [Verb] = [layerList, layerOrigin, layerDiff]

  package static let layerList = Verb(
    "layer list", "list the layers of a volume",
    options: [.json],
    operands: [Operand("DIR", .optional, .path, "anything on a volume; without it, the working directory")],
    discussion: [
      "Prints for each layer its path, its file system, whether it is sealed (the kernel forbids every write to it), whether "
        + "its items have records, and how many files with several names its index counts; then how much was copied to the "
        + "upper directory since the volume was mounted."
    ],
    examples: [Example("varve layer list /mnt/team", "The layers, the upper directory first.")])

  package static let layerOrigin = Verb(
    "layer origin", "say from which layers items are shown",
    options: [.json],
    operands: [Operand("PATH", .oneOrMore, .path, "files and directories on a Varve volume")],
    examples: [Example("varve layer origin /mnt/team/plan.txt", "Upper directory, lower, or a copy of one.")])

  package static let layerDiff = Verb(
    "layer diff", "list what the upper directory changes",
    options: [.json],
    operands: [Operand("PATH", .optional, .path, "a directory or file; without it, the working directory")],
    discussion: [
      "Prints a line for each item that the layers below do not have like this: A added, M other content, m other "
        + "metadata, D removed, R a directory that the layers below have under the path that is named first. What replaces "
        + "something of another kind has two lines, D and A.",
      "Directories that only lowers have are not read. Each directory needs the rights list and search. Unusual "
        + "characters of names are printed as \\ooo.",
    ],
    examples: [
      Example("varve layer diff", "Below the working directory."),
      Example("varve layer diff --json /mnt/team", "For a script."),
    ])
}
