// Whether a tree brings POSIX lists along. They decide about nothing on a volume; `status` says that they are there.

import LinuxFiles

extension VolumeDirectory {
  /// How much of the root directory is looked at: a request for the status does not wait for a walk.
  private static let most = 256

  /// Whether the upper directory or something directly in it has a POSIX list.
  var hasPosixLists: Bool {
    do throws(Errno) {
      let listing = try root.descriptor.reopen([.readOnly, .directory])
      let own = try VolumeDirectory.hasPosixList { attribute throws(Errno) in try listing.attribute(attribute)
      }
      if own { return true }
      for name in try listing.names().prefix(VolumeDirectory.most) {
        let isFound = try FileName.with(name) { name throws(Errno) in
          try VolumeDirectory.hasPosixList { attribute throws(Errno) in
            // A link has none, and a name may be gone again.
            do throws(Errno) { return try listing.attribute(attribute, of: name) } catch { return nil }
          }
        }
        if isFound { return true }
      }
    } catch {
      // The file system below has none.
    }
    return false
  }

  private static func hasPosixList(
    _ read: (borrowing AttributeName) throws(Errno) -> [UInt8]?
  ) throws(Errno) -> Bool {
    if try read(try AttributeName("system.posix_acl_access")) != nil { return true }
    return try read(try AttributeName("system.posix_acl_default")) != nil
  }
}
