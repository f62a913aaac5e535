// The whiteout that all others are further names of, so that a removal makes no inode.

import LinuxFiles
import Synchronization

/// Keeps `work/wh` at hand.
final class WhiteoutSource: Sendable {
  private let held: Mutex<SharedDescriptor?> = Mutex(nil)

  /// Gives a whiteout a name.
  func link(
    into directory: LayerDirectory, as name: borrowing FileName, workshop: LayerDirectory
  ) throws(Errno) {
    if let present = held.withLock({ $0 }) {
      do throws(Errno) {
        return try directory.link(present, as: name)
      } catch {
        // It has as many names as it can have, or went with all of them.
        guard error == .tooManyLinks || error == .noSuchFile else { throw error }
      }
    }
    try directory.link(try fresh(in: workshop), as: name)
  }

  private func fresh(in workshop: LayerDirectory) throws(Errno) -> SharedDescriptor {
    let temporary = Workshop.nextName()
    let made = try FileName.with(temporary) { temporary throws(Errno) in
      try workshop.makeWhiteout(temporary)
      let made = try workshop.hold(temporary)
      try FileName.with(Workshop.whiteout) { name throws(Errno) in
        try workshop.rename(temporary, to: workshop, as: name, [])
      }
      return made
    }
    held.withLock { $0 = made }
    return made
  }
}
