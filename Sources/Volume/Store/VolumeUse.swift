// Who has a volume mounted for writing, found out without taking its lock or making anything.

package import LinuxFiles

/// Whether a directory is a volume that a mount writes to.
package enum VolumeUse: Equatable, Sendable {
  case nobody
  case held(by: LockHolder)
  /// The lock is closed to us, or covered by a mount.
  case unknown

  /// Looks at the lock of the volume whose upper directory is `root`, if it is one.
  ///
  /// `believing`: whose bookkeeping counts. Any user can make some, and lock it, in a directory they may write to.
  /// What is mounted on it is not asked anything: it may be a user's file system, and never answer.
  package static func of(
    _ root: borrowing Descriptor, believing users: (_ owner: UInt32) -> Bool
  ) -> VolumeUse {
    do throws(Errno) {
      let directory = SharedDescriptor(try root.openDirectoryPath(try FileName(OwnDirectory.name)))
      let status = try directory.descriptor.status()
      guard users(status.user), status.mode & 0o077 == 0 else { return .nobody }
      return try VolumeDirectory.use(of: directory)
    } catch .noSuchFile, .notDirectory, .tooManySymbolicLinks {
      return .nobody
    } catch {
      return .unknown
    }
  }

  /// Whether a volume that is mounted has the one at `root` as a layer.
  package static func isLayer(
    _ root: borrowing Descriptor, believing users: (_ owner: UInt32) -> Bool
  ) -> Bool {
    do throws(Errno) {
      let directory = try root.openDirectoryPath(try FileName(OwnDirectory.name))
      guard users(try directory.status().user) else { return false }
      let place = try directory.openPath(try FileName("lock"))
      guard try place.status().kind == .regular else { return false }
      return try place.reopen([.readOnly, .nonBlocking]).isLockedShared()
    } catch {
      // What cannot be looked at is refused when its lock is taken.
      return false
    }
  }

  /// How a holder is called.
  package static func name(of holder: LockHolder?) -> String {
    if holder?.isVolumeAbove == true { return "another volume that has it as a layer" }
    let process = holder?.process.map { "process \($0)" } ?? "another process"
    return holder?.host.map { "\(process) on \($0)" } ?? process
  }
}

extension VolumeDirectory {
  /// Whether a process has the lock in `directory`, which is the bookkeeping of a volume.
  static func use(of directory: SharedDescriptor) throws(Errno) -> VolumeUse {
    let name = try FileName("lock")
    do throws(Errno) {
      // A FIFO would keep its opener waiting, a device might do anything, and what is mounted on it might not answer.
      let place = try directory.descriptor.openPath(name)
      guard try place.status().kind == .regular else { return .nobody }
      let file = try place.reopen([.readOnly, .nonBlocking])
      guard try file.isLockedExclusively() else { return .nobody }
      return .held(by: LockHolder(readFrom: file))
    } catch .noSuchFile, .crossDevice {
      return .nobody
    }
  }
}
