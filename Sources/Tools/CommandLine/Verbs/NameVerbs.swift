// The verbs about names and kinds, and about what follows from them: name, kind, exclude, layout.

extension Option {
  package static let nameComponents = Option(
    nil, "components", "the names of the whole path, with ▸ between them")
  package static let realPath = Option(nil, "real", "the real path of a path through a view")
  package static let hideExtension = Option(nil, "hide-ext", "views hide the extension")
  package static let showExtension = Option(nil, "show-ext", "views show the extension")
  package static let defaultExtension = Option(
    nil, "default-ext", "views do with the extension what they do with others")
  package static let localize = Option(
    nil, "localize", "set the names of DIR in other languages, each as TAG=TEXT: fr=Photos")
  package static let renameToLocalize = Option(
    nil, "rename", "with --localize, add .localized to the name of the directory")

  // exclude
  package static let cacheTag = Option(nil, "tag", "a CACHEDIR.TAG in each directory, too")
  package static let includeAgain = Option(nil, "remove", "take the marks away")
  package static let checkExcluded = Option(
    nil, "check", "tell what excludes each item; status 1 if one is not excluded")
  package static let listExcluded = Option(
    nil, "list", "list what is excluded below each directory, as patterns for rsync and tar")
  package static let endedByNull = Option(
    "0", "null", "with --list, patterns for rsync --from0 only, with NUL behind each")

  // layout
  package static let homeOwner = Option(
    nil, "user", value: Value("USER", .user), "the owner of what is made; else that of DIR")
  package static let everyDirectory = Option(nil, "all", "make Applications and Sites, too")
  package static let userDirectories = Option(
    nil, "xdg", "write .config/user-dirs.dirs, for the programs of Linux desktops")
  package static let administrators = Option(
    nil, "group", value: Value("GROUP"), "the group of Applications; else the admin_group of the volume")
  package static let mendLayout = Option(
    nil, "repair", "change what is there already to what it should be; contents are never touched")
}

extension VerbGroup {
  package static let layout = VerbGroup(
    "layout", "make the standard directories of a home or a volume",
    discussion: ["The directories are those of macOS, with their modes, flags and access lists."],
    examples: [
      Example("varve layout home --user ann /mnt/team/Users/ann", "A new home."),
      Example("varve layout volume --dry-run /mnt/team", "What a volume lacks."),
    ])
}

extension Verb {
  package static let names: [Verb] = [name, kind, exclude, layoutHome, layoutVolume]

  package static let name = Verb(
    "name", "print display names, or change how items are shown",
    options: [
      .languages, .nameComponents, .realPath, .hideExtension, .showExtension, .defaultExtension, .localize,
      .renameToLocalize,
    ],
    operands: [Operand("PATH", .oneOrMore, .path, "files and directories on a Varve volume")],
    forms: [
      "[--as LANGUAGES] [--components] PATH...", "--real PATH...",
      "--hide-ext | --show-ext | --default-ext PATH...", "--localize [--rename] TAG=TEXT... DIR",
    ],
    discussion: [
      "Prints the name of each item as a desktop shows it, for the item alone: beside others a view may show another one. "
        + "--real is the way back, for scripts.",
      "--localize writes DIR/.localized/TAG.strings. Views translate a directory only if its real name ends in "
        + ".localized, and only by files that its owner may read.",
    ],
    examples: [
      Example("varve name --as fr /mnt/team/Library", "Bibliothèque, if it is a standard directory."),
      Example("varve name --real /mnt/team/.varve/view/fr/Bibliothèque", "The path by real names."),
      Example(
        "varve name --localize --rename fr=Photos de=Fotos /mnt/team/Photos",
        "It becomes Photos.localized, and is shown as Fotos in German."),
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

  package static let exclude = Verb(
    "exclude", "mark what backups leave out",
    options: [
      .cacheTag, .includeAgain, .checkExcluded, .listExcluded, .endedByNull, .json, .listChanged, .quiet,
    ],
    operands: [Operand("PATH", .oneOrMore, .path, "files and directories on a Varve volume")],
    forms: [
      "[--tag] [-v] PATH...", "--remove [--tag] [-v] PATH...", "--check [--json] PATH...",
      "--list [-0 | --json] DIR...",
    ],
    discussion: [
      "Sets the marks that backup programs look for: the attributes of Time Machine and freedesktop, the flag nodump and, "
        + "with --tag, a file CACHEDIR.TAG. Each needs the right that setting it by hand needs. If one cannot be set, those "
        + "that were set before are taken back.",
      "An item is excluded if it or a directory above it on its volume has one of the marks. Most programs look for some "
        + "of them only, and have to be told so: borg --exclude-nodump, bsdtar --nodump, tar --exclude-caches.",
      "--list prints each path twice, as rsync reads it and as tar does: rsync --exclude-from=FILE DIR/ TO, and "
        + "tar -X FILE -C DIR -c . ",
    ],
    examples: [
      Example("varve exclude --tag /mnt/team/build", "Backups leave out the directory."),
      Example("varve exclude --check /mnt/team/build/a.o", "Which directory is responsible."),
      Example("varve exclude --list /mnt/team > list", "For rsync --exclude-from=list, or tar -X list."),
    ])

  package static let layoutHome = Verb(
    "layout home", "make the standard directories of a home",
    options: [.homeOwner, .everyDirectory, .userDirectories, .mendLayout, .dryRun, .json, .quiet],
    operands: [
      Operand("DIR", .one, .directory, "the home, on a Varve volume; with --user it may be missing")
    ],
    discussion: [
      "Makes Desktop, Documents, Downloads, Library, Movies, Music, Pictures, Public with a Drop Box, and .Trash, each with "
        + "its mode. An entry keeps the directories themselves from being removed or renamed, views translate their names, "
        + "and Library/Caches and .Trash are left out of backups.",
      "What is there already stays as it is, unless --repair is given. DIR itself gets its mode and entry if it is empty. "
        + "Run again, it changes nothing. Where something is not permitted, that is said, and nothing is made or changed.",
    ],
    examples: [
      Example("varve layout home --user ann /mnt/team/Users/ann", "A new home."),
      Example("varve layout home --repair --dry-run .", "What differs from a new home."),
    ])

  package static let layoutVolume = Verb(
    "layout volume", "make the standard directories of a volume",
    options: [.administrators, .mendLayout, .dryRun, .json, .quiet],
    operands: [Operand("DIR", .one, .directory, "the root of a Varve volume")],
    discussion: [
      "Makes Applications, Library, System (which only root may unlock), Users with Shared, and hides Network, Volumes and "
        + "the directories of Unix, such as bin and usr, from views.",
      "What is there already stays as it is, unless --repair is given; only the flag hidden is set in any case. Run again, "
        + "it changes nothing. Where something is not permitted, that is said, and nothing is made or changed: most of it is "
        + "for root.",
    ],
    examples: [
      Example("varve layout volume --group staff /mnt/team", "As on a Mac, for the group staff.")
    ])
}
