// The verbs that compress files, and expand them: compress, decompress.

extension Option {
  package static let level = Option(
    "l", "level", value: Value("LEVEL"), "how hard to try, from 1 (fast) to 19 (small); the default is 3")
}

extension Verb {
  package static let compress = Verb(
    "compress", "store files compressed; programs see no difference",
    options: [.recursive, .dryRun, .level, .listChanged, .quiet, .fromInput, .json],
    operands: [Operand("PATH", .any, .path, "files on a Varve volume; with -R, directories")],
    discussion: [
      "The content is stored as zstd frames, and is expanded as it is read. Names, size, mode, owner, flags, access list and "
        + "modification time stay. Before a file is written to it is expanded, in place; so this is for files that are read.",
      "Left alone are files shorter than 8 KiB, files of which less than 12 % or less than 4 KiB would be saved, files that "
        + "are open, encrypted files, and what lies in a lower layer. With -v each is named; a file that was named itself is "
        + "named in any case.",
      "-n estimates from samples of each file what would be saved.",
      "The right write is needed, and room for a second copy. With -R links are not followed, and other mounts are not "
        + "entered. After Ctrl-C each file is either as it was or done; to continue, run it again.",
    ],
    examples: [
      Example("varve compress -R -n /mnt/team/archive", "How much would be saved."),
      Example("varve compress -R -l 12 /mnt/team/archive", "Compress a tree well."),
    ])

  package static let decompress = Verb(
    "decompress", "store compressed files as they are again",
    options: [.recursive, .dryRun, .listChanged, .quiet, .fromInput, .json],
    operands: [Operand("PATH", .any, .path, "files on a Varve volume; with -R, directories")],
    discussion: [
      "Files may be open meanwhile. The right write is needed, and room for the whole content.",
      "With -R links are not followed, and other mounts are not entered.",
    ],
    examples: [Example("varve decompress -R /mnt/team/archive", "Expand a tree.")])
}
