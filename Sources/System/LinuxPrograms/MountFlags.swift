import CPrograms
package import LinuxFiles

// What the kernel keeps of a mount, beside who serves it.

/// The flags of a mount, as mount(2) takes them.
package struct MountFlags: OptionSet, Hashable, Sendable {
  package let rawValue: UInt32

  package init(rawValue: UInt32) {
    self.rawValue = rawValue
  }

  package static let readOnly = MountFlags(LV_MOUNT_READ_ONLY)
  package static let noSetID = MountFlags(LV_MOUNT_NO_SETID)
  package static let noDevices = MountFlags(LV_MOUNT_NO_DEVICES)
  package static let noPrograms = MountFlags(LV_MOUNT_NO_PROGRAMS)
  package static let synchronous = MountFlags(LV_MOUNT_SYNCHRONOUS)
  package static let namesSynchronous = MountFlags(LV_MOUNT_NAMES_SYNCHRONOUS)
  package static let noLinks = MountFlags(LV_MOUNT_NO_LINKS)
  package static let noAccessTimes = MountFlags(LV_MOUNT_NO_ATIME)
  package static let noDirectoryAccessTimes = MountFlags(LV_MOUNT_NO_DIRECTORY_ATIME)
  package static let relativeAccessTimes = MountFlags(LV_MOUNT_RELATIVE_ATIME)
  package static let strictAccessTimes = MountFlags(LV_MOUNT_STRICT_ATIME)

  private init(_ bit: Int32) {
    rawValue = UInt32(bitPattern: bit)
  }

  /// The way access times are kept is one choice of several.
  package static let accessTimes: MountFlags = [.noAccessTimes, .relativeAccessTimes, .strictAccessTimes]
}

/// Gives the mount at `path` these flags and no others.
///
/// `whole`: also the file system behind it, so that it is read-only for all its mounts, or for none; EBUSY when a file
/// is open for writing. Else this one mount alone.
package func remount(_ path: [UInt8], _ flags: MountFlags, whole: Bool) throws(Errno) {
  _ = try unsafe withTerminatedText(path) { path throws(Errno) in
    try retrying { unsafe lv_remount(path, flags.rawValue, whole ? 1 : 0) }
  }
}

/// Shows a directory at another path, too, with the flags of the mount it is on.
package func bind(_ directory: [UInt8], at path: [UInt8]) throws(Errno) {
  _ = try unsafe withTerminatedText(directory) { directory throws(Errno) in
    try unsafe withTerminatedText(path) { path throws(Errno) in
      try retrying { unsafe lv_bind(directory, path) }
    }
  }
}
