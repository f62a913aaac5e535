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
  package static let displayNames = Option(
    nil, "display", "list a view: names as a desktop shows them, in its order, without hidden items")
  package static let languages = Option(
    nil, "as", value: Value("LANGUAGES"),
    "in these languages: fr, or fr-CA+en; else in those of the environment")
  package static let skipHidden = Option(nil, "skip-hidden", "leave out what a view leaves out")
  package static let skipPackages = Option(
    nil, "skip-package-descendants", "with -R, list packages, but not what is in them")

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

  // acl
  package static let dryRun = Option("n", "dry-run", "change nothing; print what would change")
  /// Where `-n` is taken: chown of macOS prints numbers with it.
  package static let dryRunWord = Option(nil, "dry-run", "change nothing; print what would change")
  package static let listChanged = Option("v", "verbose", "print each item that changes, and how")
  package static let quiet = Option("q", "quiet", "no progress and no notes; only what fails is said")
  package static let fromInput = Option(
    "0", "null", "take more paths from standard input, each ended by a NUL, as 'find -print0' writes them")
  package static let undo = Option(
    nil, "undo", value: Value("FILE", .path),
    "write what is changed to FILE, as it was; 'varve acl restore FILE' goes back")
  package static let resume = Option(
    nil, "resume", "with --undo, go on with the FILE of a run that was interrupted")
  package static let color = Option(
    nil, "color", value: Value("WHEN", .words(["auto", "always", "never"])),
    "colour the output; auto: on a terminal, unless NO_COLOR is set")
  package static let format = Option(
    nil, "format", value: Value("FORMAT", .words(["macos", "nfs4", "zfs", "json"])),
    "the notation of entries: macos (the default), nfs4, zfs or json")
  package static let numbers = Option(nil, "numeric", "print numbers for users and groups")
  package static let everyItem = Option("a", "all", "with -R, list items without an access list, too")
  package static let entry = Option(
    "e", "entry", value: Value("ENTRY"), "an entry of the new list; may be given several times, order counts")
  package static let listFile = Option(
    "F", "file", value: Value("FILE", .path),
    "read the new list from FILE, one entry a line; - is standard input")
  package static let onlyInherited = Option(nil, "inherited", "remove the inherited entries only")
  package static let whole = Option(
    nil, "whole", "copy the list as it stands, inherited entries included, over whatever is there")
  package static let withNames = Option(
    nil, "names", "write names of users and groups in place of numbers, for another machine")
  package static let root = Option(
    nil, "root", value: Value("DIR", .path), "restore below DIR, in place of where the lists came from")

  /// A letter alone with its summary.
  private init(_ letter: Unicode.Scalar, _ summary: String) {
    self.init(letter, nil, summary)
  }
}
