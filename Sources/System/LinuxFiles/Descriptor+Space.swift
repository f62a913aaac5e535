import CLinux
import Glibc

// Sizes, holes and the way of bytes to the disk.

/// What `fallocate` does to a range; the bits of the kernel.
package struct AllocationMode: OptionSet, Sendable, Hashable {
  package let rawValue: CInt

  package init(rawValue: CInt) {
    self.rawValue = rawValue
  }

  package static let keepSize = AllocationMode(rawValue: LV_FALLOC_KEEP_SIZE)
  /// Only together with `keepSize`.
  package static let punchHole = AllocationMode(rawValue: LV_FALLOC_PUNCH_HOLE)
  package static let zeroRange = AllocationMode(rawValue: LV_FALLOC_ZERO_RANGE)
}

/// From where `seek` counts, or what it looks for.
package enum SeekOrigin: CInt, Sendable {
  case start = 0
  case current = 1
  case end = 2
  case data = 3
  case hole = 4
}

extension Descriptor {
  package borrowing func truncate(to size: UInt64) throws(Errno) {
    guard let size = Int64(exactly: size) else { throw .fileTooBig }
    try retrying { lv_truncate(rawValue, size) }
  }

  package borrowing func allocate(
    mode: AllocationMode, offset: Int64, length: Int64
  ) throws(Errno) {
    try retrying { lv_allocate(rawValue, mode.rawValue, offset, length) }
  }

  /// Moves the file position and answers it; ENXIO when there is no data or hole after `offset`.
  @discardableResult
  package borrowing func seek(offset: Int64, whence: SeekOrigin) throws(Errno) -> Int64 {
    Int64(try retrying { lv_seek(rawValue, offset, whence.rawValue) })
  }

  /// Begins to bring a range of a file to the disk, or waits until it is there; what may fail only makes a later sync
  /// take longer.
  package borrowing func writeBack(_ range: Range<UInt64>, waiting: Bool) {
    _ = lv_write_back(rawValue, Int64(range.lowerBound), Int64(range.count), waiting ? 1 : 0)
  }

  /// Copies bytes inside the kernel and answers how many; 0 at the end of the source.
  ///
  /// One call over a whole sparse file fills its holes on some file systems: go from data to data, as `seek`
  /// finds it. EXDEV or EINVAL where the two file systems cannot do it.
  package borrowing func copyRange(
    from offset: Int64, to destination: borrowing Descriptor, at destinationOffset: Int64, length: Int
  ) throws(Errno) -> Int {
    guard length >= 0 else { throw .invalid }
    return try retrying {
      lv_copy_range(rawValue, offset, destination.rawValue, destinationOffset, length)
    }
  }

  /// Shares all blocks of this file with an empty one; EXDEV, EOPNOTSUPP or EINVAL where they cannot be shared.
  package borrowing func clone(to target: borrowing Descriptor) throws(Errno) {
    try retrying { lv_clone_file(rawValue, target.rawValue) }
  }

  /// Waits until the file is on the disk; with `dataOnly`, without times that are not needed to read it.
  package borrowing func sync(dataOnly: Bool = false) throws(Errno) {
    try retrying { lv_sync(rawValue, dataOnly ? 1 : 0) }
  }

  /// Waits until all of the file system that the file is on is on the disk.
  package borrowing func syncFileSystem() throws(Errno) {
    try retrying { lv_sync_file_system(rawValue) }
  }

  /// The number that tells two owners of one inode number apart; ENOTTY where there is none (tmpfs).
  package borrowing func generation() throws(Errno) -> UInt32 {
    var generation: UInt32 = 0
    try retrying { unsafe lv_generation(rawValue, &generation) }
    return generation
  }
}
