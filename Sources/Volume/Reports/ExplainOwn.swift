// What `why` says of `.varve` on the mount: no object stands behind it, so no rule is about it.

import Decisions
import LinuxFiles

extension Inquiry {
  /// Says what becomes of the deed; the root has allowed the search already.
  ///
  /// For changes the same as `Volume.node(_:)` answers.
  mutating func tellVolumesOwn() {
    let names = walk.namesOfVolume
    let path = ([OwnDirectory.bytes] + names).reduce(into: [UInt8]()) { $0 = $0.path(to: $1) }
    guard let node = SyntheticNode.directory.descendant(named: names) else {
      let above = SyntheticNode.directory.descendant(named: names.prefix(1))
      let obstacle: Obstacle = above?.isDirectory == false ? .notDirectory : makesName ? .reserved : .missing
      if obstacle == .reserved, tellReadOnly(path) { return }
      _ = walk.end(path, deed.rawValue, obstacle)
      return
    }
    isDirectory = node.isDirectory
    let deed = deed.on(directory: node.isDirectory)
    if !deed.isOnlyLooking, tellReadOnly(path) { return }
    if let obstacle = node.obstacle(to: deed) {
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
}

extension Deed {
  /// Whether a read-only mount is no obstacle.
  var isOnlyLooking: Bool {
    switch self {
    case .read, .execute, .search, .list, .readAttributes, .readExtended, .readList: true
    default: false
    }
  }
}
