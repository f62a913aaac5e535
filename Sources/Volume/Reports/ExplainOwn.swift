// What `why` says of `.varve` on the mount: no object stands behind it, so no rule is about it.

import Decisions
import LinuxFiles

extension Inquiry {
  /// Says what becomes of the deed; the root has allowed the search already.
  ///
  /// The same as `SyntheticNode` answers, and for changes `Volume.node(_:)`.
  mutating func tellVolumesOwn() {
    let names = walk.namesOfVolume
    let path = ([VolumeDirectory.name] + names).reduce(into: [UInt8]()) { $0 = $0.path(to: $1) }
    guard names.isEmpty || names == [SyntheticNode.statusName] else {
      let obstacle: Obstacle =
        names.first == SyntheticNode.statusName ? .notDirectory : makesName ? .reserved : .missing
      if obstacle == .reserved, tellReadOnly(path) { return }
      _ = walk.end(path, deed.rawValue, obstacle)
      return
    }
    isDirectory = names.isEmpty
    let deed = deed.on(directory: names.isEmpty)
    if !deed.isOnlyLooking, tellReadOnly(path) { return }
    if let obstacle = obstacle(to: deed, onDirectory: names.isEmpty) {
      _ = walk.end(path, deed.rawValue, obstacle)
    } else {
      walk.add(path, deed.rawValue, .noted("is the volume's own, and open to all who may search the root"))
    }
  }

  /// Whether the mount forbids all changes, which is said then.
  private mutating func tellReadOnly(_ path: [UInt8]) -> Bool {
    guard !judge.writableMount.isAllowed else { return false }
    walk.add(path, deed.rawValue, .judged(judge.writableMount, item: nil))
    return true
  }

  private var makesName: Bool { deed.target == .newName || isAtNewPath }

  private func obstacle(to deed: Deed, onDirectory isDirectory: Bool) -> Obstacle? {
    switch deed {
    case .search: isDirectory ? nil : .notDirectory
    case .read, .readAttributes, .readExtended, .readList: nil
    case .list: isDirectory ? .unlistedNames : .notDirectory
    case .write, .append, .execute: .readOnlyText
    case .create, .mkdir: isDirectory ? .reserved : .taken
    case .delete, .rename, .link, .writeAttributes, .writeExtended, .writeList, .changeOwner, .changeMode,
      .changeFlags:
      .reserved
    }
  }
}

extension Deed {
  /// Whether a read-only mount is no obstacle.
  fileprivate var isOnlyLooking: Bool {
    switch self {
    case .read, .execute, .search, .list, .readAttributes, .readExtended, .readList: true
    default: false
    }
  }
}
