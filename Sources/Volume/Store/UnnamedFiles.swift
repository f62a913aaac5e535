// Whether the file system of the upper directory has O_TMPFILE. Where it has not, a file is finished under a name in
// the workshop, as everything else is.

import LinuxFiles
import Synchronization

/// What was found out about O_TMPFILE when the volume got its workshop.
final class UnnamedFiles: Sendable {
  private let isSwitchedOff: Bool
  /// Until a volume is writable nothing is made.
  private let found = Atomic(true)

  init(isSwitchedOff: Bool) {
    self.isSwitchedOff = isSwitchedOff
  }

  func probe(_ workshop: SharedDescriptor) {
    found.store(Workshop.makesUnnamedFiles(in: workshop.descriptor), ordering: .releasing)
  }

  var areThere: Bool { !isSwitchedOff && found.load(ordering: .acquiring) }

  /// For `status`.
  var description: String {
    if isSwitchedOff { return "off: switched off" }
    return areThere ? "on" : "off: the file system of the upper directory does not have it"
  }
}
