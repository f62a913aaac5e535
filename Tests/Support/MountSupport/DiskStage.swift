// Places for tests that need a file system of their own below a volume.

import Glibc

/// A directory with `disk`, where scripts mount an image of a file system, and `mount`, for a volume on it.
package struct DiskStage {
  package let base: String

  package init() throws {
    base = try TemporaryDirectory.make()
    chmod(base, 0o755)
    for name in ["disk", "mount"] { mkdir("\(base)/\(name)", 0o755) }
  }

  package func remove() {
    for name in ["mount", "disk"] { umount2("\(base)/\(name)", CInt(MNT_DETACH)) }
    TemporaryDirectory.remove(base)
  }
}
