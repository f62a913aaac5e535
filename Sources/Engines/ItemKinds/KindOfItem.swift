// What an item is: identifier, MIME type and icon, by its name and what is known of it. No content is looked at.
//
// For views, `varve find`, `varve ls` and `varve kind`, which say the same of an item: the tables are data, adding a row is no
// code, and to look up an extension takes no memory (`KindTests`).

package enum FileKind: UInt8, Sendable {
  case regular
  case directory
  case link
  case pipe
  case socket
  case characterDevice
  case blockDevice
}

/// What the kind of an item depends on.
package struct ItemTraits: Sendable {
  package var kind: FileKind
  /// The root of the volume.
  package var isRoot = false
  /// Any of the three `x` bits.
  package var isExecutable = false
  package var finder = FinderFacts()
  /// There is an `Info.plist` where bundles have it.
  package var hasInformation = false
  /// It has the marker of a standard directory and the name of one.
  package var isStandardDirectory = false
  /// A directory has an `Icon\r` file.
  package var hasIconFile = false

  package init(_ kind: FileKind) { self.kind = kind }
}

/// Whether programs should take a directory for one thing.
package enum PackageState: UInt8, Sendable {
  case none = 0
  case package = 1
  case packageAndBundle = 2
}

extension KindTables {
  package func packageState(of name: [UInt8], _ traits: ItemTraits) -> PackageState {
    let hasBit = traits.finder.flags.contains(.bundle)
    guard traits.kind == .directory, isPackage(name.span, isRoot: traits.isRoot, hasBundleBit: hasBit) else {
      return .none
    }
    return traits.hasInformation ? .packageAndBundle : .package
  }

  /// The uniform type identifier.
  package func identifier(of name: [UInt8], _ traits: ItemTraits) -> String {
    switch traits.kind {
    case .link: "public.symlink"
    case .pipe, .socket, .characterDevice, .blockDevice: "public.item"
    case .directory: directoryIdentifier(of: name, traits)
    case .regular: fileIdentifier(of: name, traits)
    }
  }

  private func directoryIdentifier(of name: [UInt8], _ traits: ItemTraits) -> String {
    guard !traits.isRoot else { return "public.volume" }
    let row = row(of: name, isDirectory: true)
    if packageState(of: name, traits) != .none { return row?.identifier ?? "com.apple.package" }
    // A framework is no package, but it is not any directory either.
    if let row, !TypeTree.does(row.identifier, conformTo: "com.apple.package") { return row.identifier }
    return "public.folder"
  }

  private func fileIdentifier(of name: [UInt8], _ traits: ItemTraits) -> String {
    if let row = row(of: name, isDirectory: false) { return row.identifier }
    if let type = traits.finder.type, let known = FinderFacts.identifier(of: type) { return known }
    return traits.isExecutable ? "public.unix-executable" : "public.data"
  }

  /// What the extension means for a directory, or for a file: a file is no application because it ends in `.app`.
  private func row(of name: [UInt8], isDirectory: Bool) -> TypeRow? {
    guard let dot = FileExtension.dot(in: name.span),
      let word = FileExtension(name.span, in: dot + 1..<name.count), let row = meaning(of: word)?.type
    else { return nil }
    return TypeTree.does(row.identifier, conformTo: "public.directory") == isDirectory ? row : nil
  }

  package func mime(of name: [UInt8], _ traits: ItemTraits) -> String {
    switch traits.kind {
    case .directory: return "inode/directory"
    case .link: return "inode/symlink"
    case .pipe: return "inode/fifo"
    case .socket: return "inode/socket"
    case .characterDevice: return "inode/chardevice"
    case .blockDevice: return "inode/blockdevice"
    case .regular:
      let identifier = identifier(of: name, traits)
      return TypeRow.all.first { $0.identifier == identifier }?.mime ?? "application/octet-stream"
    }
  }

  /// A name of the icons that desktops have.
  package func icon(of name: [UInt8], _ traits: ItemTraits) -> String {
    if traits.finder.flags.contains(.customIcon), traits.hasIconFile { return "custom" }
    if traits.kind == .directory { return directoryIcon(of: name, traits) }
    let identifier = identifier(of: name, traits)
    let all = [identifier] + TypeTree.ancestors(of: identifier)
    return KindTables.icons.first { all.contains($0.type) }?.icon ?? "unknown"
  }

  private func directoryIcon(of name: [UInt8], _ traits: ItemTraits) -> String {
    let text = String(decoding: name, as: UTF8.self)
    if traits.isStandardDirectory, let known = KindTables.directoryIcons.first(where: { $0.name == text }) {
      return known.icon
    }
    if traits.isRoot { return "drive-harddisk" }
    guard packageState(of: name, traits) != .none else { return "folder" }
    let isApplication = TypeTree.does(identifier(of: name, traits), conformTo: "com.apple.application")
    return isApplication ? "application-x-executable" : "package-x-generic"
  }

  private static let directoryIcons: [(name: String, icon: String)] = [
    ("Desktop", "user-desktop"),
    ("Documents", "folder-documents"),
    ("Downloads", "folder-download"),
    ("Music", "folder-music"),
    ("Pictures", "folder-pictures"),
    ("Movies", "folder-videos"),
    ("Videos", "folder-videos"),
    ("Public", "folder-publicshare"),
    ("Templates", "folder-templates"),
    ("Trash", "user-trash"),
  ]

  /// The first that applies: a script is also text.
  private static let icons: [(type: String, icon: String)] = [
    ("public.script", "text-x-script"),
    ("public.html", "text-html"),
    ("public.text", "text-x-generic"),
    ("public.image", "image-x-generic"),
    ("public.audio", "audio-x-generic"),
    ("public.movie", "video-x-generic"),
    ("public.font", "font-x-generic"),
    ("public.presentation", "x-office-presentation"),
    ("public.spreadsheet", "x-office-spreadsheet"),
    ("public.composite-content", "x-office-document"),
    ("public.contact", "x-office-address-book"),
    ("public.calendar-event", "x-office-calendar"),
    ("public.archive", "package-x-generic"),
    ("public.executable", "application-x-executable"),
    ("com.apple.alias-file", "emblem-symbolic-link"),
    ("public.symlink", "emblem-symbolic-link"),
  ]
}
