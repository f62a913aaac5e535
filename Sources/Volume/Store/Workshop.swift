// Names for objects that are not finished yet.

import LinuxFiles
import Synchronization

enum Workshop {
  private static let counter = Atomic<UInt64>(0)

  /// A name nobody else uses: the workshop is emptied at mount, and only one daemon holds the volume.
  static func nextName() -> [UInt8] {
    Array("t-\(counter.add(1, ordering: .relaxed).newValue)".utf8)
  }

  /// Tries whether setting an attribute moves an object's change time within a tick of the clock.
  ///
  /// Older kernels left it alone on tmpfs; file systems with whole seconds do not qualify either.
  static func movesChangeTimes(
    in workshop: borrowing Descriptor, namespace: MetadataStore.Namespace
  ) -> Bool {
    do throws(Errno) {
      let file = try workshop.createUnnamed(mode: 0o600)
      let before = try file.status().change
      let probe = Array("\(namespace.rawValue).varve.probe".utf8)
      for _ in 0..<15 {
        try AttributeName.with(probe) { probe throws(Errno) in try file.setAttribute(probe, to: [0]) }
        if try file.status().change != before { return true }
        Clock.pause(milliseconds: 1)
      }
    } catch {
      // Then it is not known, which is no.
    }
    return false
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
