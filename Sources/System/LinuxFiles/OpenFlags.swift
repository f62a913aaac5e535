import CLinux
import Glibc

// How a file is opened. The values are those of the kernel, so that a request's flags pass through.

/// The `O_*` bits of an open that does not create.
///
/// Public, and so are its members, because other modules reach those of a `package` set through witness tables only,
/// with an allocation for every literal.
public struct OpenFlags: OptionSet, Sendable, Hashable {
  /// The bits as the kernel numbers them.
  public let rawValue: CInt

  /// Takes the kernel's bits.
  public init(rawValue: CInt) {
    self.rawValue = rawValue
  }

  /// Reading.
  public static let readOnly = OpenFlags([])
  /// Writing.
  public static let writeOnly = OpenFlags(rawValue: O_WRONLY)
  /// Reading and writing.
  public static let readWrite = OpenFlags(rawValue: O_RDWR)
  /// Each write goes to the end.
  public static let append = OpenFlags(rawValue: O_APPEND)
  /// The content is thrown away.
  public static let truncate = OpenFlags(rawValue: O_TRUNC)
  /// Nobody waits, neither now nor later.
  public static let nonBlocking = OpenFlags(rawValue: O_NONBLOCK)
  /// ENOTDIR for anything but a directory.
  public static let directory = OpenFlags(rawValue: O_DIRECTORY)
  /// Each write waits for the disk.
  public static let synchronous = OpenFlags(rawValue: O_SYNC)
  /// Reading leaves the access time alone; the owner's or root's to ask for.
  public static let noAccessTime = OpenFlags(rawValue: LV_O_NOATIME)
  /// Reading and writing goes past the page cache; EINVAL where a file system cannot.
  public static let unbuffered = OpenFlags(rawValue: LV_O_DIRECT)
  /// Each write waits for the disk, but for the times.
  public static let dataSynchronous = OpenFlags(rawValue: O_DSYNC)
  /// Only a place in the tree: no reading or writing, no permission needed on the object itself.
  public static let path = OpenFlags(rawValue: LV_O_PATH)

  package var canRead: Bool { rawValue & O_ACCMODE != O_WRONLY }
  package var canWrite: Bool { rawValue & O_ACCMODE != O_RDONLY }

  /// What a descriptor that is opened with these flags is for.
  var use: Descriptor.Use {
    if contains(.path) { return .path }
    return rawValue & O_ACCMODE == O_RDWR ? .readWrite : .other
  }

  /// Creation needs a mode and has functions of its own.
  var withoutCreation: CInt { rawValue & ~(O_CREAT | O_EXCL | LV_O_TMPFILE_BIT) }
}
