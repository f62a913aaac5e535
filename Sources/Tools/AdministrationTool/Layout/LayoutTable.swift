// The directories of a home and of a volume, as on macOS: one row for each.

import AccessControl
import FlagRules

/// One directory of a layout.
struct LayoutRow: Sendable {
  enum List: Sendable {
    case none
    /// It is neither removed nor renamed, also not by its owner; its content is free.
    case denyDelete
    /// What others put in is the owner's to read.
    case dropBox
  }

  enum Backup: Sendable {
    case included
    case excluded
    /// With a CACHEDIR.TAG as well.
    case tagged
  }

  /// Below the directory that is laid out; empty: that one itself.
  let path: String
  let mode: UInt16
  var flags: FileFlags = []
  var list = List.none
  /// Views translate its name.
  var hasMarker = false
  var backup = Backup.included
  /// The group of the administrators is its group.
  var isOfAdministrators = false
  /// Other systems have it: it is hidden where it is, and not made.
  var isOnlyHidden = false

  init(
    _ path: String, _ mode: UInt16, _ list: List = .none, flags: FileFlags = [], hasMarker: Bool = false,
    backup: Backup = .included, isOfAdministrators: Bool = false
  ) {
    (self.path, self.mode, self.list, self.flags) = (path, mode, list, flags)
    (self.hasMarker, self.backup, self.isOfAdministrators) = (hasMarker, backup, isOfAdministrators)
  }

  private init(hidden path: String) {
    (self.path, mode, flags, isOnlyHidden) = (path, 0, .hidden, true)
  }

  private static let documents = ["Desktop", "Documents", "Downloads", "Movies", "Music", "Pictures"]
  private static let libraries = [
    "Application Support", "Autosave Information", "Containers", "Fonts", "Frameworks", "Logs", "Preferences",
  ]
  /// Systems keep these at their root, and a Finder does not show them.
  private static let hiddenNames = ["bin", "dev", "etc", "sbin", "tmp", "usr", "var"]

  static func home(withEverything: Bool) -> [LayoutRow] {
    var rows = [LayoutRow("", 0o750, .denyDelete)]
    rows += documents.map { LayoutRow($0, 0o700, .denyDelete, hasMarker: true) }
    rows.append(LayoutRow("Public", 0o755, .denyDelete, hasMarker: true))
    rows.append(LayoutRow("Public/Drop Box", 0o733, .dropBox, hasMarker: true))
    if withEverything {
      rows += ["Applications", "Sites"].map { LayoutRow($0, 0o755, hasMarker: true) }
    }
    rows.append(LayoutRow("Library", 0o700, .denyDelete, flags: .hidden, hasMarker: true))
    rows += libraries.map { LayoutRow("Library/\($0)", 0o700) }
    rows.append(LayoutRow("Library/Caches", 0o700, backup: .tagged))
    rows.append(LayoutRow(".Trash", 0o700, flags: .hidden, backup: .excluded))
    return rows
  }

  static let volume: [LayoutRow] =
    [
      LayoutRow("Applications", 0o775, hasMarker: true, isOfAdministrators: true),
      LayoutRow("Library", 0o755, hasMarker: true),
      LayoutRow("System", 0o755, flags: .systemImmutable, hasMarker: true),
      LayoutRow("Users", 0o755, hasMarker: true),
      LayoutRow("Users/Shared", 0o1777, hasMarker: true),
      LayoutRow("Network", 0o755, flags: .hidden, hasMarker: true),
      LayoutRow("Volumes", 0o755, flags: .hidden),
    ] + hiddenNames.map { LayoutRow(hidden: $0) }
}

/// Where programs of freedesktop look for the directories of a home.
enum UserDirectories {
  static let folder = ".config"
  static let name = "user-dirs.dirs"

  static let text: [UInt8] = {
    let places = [
      ("DESKTOP", "/Desktop"), ("DOWNLOAD", "/Downloads"), ("TEMPLATES", "/"), ("PUBLICSHARE", "/Public"),
      ("DOCUMENTS", "/Documents"), ("MUSIC", "/Music"), ("PICTURES", "/Pictures"), ("VIDEOS", "/Movies"),
    ]
    return Array(places.map { "XDG_\($0)_DIR=\"$HOME\($1)\"\n" }.joined().utf8)
  }()
}
