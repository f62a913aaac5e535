import CLinux
import Glibc

// How a file is opened. The values are those of the kernel, so that a request's flags pass through.

/// The `O_*` bits of an open that does not create.
package struct OpenFlags: OptionSet, Sendable, Hashable {
  package let rawValue: CInt

  package init(rawValue: CInt) {
    self.rawValue = rawValue
  }

  package static let readOnly = OpenFlags([])
  package static let writeOnly = OpenFlags(rawValue: O_WRONLY)
  package static let readWrite = OpenFlags(rawValue: O_RDWR)
  package static let append = OpenFlags(rawValue: O_APPEND)
  package static let truncate = OpenFlags(rawValue: O_TRUNC)
  package static let nonBlocking = OpenFlags(rawValue: O_NONBLOCK)
  package static let directory = OpenFlags(rawValue: O_DIRECTORY)
  package static let synchronous = OpenFlags(rawValue: O_SYNC)
  /// Reading leaves the access time alone; the owner's or root's to ask for.
  package static let noAccessTime = OpenFlags(rawValue: LV_O_NOATIME)
  /// Reading and writing goes past the page cache; EINVAL where a file system cannot.
  package static let unbuffered = OpenFlags(rawValue: LV_O_DIRECT)
  package static let dataSynchronous = OpenFlags(rawValue: O_DSYNC)
  /// Only a place in the tree: no reading or writing, no permission needed on the object itself.
  package static let path = OpenFlags(rawValue: LV_O_PATH)

  package var canRead: Bool { rawValue & O_ACCMODE != O_WRONLY }
  package var canWrite: Bool { rawValue & O_ACCMODE != O_RDONLY }

  /// Creation needs a mode and has functions of its own.
  var withoutCreation: CInt { rawValue & ~(O_CREAT | O_EXCL | LV_O_TMPFILE_BIT) }
}
