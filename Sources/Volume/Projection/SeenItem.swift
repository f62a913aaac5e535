// What the name of an item depends on, read as everybody may know it.

import DisplayNames
import FlagRules
import ItemKinds
import LinuxFiles
import RecordFormat

/// An item as names and kinds are made of it.
struct SeenItem {
  let status: FileStatus
  /// An entry denies a user a look, or the record is damaged: nothing that only a look tells may be seen in the name.
  let isWithheld: Bool
  /// The inode number that programs see; nil if it is not known.
  let number: UInt64?
  private(set) var finder = FinderFacts()
  private(set) var showsExtension = false
  private(set) var hasHiddenFlag = false

  var isDirectory: Bool { status.kind == .directory }

  /// Of a withheld item nothing is read.
  ///
  /// `read` answers an attribute of the object.
  init(
    _ found: BriefFacts, in store: MetadataStore,
    _ read: (borrowing AttributeName) throws(Errno) -> [UInt8]?
  ) {
    status = found.status
    number = found.layerFacts.number.value
    isWithheld = !found.isVisibleToAnyone
    guard !isWithheld else { return }
    hasHiddenFlag = found.stored.core.flags.contains(.hidden)
    guard status.kind == .regular || status.kind == .directory else { return }
    // What cannot be read is taken for nothing: a name is never shortened by doubt.
    let info = try? AttributeName.with(Volume.finderInfoName) { name throws(Errno) in try read(name) }
    if let info = info ?? nil, let facts = FinderFacts(info, isDirectory: isDirectory) { finder = facts }
    if found.stored.core.hasNames {
      // As above; a damaged record was logged.
      showsExtension = (try? store.namesRecord(of: status, read))?.showsExtension ?? true
    }
  }

  /// What was read of an item that vanished, or that cannot be looked at.
  init(unknown kind: LinuxFiles.FileKind?) {
    status = FileStatus(kind: kind ?? .regular, mode: 0)
    number = nil
    isWithheld = true
  }

  var kind: ItemKinds.FileKind {
    switch status.kind {
    case .regular: .regular
    case .directory: .directory
    case .symbolicLink: .link
    case .fifo: .pipe
    case .socket: .socket
    case .characterDevice: .characterDevice
    case .blockDevice: .blockDevice
    }
  }

  var isExecutable: Bool { !isWithheld && status.mode & 0o111 != 0 }
  var hasBundleBit: Bool { finder.flags.contains(.bundle) }

  func facts(_ finding: DirectoryFinding) -> ItemFacts {
    ItemFacts(
      kind, isExecutable: isExecutable,
      state: ExtensionState(finder: finder.flags, recordShows: showsExtension), hasBundleBit: hasBundleBit,
      finding: finding, isWithheld: isWithheld)
  }

  func reasonsToHide(_ name: Span<UInt8>, isListed: Bool, isAtRoot: Bool) -> HiddenReasons {
    HiddenReasons(name, hasFlag: hasHiddenFlag, isListed: isListed, isAtRoot: isAtRoot)
  }
}

extension Volume {
  /// Where what the Finder knows is stored, and the name under which it is listed.
  static let finderInfoName = Array("user.com.apple.FinderInfo".utf8)
}
