// Of two volumes one of which is inside the other, only one is mounted for writing: each would show, and change, what
// the other keeps. A mount for writing asks twice, before anything is made and once more when it is mounted; a remount
// from `ro` to `rw` asks before it.
//
// Above: from the upper directory up by "..", as far as the mount it is on reaches, the lock of each `.varve` is looked
// at. Below: a tree cannot be searched, so the table of mounts says which volumes have their upper directories there,
// and their locks are looked at. Where a lock cannot be looked at, the table alone decides.
//
// Only what root or the mounting user has counts, in `.varve` as in the table: both can be made by any user for any
// directory they may write to, and could be used to keep others from mounting. No file system that is mounted on the
// way is asked anything: it may be a user's, and never answer.
//
// Not found: a volume of another user; below, one that the table does not name (in another mount namespace, with
// `fsname`, moved while it is mounted); two remounts at the same moment. Of two mounts at the same moment at most one
// stays: the inner one is in the table before it looks at the outer one's lock for the last time, and the outer one has
// its lock before it looks into the table for the last time. Each may see the other, and then none stays.

import FUSEDoor
import LayeredVolume
import LinuxFiles
import LinuxPrograms
import TextForms

/// Looks for volumes above and below an upper directory.
struct NestedMountCheck: Sendable {
  /// A path of 4,096 bytes has no more.
  private static let mostSteps = 2048

  private let upper: SharedDescriptor
  /// As the command that mounts calls it.
  private let path: [UInt8]
  private let position: PositionInFileSystem?
  /// That of the mount; nil where it is ours.
  private let namespace: MountNamespace?

  /// To be made before the volume is mounted, which may cover the directory.
  ///
  /// `foreign`: the same directory, where it is in another mount namespace.
  init(_ upper: SharedDescriptor, path: [UInt8], foreign: ForeignDirectory?) {
    (self.upper, self.path, namespace) = (upper, path, foreign?.namespace)
    // Without its position the table says nothing about it, and the locks above it are looked at all the same.
    let real = foreign?.path ?? (try? upper.descriptor.heldPath())
    position = real.flatMap {
      MountedVolume.position(of: $0, in: MountedVolume.table(of: foreign?.namespace))
    }
  }

  /// Refuses the mount if there is another volume above or below, or one that shows this directory as a layer.
  func refuseNested() throws(MountFailure) {
    let others = otherVolumes()
    if let found = above(others) ?? below(others) ?? shown() { throw MountFailure(path, found) }
  }

  /// Refuses the mount if this very directory is mounted for writing, whatever its lock says.
  ///
  /// The owner of the directory can move `.varve` away while the volume is mounted, and the lock with it. To be asked
  /// before the mount, which is in the table afterwards.
  func refuseSame() throws(MountFailure) {
    // A mount whose daemon is gone writes nothing.
    guard let position,
      let other = otherVolumes().first(where: { other in
        other.isWritable && other.position == position && !QuestionApart.isDeadMount(other.mountPoint)
      })
    else { return }
    throw MountFailure(
      path,
      "the volume is mounted already, on \(PathText.escaped(other.mountPoint)), \(Evidence.table); unmount it first"
    )
  }

  // MARK: Who is leaving

  /// Waits for a daemon that still has the directory for writing although its mount is gone; until a moment at most.
  ///
  /// umount(8) may come back before the daemon has ended. For a daemon whose mount is there nobody waits.
  func waitForLeaving(until end: UInt64) {
    while isBeingLeft, Clock.nanosecondsSinceBoot < end { Clock.pause(milliseconds: 10) }
  }

  private var isBeingLeft: Bool {
    guard case .held(let holder) = VolumeUse.of(upper.descriptor, believing: NestedMountCheck.counts),
      holder.host == nil, let process = holder.process
    else { return false }
    // Where the daemon sees a mount, it may be in another mount namespace than ours.
    let theirs = (try? Descriptor.reading(Array("/proc/\(process)/mountinfo".utf8)).readToEnd()) ?? []
    return !isShown(in: MountedVolume.table(of: namespace)) && !isShown(in: MountedVolume.table(theirs))
  }

  /// Whether a mount of this directory is in a table, or may be: one with another name does not tell of what it is.
  private func isShown(in table: [MountedVolume]) -> Bool {
    guard let position else { return true }
    return table.indices.contains { index in
      guard table[index].isOurs else { return false }
      let source = table[index].source
      guard source.first == UInt8(ascii: "/") else { return true }
      // By what was mounted before, as below.
      return MountedVolume.position(of: source, in: Array(table[..<index])) == position
    }
  }

  // MARK: What is above

