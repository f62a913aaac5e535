// The options verbs share or overrule, by the names the tools ask for them.

extension Option {
  package static let recursive = Option("R", "recursive", "go down into directories")
  package static let followNamed = Option("H", "with -R, follow links named on the command line")
  package static let followAll = Option("L", "with -R, follow every link")
  package static let followNone = Option("P", "with -R, follow no link (the default)")
  package static let actOnLinks = Option("h", "change links themselves, not what they point to")
  package static let force = Option("f", "be silent about failures, and end with status 0")
  package static let listChanges = Option("v", "print each item that changes; twice: with old and new value")
  package static let oneFileSystem = Option("x", "stay in the file system of the item named")
  package static let json = Option(nil, "json", "print JSON")

  // chmod
  package static let removeList = Option("N", "remove the access list")
  package static let replaceList = Option("E", "replace the list by the entries on standard input")
  package static let checkOrder = Option("C", "check that the list is in canonical order; status 1 if not")
  package static let dropInherited = Option("I", "drop the inherited entries")
  package static let adoptInherited = Option("i", "turn inherited entries into entries of the item's own")

  // ls
  package static let long = Option("l", "long form")
  package static let entries = Option("e", "long form with the entries of access lists")
  package static let flags = Option("O", "long form with file flags")
  package static let attributes = Option("@", "long form with extended attributes and their sizes")
  package static let all = Option("a", "list names that begin with a dot, too")
  package static let almostAll = Option("A", "like -a, but not . and .. themselves")
  package static let directory = Option("d", "list directories themselves, not what they hold")
  package static let oneColumn = Option("1", "one name a line (the default)")
  package static let numeric = Option("n", "long form with numbers for owners and groups")
  package static let humanSizes = Option("h", "in the long form, sizes with units: 1.5K")
  package static let inodes = Option("i", "print inode numbers")
  package static let reverse = Option("r", "reverse the order")
  package static let bySize = Option("S", "the largest first")
  package static let byTime = Option("t", "the newest first")
  package static let fullTime = Option("T", "in the long form, the complete time")
  package static let displayNames = Option(nil, "display", "print names as a desktop shows them")

  // mount, umount
  package static let mountOptions = Option(
    "o", "options", value: Value("OPTIONS", .list(MountOptionTable.completions)),
    "options, with commas between them; see mount.varve(8)")
  package static let checkOnly = Option("f", "fake", "check everything, but do not mount")
  package static let checkChange = Option("f", "fake", "check everything, but change nothing")
  package static let foreground = Option(nil, "foreground", "do not go to the background")
  package static let sloppy = Option("s", "leave out options that are unknown, instead of failing")
  package static let noTable = Option("n", "accepted for mount(8); there is no table to write")
  package static let namespace = Option(
    "N", "namespace", value: Value("PATH", .path), "mount in the mount namespace of this path, as root")
  package static let verbose = Option("v", "verbose", "say what is done")
  package static let lazy = Option("l", "lazy", "take the mount away now, and end it when nobody uses it")

  /// A letter alone with its summary.
  private init(_ letter: Unicode.Scalar, _ summary: String) {
    self.init(letter, nil, summary)
  }
}
