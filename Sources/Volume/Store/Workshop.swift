// Names for objects that are not finished yet.

import LinuxFiles
import Synchronization

enum Workshop {
  private static let counter = Atomic<UInt64>(0)

  /// A name nobody else uses: the workshop is emptied at mount, and only one daemon holds the volume.
  static func nextName() -> [UInt8] {
    Array("t-\(counter.add(1, ordering: .relaxed).newValue)".utf8)
  }

  /// Removes an unfinished object; what cannot be removed now goes at the next mount.
  static func discard(
    _ name: borrowing FileName, isDirectory: Bool, in workshop: borrowing Descriptor
  ) {
    do throws(Errno) {
      if isDirectory { try workshop.removeDirectory(name) } else { try workshop.removeFile(name) }
    } catch {
      Log.error("an unfinished object stays in the workshop until the next mount: \(error)")
    }
  }
}
