// Telling objects apart while they exist.

/// An object, whatever its names, and by whatever path it is reached.
///
/// Its numbers may be given to another one when it is gone.
package struct ObjectKey: Hashable, Sendable {
  package let device: UInt64
  package let inode: UInt64

  package init(_ status: FileStatus) {
    (device, inode) = (status.device, status.inode)
  }
}
