// Where the two directories of a mount are: among our own paths, or among those of another mount namespace.
//
// Only these two are looked for there. Accounts, groups, settings, the audit log, the control socket and /proc are our
// own: root of the other namespace may have put anything under their names.

import FUSEDoor
import LayeredVolume
import LinuxFiles
import LinuxPrograms

struct MountDirectories {
  private let upper: [UInt8]
  private let mountPoint: [UInt8]
  private let lowers: [[UInt8]]
  private let namespace: MountNamespace?
  /// In another mount namespace.
  private let foreign: (upper: ForeignDirectory, mountPoint: ForeignDirectory)?

  /// Finds them, and refuses those that overlap.
  init(upper: [UInt8], lowers: [[UInt8]], mountPoint: [UInt8], in namespace: MountNamespace?) throws {
    self.upper = upper
    self.mountPoint = mountPoint
    self.lowers = lowers
    self.namespace = namespace
    guard let namespace else {
      foreign = nil
      try Overlap.refuse(upper: upper, mountPoint: mountPoint)
      return
    }
    let found = try (
      upper: MountDirectories.find(upper, "the source", in: namespace),
      mountPoint: MountDirectories.find(mountPoint, "the mount point", in: namespace)
    )
    try Overlap.refuse(realUpper: found.upper.path, mountPoint: found.mountPoint.path)
    foreign = found
  }

  private static func find(
    _ path: [UInt8], _ role: String, in namespace: MountNamespace
  ) throws -> ForeignDirectory {
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

  /// Opens the upper directory, if it is on a file system that can hold one.
  func root() throws(MountFailure) -> UpperRoot {
    do throws(VolumeFailure) {
      // Told by the status, where the working directory of now means nothing.
      let path = upper.first == UInt8(ascii: "/") ? upper : (try? realPath(upper)) ?? upper
      return try UpperRoot(path, openedAs: foreign?.upper.directory)
    } catch {
      throw MountFailure(upper, error.message)
    }
  }

  /// Opens the lowers, if they can be layers of this volume.
  func lowerRoots(below root: UpperRoot) throws -> [LowerRoot] {
    var found: [LowerRoot] = []
    for path in lowers {
      let foreign = try namespace.map { try MountDirectories.find(path, "the lower directory", in: $0) }
      // Kept in the volume file, where the working directory of today means nothing.
      let absolute = foreign?.path ?? (try? realPath(path)) ?? path
      do throws(VolumeFailure) {
        found.append(try LowerRoot(absolute, openedAs: foreign?.directory))
      } catch {
        throw MountFailure(path, error.message)
      }
    }
    try LayerOverlap.refuse(
      upper: (root.directory, upper), found,
      mountPoint: foreign?.mountPoint.path ?? (try? realPath(mountPoint)),
      in: namespace)
    return found
  }

  func nestedMountCheck(_ root: UpperRoot) -> NestedMountCheck {
    NestedMountCheck(root.directory, path: upper, foreign: foreign?.upper)
  }

  /// Gives daemons a moment to end whose mounts of these directories are gone.
  func waitForLeaving(_ upper: NestedMountCheck) {
    // Longer than a daemon takes that has nothing left to do; what takes one longer is said.
    let end = Clock.nanosecondsSinceBoot + 3_000_000_000
    upper.waitForLeaving(until: end)
    for path in lowers {
      let foreign = namespace.flatMap { try? MountDirectories.find(path, "the lower directory", in: $0) }
      // What is wrong with it is told when it is opened as a layer.
      guard namespace == nil || foreign != nil,
        let lower = foreign?.directory ?? (try? SharedDescriptor(Descriptor.directory(atPath: path)))
      else { continue }
      NestedMountCheck(lower, path: path, foreign: foreign).waitForLeaving(until: end)
    }
  }

  func volume(
    _ root: UpperRoot, over lowers: [LowerRoot], _ options: VolumeOptions,
    groupNesting: [UInt32: [UInt32]], audit: AuditLog?
  ) throws -> Volume {
    try aboutUpper {
      try Volume(root, lowers: lowers, options: options, groupNesting: groupNesting, audit: audit)
    }
  }

  /// Refuses what `volume` would refuse.
  func checkVolume(_ root: UpperRoot, _ options: VolumeOptions) throws {
    try aboutUpper { try root.check(options) }
  }

  /// The same of its layers.
  func checkLayers(_ root: UpperRoot, over lowers: [LowerRoot], _ options: VolumeOptions) throws {
    try aboutUpper { try root.checkLayers(over: lowers, options) }
  }

  private func aboutUpper<Value>(_ work: () throws -> Value) throws -> Value {
    do {
      return try work()
    } catch let failure as VolumeFailure {
      throw MountFailure(upper, failure.message)
    }
  }

  /// Refuses a mount point on which nothing can be mounted.
  ///
  /// `deadIsGone`: whether a mount whose daemon is gone counts as taken away.
  func requireMountPoint(_ options: MountOptions, deadIsGone: Bool) throws(MountFailure) {
    if let foreign {
      try Overlap.refuseTaken(foreign.mountPoint.directory.descriptor, path: mountPoint)
    } else {
      try Overlap.refuseTaken(mountPoint: mountPoint)
      guard CurrentProcess.isRoot || fusermount() != nil else {
        throw MountFailure(mountPoint, "fusermount3 is missing; it comes with the package fuse3")
      }
      if deadIsGone, QuestionApart.isDeadMount(mountPoint) { return }
      try Session.check(mountPoint: mountPoint, options)
    }
  }

  func session(_ volume: Volume, _ options: MountOptions) throws(MountFailure) -> Session {
    try Session(volume: volume, mountPoint: mountPoint, in: foreign?.mountPoint, options: options)
  }
}
