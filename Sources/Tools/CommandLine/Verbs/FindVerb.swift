// The verb that finds items by what rules they have.

extension Option {
  package static let flagsToFind = Option(
    nil, "flags",
    value: Value("FLAGS", .list(Verb.flagWords + Verb.flagWords.map { $0 == "nodump" ? "dump" : "no" + $0 })),
    "items with these flags; with 'no' in front, without")
  package static let lockedToFind = Option(
    nil, "locked", "items with any flag that forbids a change, such as uchg or schg")
  package static let identityToFind = Option(
    nil, "entry", value: Value("WHO", .identity),
    "items with an entry about WHO: user:bob, group:staff, everyone")
  package static let classToFind = Option(
    nil, "class", value: Value("CLASS", .list(["any"] + Verb.classWords)),
    "items of this class of encryption: a class of 'varve protect', 'any', or 'none'")
  package static let canDo = Option(
    nil, "can", value: Value("USER:OP", .user),
    "items with which USER may do OP, as 'varve access --as' says; USER:GROUP,...:OP names the groups")
  package static let endWithNul = Option("0", "null", "end each path with a NUL, for 'xargs -0'")
}

extension Verb {
  package static let find = Verb(
    "find", "find items by flag, entry or class, or by what a user may do",
    options: [.flagsToFind, .lockedToFind, .identityToFind, .classToFind, .canDo, .endWithNul, .json],
    operands: [Operand("DIR", .oneOrMore, .path, "trees on a Varve volume")],
    forms: [
      "[--flags FLAGS] [--locked] [--entry WHO] [--class CLASS] [--can USER:OP] [-0 | --json] DIR..."
    ],
    discussion: [
      "Prints the path of every item below DIR, and of DIR itself, that meets all conditions. A condition can be given "
        + "several times. The words may have one dash, as those of find(1).",
      "OP is one of " + operationWords.joined(separator: ", ")
        + ". Links are found by their flags only; trees are "
        + "walked without following links, and stay on one file system.",
    ],
    examples: [
      Example("varve find -locked /mnt/team", "All that is locked, by whatever flag."),
      Example("varve find -flags hidden,nouchg /mnt/team", "All that is hidden and not locked with uchg."),
      Example("varve find -entry user:bob /mnt/team", "All lists that name Bob."),
      Example(
        "varve find -class any /mnt/team",
        "All that is encrypted, and directories in which new files will be."),
      Example("varve find -can bob:write /mnt/team", "All that Bob may write."),
    ])
}
