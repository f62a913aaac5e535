// Reading what must keep its access time: a lower, and what is only looked at.

import LinuxFiles

extension OpenFlags {
  /// Opens with these flags; where O_NOATIME among them is refused, without it.
  ///
  /// Linux grants it to the owner of an object and to who has CAP_FOWNER: a user's daemon reads the files of others as
  /// everybody does.
  func openLeniently<R: ~Copyable>(_ open: (OpenFlags) throws(Errno) -> R) throws(Errno) -> R {
    do throws(Errno) {
      return try open(self)
    } catch {
      guard error == .notPermitted, contains(.noAccessTime) else { throw error }
      return try open(subtracting(.noAccessTime))
    }
  }
}
