import CLinux
import Glibc

// From a directory to what is directly in it, never through a symbolic link.

extension Descriptor {
  /// Holds on to `name` without opening it for reading or writing; also a symbolic link itself.
  ///
  /// EXDEV when something is mounted on `name`: what is there is not ours.
  package borrowing func openPath(_ name: borrowing FileName) throws(Errno) -> Descriptor {
    try openWithin(name, 0)
  }

  /// Holds on to the directory `name`, as the base of further calls.
  ///
  /// ENOTDIR for anything else, a symbolic link included; EXDEV when something is mounted on it.
  package borrowing func openDirectoryPath(_ name: borrowing FileName) throws(Errno) -> Descriptor {
    try openWithin(name, O_DIRECTORY)
  }

  private borrowing func openWithin(
    _ name: borrowing FileName, _ flags: CInt
  ) throws(Errno) -> Descriptor {
    let flags = flags | LV_O_PATH | O_NOFOLLOW | O_CLOEXEC
    if Capabilities.hasOpenat2 {
      do throws(Errno) {
        let opened = try retrying { unsafe lv_open_beneath(rawValue, name.pointer, flags) }
        return Descriptor(adopting: opened.asCInt, .path)
      } catch .notImplemented {
        Capabilities.hasOpenat2 = false
      }
    }
    let opened = Descriptor(
      adopting: try retrying { unsafe lv_open(rawValue, name.pointer, flags, 0) }.asCInt, .path)
    guard try !opened.isMountRoot() else { throw .crossDevice }
    return opened
  }

  /// Opens `name` directly below this directory; never creates.
  ///
  /// Never follows a link: a symbolic link in the last place is ELOOP. Opening a fifo or a device can
  /// block or act: look at `status(of:)` first, pass `.nonBlocking` and look at `status()` again.
  package borrowing func open(_ name: borrowing FileName, _ flags: OpenFlags) throws(Errno) -> Descriptor {
    let bits = flags.withoutCreation | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY
    return Descriptor(
      adopting: try retrying { unsafe lv_open(rawValue, name.pointer, bits, 0) }.asCInt, flags.use)
  }

  /// Opens once more what this descriptor refers to, usually an `O_PATH` one, with other flags.
  ///
  /// Goes through /proc/self/fd, so it reaches the very object, whatever its name is now. ELOOP for a
  /// symbolic link. O_NOFOLLOW from a caller is dropped: here it would refuse everything.
  package borrowing func reopen(_ flags: OpenFlags) throws(Errno) -> Descriptor {
    let bits = (flags.withoutCreation & ~O_NOFOLLOW) | O_CLOEXEC | O_NOCTTY
    return Descriptor(
      adopting: try retrying { lv_reopen(rawValue, bits) }.asCInt, flags.use)
  }

  /// Creates the regular file `name` and opens it for reading and writing; EEXIST if the name exists.
  package borrowing func createFile(
    _ name: borrowing FileName, mode: UInt16
  ) throws(Errno) -> Descriptor {
    let flags = O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC | O_NOFOLLOW
    let opened = try retrying { unsafe lv_open(rawValue, name.pointer, flags, UInt32(mode)) }
    return Descriptor(adopting: opened.asCInt, .readWrite)
  }

  /// Creates a regular file in this directory's file system that has no name yet.
  ///
  /// It vanishes with the last descriptor unless `linkObject` gives it a name.
  package borrowing func createUnnamed(mode: UInt16) throws(Errno) -> Descriptor {
    let flags = LV_O_TMPFILE_BIT | O_DIRECTORY | O_RDWR | O_CLOEXEC
    let opened = try retrying { unsafe lv_open(rawValue, ".", flags, UInt32(mode)) }
    return Descriptor(adopting: opened.asCInt, .readWrite)
  }
}
