// What the file system of the upper directory can do beyond the usual: tried once there is a workshop. For each that is
// missing there is another way.

import JSONForm
import LinuxFiles
import Synchronization

/// What was found out when the volume got its workshop.
final class StoreFeatures: Sendable {
  private let switchedOff: Set<String>
  // Until a volume is writable nothing is made or renamed.
  private let unnamed = Atomic(true)
  private let ontoNothing = Atomic(true)

  init(switchedOff: Set<String>) {
    self.switchedOff = switchedOff
  }

  func probe(_ workshop: SharedDescriptor) {
    unnamed.store(Workshop.makesUnnamedFiles(in: workshop.descriptor), ordering: .releasing)
    ontoNothing.store(Workshop.renamesOntoNothing(in: workshop), ordering: .releasing)
  }

  /// O_TMPFILE; without it a file is finished under a name in the workshop, as everything else is.
  var makesUnnamedFiles: Bool { !switchedOff.contains("tmpfile") && unnamed.load(ordering: .acquiring) }

  /// RENAME_NOREPLACE; without it a file is linked and loses its former name, and a directory is moved to a name under which
  /// nothing was found.
  var renamesOntoNothing: Bool {
    !switchedOff.contains("noreplace") && ontoNothing.load(ordering: .acquiring)
  }

  /// For `status`.
  var members: [JSON.Member] {
    var members: [JSON.Member] = []
    members.add("tmpfile", words("tmpfile", makesUnnamedFiles))
    members.add("noreplace", words("noreplace", renamesOntoNothing))
    return members
  }

  private func words(_ name: String, _ isThere: Bool) -> String {
    if switchedOff.contains(name) { return "off: switched off" }
    return isThere ? "on" : "off: the file system of the upper directory does not have it"
  }
}
