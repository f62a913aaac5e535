// A mount inside its own upper directory would make the daemon wait for itself.

import FUSEDoor
import LayeredVolume
import LinuxFiles
import LinuxPrograms
import TextForms

enum Overlap {
  /// Refuses a mount point inside the upper directory, and an upper directory inside the mount point.
  ///
  /// A mount on the upper directory itself is allowed: the daemon holds the directory below.
  static func refuse(upper: [UInt8], mountPoint: [UInt8]) throws(ArgumentFailure) {
    // A path that cannot be resolved is reported elsewhere.
    guard let upper = try? realPath(upper), let mountPoint = try? realPath(mountPoint) else { return }
    try refuse(realUpper: upper, mountPoint: mountPoint)
  }

  /// The same for paths that are absolute and free of links.
  static func refuse(realUpper upper: [UInt8], mountPoint: [UInt8]) throws(ArgumentFailure) {
    guard upper != mountPoint else { return }
    if isBelow(mountPoint, upper) {
      throw ArgumentFailure(
        "the mount point is inside the upper directory \(PathText.escaped(upper))", about: mountPoint)
    }
    if isBelow(upper, mountPoint) {
      throw ArgumentFailure(
        "the upper directory is inside the mount point \(PathText.escaped(mountPoint))", about: upper)
    }
  }

  /// Refuses a mount point that shows a volume already, which would be hidden.
  ///
  /// A directory inside a volume is a mount point like any other.
  static func refuseTaken(mountPoint: [UInt8]) throws(MountFailure) {
    let directory: Descriptor
    do throws(Errno) {
      directory = try Descriptor.directory(atPath: mountPoint)
    } catch {
      // A volume whose store fails is one all the same.
      if error != .notConnected, isInTable(mountPoint) { throw taken(mountPoint) }
      // Whatever else is wrong with it is said when it is mounted on.
      return
    }
    if isInTable(mountPoint) { throw taken(mountPoint) }
    try refuseTaken(directory, path: mountPoint)
  }

  /// Whether the table of mounts has a volume there, on top.
  private static func isInTable(_ path: [UInt8]) -> Bool {
    guard let path = try? realPath(path) else { return false }
    return MountedVolume.table().last { $0.mountPoint == path }?.isOurs ?? false
  }

  private static func taken(_ path: [UInt8]) -> MountFailure {
    MountFailure(path, "the mount point shows a Varve volume already; unmount that one first")
  }

  /// The same for a directory that is open.
  static func refuseTaken(_ directory: borrowing Descriptor, path: [UInt8]) throws(MountFailure) {
    guard (try? directory.isMountRoot()) == true, Volume.isOnVolume(directory) else { return }
    throw taken(path)
  }

  static func isBelow(_ path: [UInt8], _ directory: [UInt8]) -> Bool {
    path.starts(with: directory == [UInt8(ascii: "/")] ? directory : directory + [UInt8(ascii: "/")])
  }
}
