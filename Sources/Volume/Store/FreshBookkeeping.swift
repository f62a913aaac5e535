// Bookkeeping of a mount that did not come about: the directory is left as it was found. What a user was refused to
// mount would otherwise be theirs, and root could not mount it any more.

import LinuxFiles
import Synchronization

extension VolumeDirectory {
  /// What a mount makes and fills before it serves anybody.
  private static let contents: Set<[UInt8]> = [
    Array("lock".utf8), Array("volume".utf8), Array("volume.new".utf8), Array("work".utf8),
  ]

  /// Takes the bookkeeping away that was made for this mount, which did not come about; unless it tells of records.
  func takeBack() {
    let opened = self.opened.withLock { $0 }
    // What was there before stays, and the next mount need not wait for one that did not come about.
    guard opened.isFresh, let directory = opened.directory else { return endLease() }
    // Whatever is wrong with it, it stays: the mount has failed for another reason, which is told.
    try? VolumeDirectory.takeBack(directory, from: root, isLocked: opened.lock != nil)
  }

  /// Takes away what was made in `root`, as far as nobody else has anything there or looks at it.
  ///
  /// Without the lock it must be empty still.
  static func takeBack(
    _ directory: SharedDescriptor, from root: SharedDescriptor, isLocked: Bool
  ) throws(Errno) {
    let name = try FileName(OwnDirectory.name)
    guard
      try ObjectIdentity(root.descriptor.status(of: name)) == ObjectIdentity(directory.descriptor.status())
    else { return }
    if isLocked {
      guard try contents.isSuperset(of: directory.descriptor.names()) else { return }
      // Who reads it, or repairs it, shares it or has it alone; a file system may know no such locks.
      if let isAlone = try? directory.descriptor.tryLockOpen(exclusive: true), !isAlone { return }
      try empty(directory)
    }
    try root.descriptor.removeDirectory(name)
  }

  /// The lock goes last: a thread that waits for it finds that it is none any more (`tryLock`).
  private static func empty(_ directory: SharedDescriptor) throws(Errno) {
    do throws(Errno) {
      // Empty, or kept.
      try directory.descriptor.removeDirectory(try FileName("work"))
    } catch .noSuchFile {
      // The mount did not come so far.
    }
    for name in ["volume", "volume.new", "lock"] as [StaticString] {
      do throws(Errno) {
        try directory.descriptor.removeFile(try FileName(name))
      } catch .noSuchFile {
        // Nor so far.
      }
    }
  }
}
