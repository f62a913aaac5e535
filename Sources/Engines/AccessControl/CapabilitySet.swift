// Linux's capabilities, as far as they are about files: what makes root more than user 0.

/// A set of capabilities, in the bits of Linux.
///
/// Public for the reason given at `Rights`.
public struct CapabilitySet: OptionSet, Hashable, Sendable {
  /// The mask as "CapEff:" in /proc/TID/status shows it.
  public let rawValue: UInt64

  /// Takes a mask as Linux shows it.
  public init(rawValue: UInt64) {
    self.rawValue = rawValue
  }

  // Numbers of Linux (`linux/capability.h`).
  /// CAP_CHOWN: any owner and any group.
  package static let chown = CapabilitySet(rawValue: 1 << 0)
  /// CAP_DAC_OVERRIDE: reading, writing, searching, removing and running.
  package static let dacOverride = CapabilitySet(rawValue: 1 << 1)
  /// CAP_DAC_READ_SEARCH: reading and searching.
  package static let dacReadSearch = CapabilitySet(rawValue: 1 << 2)
  /// CAP_FOWNER: what belongs to the owner of an item.
  package static let fowner = CapabilitySet(rawValue: 1 << 3)
  /// CAP_FSETID: set-id bits stay.
  package static let fsetid = CapabilitySet(rawValue: 1 << 4)
  /// CAP_LINUX_IMMUTABLE: the flags of the system domain.
  package static let linuxImmutable = CapabilitySet(rawValue: 1 << 9)
  /// CAP_SYS_ADMIN: mounting, and attributes that begin with `trusted.`.
  package static let sysAdmin = CapabilitySet(rawValue: 1 << 21)
  /// CAP_MKNOD: device nodes.
  package static let mknod = CapabilitySet(rawValue: 1 << 27)

  package static let all = CapabilitySet(rawValue: .max)

  /// The capabilities that are missing to lift every refusal of a request for `rights`.
  ///
  /// Each right needs one of the capabilities that Linux takes for it. A request that asks for more than reading is
  /// not lifted by CAP_DAC_READ_SEARCH, not even the part that reads.
  package func lacking(for rights: Rights, onDirectory isDirectory: Bool) -> CapabilitySet {
    var left = rights
    if contains(.chown) { left.remove(.takeOwnership) }
    if contains(.fowner) { left.subtract(.forOwners) }
    if contains(.dacReadSearch) {
      left.subtract(isDirectory ? Rights.forReaders.union(.search) : .forReaders)
    }
    if contains(.dacOverride) { left.formIntersection([.writeSecurity, .takeOwnership]) }
    var lacking: CapabilitySet = []
    if left.contains(.takeOwnership) { lacking.insert(.chown) }
    if left.contains(.writeSecurity) { lacking.insert(.fowner) }
    if !left.isSubset(of: [.writeSecurity, .takeOwnership]) { lacking.insert(.dacOverride) }
    return lacking
  }

  /// The names, as capabilities(7) writes them.
  package var names: [String] { CapabilitySet.named.filter { contains($0.0) }.map(\.1) }

  private static let named: [(CapabilitySet, String)] = [
    (.chown, "CAP_CHOWN"), (.dacOverride, "CAP_DAC_OVERRIDE"), (.dacReadSearch, "CAP_DAC_READ_SEARCH"),
    (.fowner, "CAP_FOWNER"), (.fsetid, "CAP_FSETID"), (.linuxImmutable, "CAP_LINUX_IMMUTABLE"),
    (.sysAdmin, "CAP_SYS_ADMIN"), (.mknod, "CAP_MKNOD"),
  ]
}

extension Rights {
  fileprivate static let forReaders: Rights = [
    .read, .readAttributes, .readExtended, .readSecurity, .synchronize,
  ]
  fileprivate static let forOwners: Rights = [.writeSecurity, .writeAttributes]
}
