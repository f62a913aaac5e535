// Where the two directories of a mount are: among our own paths, or among those of another mount namespace.
//
// Only these two are looked for there. Accounts, groups, settings, the audit log, the control socket and /proc are our
// own: whoever rules the other namespace may have put anything under their names.

import FUSEDoor
import LayeredVolume
import LinuxFiles
import LinuxPrograms

struct Places {
  private let upper: [UInt8]
  private let mountPoint: [UInt8]
  /// In another mount namespace.
  private let foreign: (upper: ForeignDirectory, mountPoint: ForeignDirectory)?

  /// Finds them, and refuses those that overlap.
  init(upper: [UInt8], mountPoint: [UInt8], in namespace: MountNamespace?) throws {
    self.upper = upper
    self.mountPoint = mountPoint
    guard let namespace else {
      foreign = nil
      try Overlap.refuse(upper: upper, mountPoint: mountPoint)
      return
    }
    let found = try (
      upper: Places.find(upper, "the source", in: namespace),
      mountPoint: Places.find(mountPoint, "the mount point", in: namespace)
    )
    try Overlap.refuse(realUpper: found.upper.path, mountPoint: found.mountPoint.path)
    foreign = found
  }

  private static func find(
    _ path: [UInt8], _ role: String, in namespace: MountNamespace
  ) throws -> ForeignDirectory {
    // Our working directory is none of that namespace's.
    guard path.first == UInt8(ascii: "/") else {
      throw ArgumentFailure("\(role) in another mount namespace needs an absolute path", about: path)
    }
    do throws(Errno) {
      return try namespace.directory(path)
    } catch .notConnected {
      throw MountFailure(path, "the daemon of an earlier mount there is gone; unmount it first")
    } catch .noSuchFile {
      throw MountFailure(
        path, "\(role) does not exist in that mount namespace (ENOENT); make it there, with mkdir")
    } catch {
      throw MountFailure(path, "\(role) in that mount namespace: \(error)")
    }
  }

  func volume(
    _ options: VolumeOptions, groupNesting: [UInt32: [UInt32]], audit: AuditLog?
  ) throws -> Volume {
    do {
      return try Volume(
        upper: upper, openedAs: foreign?.upper.directory, options: options, groupNesting: groupNesting,
        audit: audit)
    } catch let failure as VolumeFailure {
      throw MountFailure(upper, failure.message)
    }
  }

  func session(_ volume: Volume, _ options: MountOptions) throws(MountFailure) -> Session {
    if let foreign {
      try Overlap.refuseTaken(foreign.mountPoint.directory.descriptor, path: mountPoint)
    } else {
      try Overlap.refuseTaken(mountPoint: mountPoint)
    }
    return try Session(
      volume: volume, mountPoint: mountPoint, in: foreign?.mountPoint, options: options)
  }
}
