// The options of the verbs about access lists.

extension Option {
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
}
