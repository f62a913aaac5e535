// What the file system of the upper directory can do beyond the usual: tried once there is a workshop. For each that is
// missing there is another way.

import JSONForm
import LinuxFiles
import Synchronization

/// What was found out when the volume got its workshop.
final class StoreFeatures: Sendable {
  /// What tells an object from another one that is given its number later.
  enum Identification: Sendable {
    case birthTime
    case fileHandle
    case nothing
  }

  private let switchedOff: Set<String>
  private let identification: Identification
  private let namespace: MetadataStore.Namespace
  // Until a volume is writable nothing is made, renamed or removed.
  private let unnamed = Atomic(true)
  private let ontoNothing = Atomic(true)
  private let exchange = Atomic(true)
  private let unlinked = Atomic(true)
  private let capability = Atomic(true)

  init(
    switchedOff: Set<String>, identification: Identification = .birthTime, namespace: MetadataStore.Namespace
  ) {
    (self.switchedOff, self.identification, self.namespace) = (switchedOff, identification, namespace)
  }

  /// Before anything is identified.
  static func identification(
    of root: SharedDescriptor, _ fileSystem: FileSystemStatus, switchedOff: Set<String>
  ) throws(Errno) -> Identification {
    if switchedOff.contains("birthtime") { Capabilities.hidesBirth = true }
    let status = try root.descriptor.status()
    guard status.birth == nil else { return .birthTime }
    // Those of FUSE are forgotten with the kernel's memory of an object, and given out again.
    guard fileSystem.magic != FileSystemStatus.fuseMagic, root.descriptor.hasHandle() else { return .nothing }
    Capabilities.deviceWithHandles = status.device
    return .fileHandle
  }

  func probe(_ workshop: SharedDescriptor) {
    unnamed.store(Workshop.makesUnnamedFiles(in: workshop.descriptor), ordering: .releasing)
    ontoNothing.store(Workshop.renamesOntoNothing(in: workshop), ordering: .releasing)
    exchange.store(Workshop.exchangesNames(in: workshop), ordering: .releasing)
    unlinked.store(
      Workshop.keepsUnlinked(in: workshop.descriptor, namespace: namespace), ordering: .releasing)
    capability.store(Workshop.hasCapabilities(workshop.descriptor), ordering: .releasing)
  }

  /// O_TMPFILE; without it a file is finished under a name in the workshop, as everything else is.
  var makesUnnamedFiles: Bool { isOn("tmpfile", unnamed) }

  /// RENAME_NOREPLACE; without it a file is linked and loses its former name, and a directory is moved to a name under which
  /// nothing was found.
  var renamesOntoNothing: Bool { isOn("noreplace", ontoNothing) }

  /// RENAME_EXCHANGE; without it exchanging names is EINVAL.
  var exchangesNames: Bool { isOn("exchange", exchange) }

  /// Whether a file without a name keeps its mode, owner and attributes; without it an open one has them in memory.
  var keepsUnlinked: Bool { isOn("unlinked", unlinked) }

  /// Attributes `security.*`; without them no file has a capability.
  var hasCapabilities: Bool { isOn("capability", capability) }

  /// Whether there are such attributes in the store, though they may be taken not to be.
  var storesCapabilities: Bool { capability.load(ordering: .acquiring) }

  private func isOn(_ name: String, _ found: borrowing Atomic<Bool>) -> Bool {
    found.load(ordering: .acquiring) && !switchedOff.contains(name)
  }

  /// For `status`.
  var members: [JSON.Member] {
    var members: [JSON.Member] = []
    members.add("tmpfile", words("tmpfile", unnamed))
    members.add("noreplace", words("noreplace", ontoNothing))
    members.add("exchange", words("exchange", exchange))
    members.add("unlinked", words("unlinked", unlinked))
    members.add("capability", words("capability", capability))
    members.add("birthtime", wordsOfIdentification)
    if CurrentProcess.isRoot { members.add("trusted", wordsOfTrusted) }
    return members
  }

  private static let missing = "off: the file system of the upper directory does not have it"

  private func words(_ name: String, _ found: borrowing Atomic<Bool>) -> String {
    if switchedOff.contains(name) { return "off: switched off" }
    return found.load(ordering: .acquiring) ? "on" : StoreFeatures.missing
  }

  private var wordsOfIdentification: String {
    let off = switchedOff.contains("birthtime") ? "off: switched off" : StoreFeatures.missing
    return switch identification {
    case .birthTime: "on"
    case .fileHandle: "\(off); file handles tell items apart"
    case .nothing: "\(off); an item that gets the number of a removed one can be taken for it"
    }
  }

  private var wordsOfTrusted: String {
    if switchedOff.contains("trusted") { return "off: switched off" }
    return namespace == .trusted ? "on" : "off: the volume keeps its records in attributes user.*"
  }

  /// What an administrator should know, for the log and for `status`.
  var warnings: [String] {
    guard CurrentProcess.isRoot, namespace == .user else { return [] }
    return [
      "records are in attributes user.*: links and special files have none, and users who reach the upper directory itself "
        + "can change those of whatever they may write there; keep it closed to them"
    ]
  }
}
