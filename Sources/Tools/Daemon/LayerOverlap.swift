// Layers that share a part of a file system would change one another.

import FUSEDoor
import LayeredVolume
import LinuxFiles
import LinuxPrograms
import TextForms

enum LayerOverlap {
  /// A layer by its path and by its position on its file system, past all bind mounts.
  private struct LocatedLayer {
    let path: [UInt8]
    let directory: SharedDescriptor
    let position: PositionInFileSystem?
    var isSealed = true
  }

  /// Refuses layers one of which is, lies in, or holds another one on its file system; and a mount point inside a lower
  /// that shows what is mounted there.
  ///
  /// What is mounted below a lower is no part of it.
  static func refuse(
    upper: (directory: SharedDescriptor, path: [UInt8]), _ lowers: [LowerRoot], mountPoint: [UInt8]?,
    in namespace: MountNamespace?
  ) throws(MountFailure) {
    guard !lowers.isEmpty else { return }
    let table = MountedVolume.table(of: namespace)
    func position(_ path: [UInt8]?) -> PositionInFileSystem? {
      path.flatMap { MountedVolume.position(of: $0, in: table) }
    }
    let upperPath = (try? upper.directory.descriptor.heldPath()) ?? upper.path
    var layers = [LocatedLayer(path: upper.path, directory: upper.directory, position: position(upperPath))]
    for lower in lowers {
      let layer = LocatedLayer(
        path: lower.path, directory: lower.directory, position: position(lower.path), isSealed: lower.isSealed
      )
      for other in layers {
        guard let overlap = overlap(layer, other) else { continue }
        throw MountFailure(
          layer.path,
          "this lower directory \(overlap.rawValue) the layer \(PathText.escaped(other.path)); \(overlap.remedy)"
        )
      }
      if !lower.isSealed, let mountPoint, mountPoint != lower.path, Overlap.isBelow(mountPoint, lower.path) {
        throw MountFailure(
          mountPoint,
          "the mount point is inside the layer \(PathText.escaped(lower.path)); mount on a directory outside of it"
        )
      }
      layers.append(layer)
    }
  }

  private enum Overlapping: String {
    case same = "is"
    case inside = "is inside"
    case holding = "holds"

    var remedy: String {
      self == .same ? "name each directory once" : "leave one of the two out, or move one out of the other"
    }
  }

  private static func overlap(_ layer: LocatedLayer, _ other: LocatedLayer) -> Overlapping? {
    if let one = try? layer.directory.descriptor.status(), let two = try? other.directory.descriptor.status(),
      one.device == two.device, one.inode == two.inode
    {
      return .same
    }
    guard let one = layer.position, let two = other.position else { return nil }
    if one == two { return .same }
    if one.path(below: two) != nil { return .inside }
    return two.path(below: one) != nil ? .holding : nil
  }
}
