// What is refused where no volume file says in which attributes the records are: to read the wrong ones would mean to go by
// none of a volume's flags and lists, or by those that somebody planted.

import LayerRules
import LinuxFiles
import Synchronization

extension VolumeDirectory {
  /// So many items are looked at where there is no bookkeeping at all: a plain directory may be large.
  private static let mostLookedAt = 10_000

  /// Where the records are of a volume that has bookkeeping, and no volume file that can be read.
  static func findNamespace(
    in root: SharedDescriptor, space: RecordSpace = RecordSpace()
  ) throws(VolumeFailure) -> MetadataStore.Namespace {
    let likely = try space.choose(for: root)
    try refuseUnknown(likely, in: root)
    return likely
  }

  /// Refuses to take this choice for a volume whose file is gone, where that may be the wrong one.
  ///
  /// A user's volume, whose bookkeeping is the user's own, has its records in `user.*`, always.
  static func refuseUnknown(
    _ namespace: MetadataStore.Namespace, in root: SharedDescriptor
  ) throws(VolumeFailure) {
    guard CurrentProcess.isRoot else { return }
    guard namespace == .trusted else { return try refusePlanted(namespace, in: root) }
    guard case .user(let path) = try RecordSearch.look(below: root) else { return }
    throw VolumeFailure(
      "'.varve/volume' is missing, and \(item(path)) has a record in attributes user.*, which would not count; put that file "
        + "back, which says where the records are, or remove the attributes user.varve.*")
  }

  /// Where a plain directory brings records along that do not count; nil if none was found.
  static func findUnheeded(
    _ namespace: MetadataStore.Namespace, in root: SharedDescriptor
  ) throws(VolumeFailure) -> [UInt8]? {
    guard CurrentProcess.isRoot, namespace == .trusted else { return nil }
    guard case .user(let path) = try RecordSearch.look(below: root, atMost: mostLookedAt) else { return nil }
    return path
  }

  /// What an administrator should know of records that do not count.
  var warnings: [String] {
    guard let path = opened.withLock({ $0.unheeded }) else { return [] }
    return [
      "\(VolumeDirectory.item(path)) has a record in attributes user.*, and there was no '.varve': flags and lists of this "
        + "volume are in attributes trusted.*, and those do not count"
    ]
  }

  /// Refuses to make root's volume of items whose records anybody who may write them can have set beforehand.
  static func refusePlanted(
    _ namespace: MetadataStore.Namespace, in root: SharedDescriptor
  ) throws(VolumeFailure) {
    guard CurrentProcess.isRoot, namespace == .user else { return }
    guard try !holdsRecord(root) else {
      throw VolumeFailure(
        "its store has no attributes trusted.*, and it has a record in attributes user.*, which every user who may write "
          + "to it can have set; remove its attributes user.varve.*, or mount another directory")
    }
    guard try holdsItems(root) else { return }
    throw VolumeFailure(
      "its store has no attributes trusted.*, and it holds items, whose attributes user.varve.* every user "
        + "who may write them can have set; mount an empty directory, and copy the items into the mount")
  }

  /// Refuses layers where what those below say would be overlooked.
  static func refuseLayers(_ namespace: MetadataStore.Namespace) throws(VolumeFailure) {
    guard CurrentProcess.isRoot, namespace == .user else { return }
    throw VolumeFailure(
      "its records are in attributes user.*, and root's layers need those in attributes trusted.*",
      remedy:
        "let the user mount it whose volume it is, or take an upper directory on a file system that has trusted.*"
    )
  }

  /// The same before the volume is opened.
  static func checkLayers(of root: SharedDescriptor, space: RecordSpace) throws {
    if let directory = try find(in: root), let text = try storedHeader(in: directory) {
      try refuseLayers(VolumeHeader(parsing: text).namespace)
    } else {
      try refuseLayers(space.choose(for: root))
    }
  }

  /// Whether there is anything in the upper directory but the bookkeeping.
  static func holdsItems(_ root: SharedDescriptor) throws(VolumeFailure) -> Bool {
    try saying("the upper directory cannot be listed") { () throws(Errno) in
      try root.descriptor.reopen([.readOnly, .directory]).holdsName(otherThan: OwnDirectory.bytes)
    }
  }

  /// Whether the upper directory itself has a record, wherever that is kept: one on the root closes all that is below.
  static func holdsRecord(_ root: SharedDescriptor) throws(VolumeFailure) -> Bool {
    try RecordSearch.look(below: root, atMost: 0) != .nothing
  }

  private static func item(_ path: [UInt8]) -> String {
    path.isEmpty ? "the upper directory" : "'\(StoredPath.text(of: path))'"
  }
}
