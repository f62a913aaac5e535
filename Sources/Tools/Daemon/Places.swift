// Where the two directories of a mount are: among our own paths, or among those of another mount namespace.
//
// Only these two are looked for there. Accounts, groups, settings, the audit log, the control socket and /proc are our
// own: whoever rules the other namespace may have put anything under their names.

import FUSEDoor
import LayeredVolume
import LinuxFiles
import LinuxPrograms

struct Places {
  private let upper: String
  private let mountPoint: String
  /// In another mount namespace.
  private let foreign: (upper: ForeignDirectory, mountPoint: ForeignDirectory)?

  /// Finds them, and refuses those that overlap.
  init(upper: String, mountPoint: String, in namespace: MountNamespace?) throws {
    self.upper = upper
    self.mountPoint = mountPoint
    guard let namespace else {
      foreign = nil
      try Overlap.refuse(upper: upper, mountPoint: mountPoint)
      return
    }
    let found = try (
      upper: Places.find(upper, in: namespace, "\(upper): cannot open the upper directory"),
      mountPoint: Places.find(mountPoint, in: namespace, "cannot mount on '\(mountPoint)'")
    )
    try Overlap.refuse(upper: Array(found.upper.path.utf8), mountPoint: Array(found.mountPoint.path.utf8))
    foreign = found
  }

  private static func find(
    _ path: String, in namespace: MountNamespace, _ complaint: String
  ) throws(MountFailure) -> ForeignDirectory {
    do throws(Errno) {
      return try namespace.directory(path)
    } catch .notConnected {
      throw MountFailure("\(complaint): the daemon of an earlier mount there is gone; unmount it first")
    } catch {
      throw MountFailure("\(complaint): \(error)")
    }
  }

  func volume(
    _ options: VolumeOptions, groupNesting: [UInt32: [UInt32]], audit: AuditLog?
  ) throws -> Volume {
    try Volume(
      upper: upper, openedAs: foreign?.upper.directory, options: options, groupNesting: groupNesting,
      audit: audit)
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
