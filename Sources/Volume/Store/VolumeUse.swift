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
      guard let directory = try bookkeeping(in: root, believing: users) else { return .nobody }
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
      guard let directory = try bookkeeping(in: root, believing: users),
        let lock = try VolumeDirectory.lockFile(in: directory)
      else { return false }
      return try lock.descriptor.isLockedShared()
    } catch {
      // What cannot be looked at is refused when its lock is taken.
      return false
    }
  }

  /// Nil if it does not count.
  private static func bookkeeping(
    in root: borrowing Descriptor, believing users: (_ owner: UInt32) -> Bool
  ) throws(Errno) -> SharedDescriptor? {
    let directory = SharedDescriptor(try root.openDirectoryPath(try FileName(OwnDirectory.name)))
    let status = try directory.descriptor.status()
    return users(status.user) && status.mode & 0o077 == 0 ? directory : nil
  }

  /// How a holder is called.
  package static func name(of holder: LockHolder?) -> String {
    if holder?.isVolumeAbove == true { return "another volume that has it as a layer" }
    let process = holder?.process.map { "process \($0)" } ?? "another process"
    return holder?.host.map { "\(process) on \($0)" } ?? process
  }
}

extension VolumeDirectory {
  /// Whether another mount may write to the volume at any moment; asked by one that may not.
  ///
  /// A mount that was writable keeps its lock while it only reads, unless it lost it: then nobody else writes.
  func mayHaveWriter(lackingLock: Bool) -> Bool { lackingLock || !isLocked }

  /// Its workshop, to look at; nil where there is no bookkeeping.
  func workshopOfWriter() throws(Errno) -> SharedDescriptor? {
    guard let directory = descriptor else { return nil }
    return SharedDescriptor(try directory.descriptor.open(try FileName("work"), [.readOnly, .directory]))
  }

  /// Whether one does write to it now; what cannot be found out is taken for that.
  var hasWriter: Bool {
    guard let directory = descriptor else { return true }
    return (try? VolumeDirectory.use(of: directory)) != .nobody
  }

  /// Whether a process has the lock in `directory`, which is the bookkeeping of a volume.
  static func use(of directory: SharedDescriptor) throws(Errno) -> VolumeUse {
    do throws(Errno) {
      guard let file = try lockFile(in: directory), try file.descriptor.isLockedExclusively() else {
        return .nobody
      }
      return .held(by: LockHolder(readFrom: file.descriptor))
    } catch .noSuchFile, .crossDevice {
      return .nobody
    }
  }

  /// Nil for what is no file: a FIFO would keep its opener waiting, a device might do anything, and what is mounted on it
  /// might not answer.
  static func lockFile(in directory: SharedDescriptor) throws(Errno) -> SharedDescriptor? {
    let place = try directory.descriptor.openPath(try FileName("lock"))
    guard try place.status().kind == .regular else { return nil }
    return SharedDescriptor(try place.reopen([.readOnly, .nonBlocking]))
  }
}
