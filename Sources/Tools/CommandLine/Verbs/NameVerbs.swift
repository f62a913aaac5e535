// The verbs about names and kinds: name, kind.

extension Option {
  package static let nameComponents = Option(
    nil, "components", "the names of the whole path, with ▸ between them")
  package static let realPath = Option(nil, "real", "the real path of a path through a view")
  package static let hideExtension = Option(nil, "hide-ext", "views hide the extension")
  package static let showExtension = Option(nil, "show-ext", "views show the extension")
  package static let defaultExtension = Option(
    nil, "default-ext", "views do with the extension what they do with others")
}

extension Verb {
  package static let names: [Verb] = [name, kind]

  package static let name = Verb(
    "name", "print display names, and say what they are to be",
    options: [
      .languages, .nameComponents, .realPath, .hideExtension, .showExtension, .defaultExtension,
    ],
    operands: [Operand("PATH", .oneOrMore, .path, "files and directories on a Varve volume")],
    forms: [
      "[--as LANGUAGES] [--components] PATH...", "--real PATH...",
      "--hide-ext | --show-ext | --default-ext PATH...",
    ],
    discussion: [
      "Prints the name of each item as a desktop shows it, for the item alone: beside others a view may show another one. "
        + "--real is the way back, for scripts."
    ],
    examples: [
      Example("varve name --as fr /mnt/team/Library", "Bibliothèque, if it is a standard directory."),
      Example("varve name --real /mnt/team/.varve/view/fr/Bibliothèque", "The path by real names."),
    ])

  package static let kind = Verb(
    "kind", "say what items are: type, MIME type, icon, package",
    options: [.json],
    operands: [Operand("PATH", .oneOrMore, .path, "files and directories on a Varve volume")],
    discussion: [
      "The type follows from the extension, else from the type code of the Finder, else from the mode; no content is "
        + "looked at. Where shared-mime-info is installed, it tells the MIME type of extensions that Varve does not know, "
        + "and says in the language of the environment what the kind is."
    ],
    examples: [
      Example("varve kind report.pdf", "com.adobe.pdf, and what it conforms to."),
      Example("varve kind --json *.app", "For a script."),
    ])
}