  private func above(_ others: [OtherVolume]) -> String? {
    var (directory, position) = (upper, position)
    for _ in 0..<NestedMountCheck.mostSteps {
      guard let parent = NestedMountCheck.parent(of: directory) else { break }
      (directory, position) = (parent, position?.above)
      switch VolumeUse.of(directory.descriptor, believing: NestedMountCheck.counts) {
      case .nobody: continue
      case .held(let holder):
        return NestedMountCheck.isInside(try? directory.descriptor.heldPath(), .lock(holder))
      case .unknown:
        if let position, let other = others.first(where: { $0.isWritable && $0.position == position }) {
          return NestedMountCheck.isInside(other.source, .table)
        }
      }
    }
    // Above the root of a bind mount, or a directory that is closed to us.
    guard let position else { return nil }
    let other = others.first { $0.isWritable && position.path(below: $0.position) != nil }
    return other.map { NestedMountCheck.isInside($0.source, .table) }
  }

  /// The directory above, as far as the mount reaches.
  private static func parent(of directory: SharedDescriptor) -> SharedDescriptor? {
    // The table decides where there is none, and where it cannot be opened.
    guard let isTop = try? directory.descriptor.isMountRoot(), !isTop,
      let parent = try? SharedDescriptor(directory.descriptor.parent()),
      // Something may be mounted on it, which these two ask nothing.
      let isRoot = try? parent.descriptor.isMountRoot(),
      !isRoot || (try? parent.descriptor.knownDevice()) == (try? directory.descriptor.knownDevice()),
      // The root of this process is its own parent.
      let status = try? parent.descriptor.status(),
      (try? directory.descriptor.status()).map({ ObjectKey($0) }) != ObjectKey(status)
    else { return nil }
    return parent
  }

  // MARK: What is below

  private func below(_ others: [OtherVolume]) -> String? {
    guard let position else { return nil }
    for other in others {
      guard let way = other.position.path(below: position) else { continue }
      switch use(of: way) {
      case .nobody: continue
      case .held(let holder): return NestedMountCheck.contains(other.source, .lock(holder))
      case .unknown: if other.isWritable { return NestedMountCheck.contains(other.source, .table) }
      }
    }
    return nil
  }

  // MARK: What shows it

  /// What is written to a layer would show in the volume above it, of which it is said that it does not change.
  private func shown() -> String? {
    if VolumeUse.isLayer(upper.descriptor, believing: NestedMountCheck.counts) {
      return "it is a layer of a volume that is mounted; unmount that one first"
    }
    guard let position,
      let holder = LayerUse.holder(
        of: upper.descriptor, on: position.device, believing: NestedMountCheck.counts)
    else { return nil }
    return "it is a layer of a volume that is mounted, by process \(holder); unmount that one first"
  }

  private func use(of way: [UInt8]) -> VolumeUse {
    do throws(Errno) {
      let directory = try upper.descriptor.openDirectoryPath(beneath: way.span)
      return VolumeUse.of(directory, believing: NestedMountCheck.counts)
    } catch .noSuchFile, .notDirectory, .tooManySymbolicLinks {
      return .nobody
    } catch {
      // Closed to us, or covered by a mount.
      return .unknown
    }
  }

  // MARK: What counts

  /// A mount of a volume, by what the table says.
  private struct OtherVolume {
    let source: [UInt8]
    let mountPoint: [UInt8]
    let position: PositionInFileSystem
    let isWritable: Bool
  }

  private func otherVolumes() -> [OtherVolume] {
    let table = MountedVolume.table(of: namespace)
    return table.indices.compactMap { index in
      let mount = table[index]
      guard mount.isOurs, let owner = mount.owner, NestedMountCheck.counts(owner),
        mount.source.first == UInt8(ascii: "/"),
        // By what was mounted before: the mount may cover its own upper directory.
        let position = MountedVolume.position(of: mount.source, in: Array(table[..<index]))
      else { return nil }
      return OtherVolume(
        source: mount.source, mountPoint: mount.mountPoint, position: position, isWritable: !mount.isReadOnly)
    }
  }

  private static func counts(_ owner: UInt32) -> Bool { owner == 0 || owner == CurrentProcess.user }

  // MARK: Sentences

  private enum Evidence: CustomStringConvertible {
    case lock(LockHolder)
    /// Whether the daemon still runs cannot be seen.
    case table

    var description: String {
      switch self {
      case .lock(let holder): "by \(VolumeUse.name(of: holder))"
      case .table: "as the table of mounts says"
      }
    }
  }

  private static func isInside(_ volume: [UInt8]?, _ evidence: Evidence) -> String {
    let name = volume.map { "the volume \(PathText.escaped($0))" } ?? "a volume"
    return "it is inside \(name), which is mounted already, \(evidence)"
  }

  private static func contains(_ volume: [UInt8], _ evidence: Evidence) -> String {
    "the volume \(PathText.escaped(volume)) is inside it, and mounted already, \(evidence)"
  }
}
