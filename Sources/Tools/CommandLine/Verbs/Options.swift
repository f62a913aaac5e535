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
  package static let dropInherited = Option("I", "remove the inherited entries")
  package static let adoptInherited = Option("i", "turn inherited entries into explicit ones")

  // ls
  package static let long = Option("l", "long form")
  package static let entries = Option("e", "long form with the entries of access lists")
  package static let flags = Option("O", "long form with file flags")
  package static let attributes = Option("@", "long form with extended attributes and their sizes")
  package static let all = Option("a", "list names that begin with a dot, too")
  package static let almostAll = Option("A", "like -a, but not . and .. themselves")
  package static let directory = Option("d", "list directories themselves, not their contents")
  package static let oneColumn = Option("1", "one name a line (the default)")
  package static let numeric = Option("n", "long form with numbers for owners and groups")
  package static let humanSizes = Option("h", "in the long form, sizes with units: 1.5K")
  package static let inodes = Option("i", "print inode numbers")
  package static let reverse = Option("r", "reverse the order")
  package static let bySize = Option("S", "the largest first")
  package static let byTime = Option("t", "the newest first")
  package static let fullTime = Option("T", "in the long form, the complete time")
  package static let kindMarks = Option(
    "F", "a mark behind each name for its kind: / * @ = | (directory, program, link, ...)")
  package static let directoryMarks = Option("p", "a slash behind each directory")
  package static let colored = Option("G", "colour the output, if it goes to a terminal")
  package static let blocks = Option("s", "the size on disk in front of each name, in blocks of 512 bytes")
  package static let kilobytes = Option("k", "with -s, blocks of 1024 bytes")
  package static let changeTime = Option(
    "c", "with -t or -l, the time of the last change of the item's status")
  package static let accessTime = Option("u", "with -t or -l, the time of the last access")
  package static let birthTime = Option("U", "with -t or -l, the time of birth")
  package static let columns = Option("C", "names in columns, sorted down")
  package static let rows = Option("x", "names in columns, sorted across")
  package static let stream = Option("m", "names one after the other, with commas")
  package static let noOwner = Option("g", "long form without the owner")
  package static let noGroup = Option("o", "long form without the group; with -l, file flags as on FreeBSD")
  package static let unsorted = Option("f", "the order of the directory, and every name")
  package static let displayNames = Option(
    nil, "display", "list a view: names as a desktop shows them, in its order, without hidden items")
  package static let languages = Option(
    nil, "as", value: Value("LANGUAGES"),
    "in these languages: fr, or fr-CA+en; else in those of the path's view, or of the environment")
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
  package static let noTable = Option("n", "ignored; mount(8) passes it on")
  package static let namespace = Option(
    "N", "namespace", value: Value("PATH", .path), "mount in the mount namespace of this path, as root")
  package static let verbose = Option("v", "verbose", "say what is done")
  package static let counters = Option(
    "v", "verbose", "also print counters: requests, nodes, handles, memory")
  package static let lazy = Option(
    "l", "lazy", "remove the mount point now; the volume ends when no process uses it")

  // acl
  package static let dryRun = Option("n", "dry-run", "change nothing; print what would change")
  package static let listChanged = Option("v", "verbose", "print each item that changes, and how")
  package static let quiet = Option("q", "quiet", "no progress and no notes; only failures are printed")
  package static let fromInput = Option(
    "0", "null", "take more paths from standard input, each ended by a NUL, as 'find -print0' writes them")
  package static let undo = Option(
    nil, "undo", value: Value("FILE", .path),
    "save the old state of what is changed to FILE; 'varve acl restore FILE' restores it")
  package static let resume = Option(
    nil, "resume", "with --undo, continue the FILE of an interrupted run")
  package static let color = Option(
    nil, "color", value: Value("WHEN", .words(["auto", "always", "never"])),
    "colour the output; auto: on a terminal, unless NO_COLOR is set")
  package static let format = Option(
    nil, "format", value: Value("FORMAT", .words(["macos", "nfs4", "zfs", "json"])),
    "the notation of entries: macos (the default), nfs4, zfs or json")
  package static let numbers = Option(nil, "numeric", "print numbers for users and groups")
  package static let everyItem = Option("a", "all", "with -R, list items without an access list, too")
  package static let entry = Option(
    "e", "entry", value: Value("ENTRY", .entry(after: [])),
    "an entry of the new list; may be given several times, order counts")
  package static let listFile = Option(
    "F", "file", value: Value("FILE", .path),
    "read the new list from FILE, one entry a line; - is standard input")
  package static let handDownOnly = Option(
    nil, "replace", "drop entries that are not handed down, also where a list is marked no_inherit")
  package static let handDownOwner = Option(nil, "owner", "hand down the owner, and leave lists alone")
  package static let handDownGroup = Option(nil, "group", "hand down the group, and leave lists alone")
  package static let handDownMode = Option(
    nil, "mode", "hand down the mode, and leave lists alone; no file becomes executable")
  package static let markNoInherit = Option(
    nil, "no-inherit", "also mark the list no_inherit: it takes nothing from above any more")
  package static let onlyInherited = Option(nil, "inherited", "remove the inherited entries only")
  package static let whole = Option(
    nil, "whole", "replace the whole list, and copy inherited entries, too")
  package static let dumpAll = Option(
    nil, "all", "also write flags, modes, owners and groups; includes links")
  package static let withNames = Option(
    nil, "names", "write names of users and groups instead of numbers, for another machine")
  package static let root = Option(
    nil, "root", value: Value("DIR", .path), "restore below DIR instead of where the lists came from")

  /// A letter alone with its summary.
  private init(_ letter: Unicode.Scalar, _ summary: String) {
    self.init(letter, nil, summary)
  }
}
