// An answer and its reason. `why`, the audit log and the tests read the reason; the gate reads the number.

package import AccessControl
package import FlagRules

/// Which of the objects of an operation a reason speaks about.
package enum ObjectRole: CaseIterable, Hashable, Sendable {
  case item
  case parent
  case newParent
  /// The object a rename would replace, or the other one of a swap.
  case victim
}

/// The class of mode bits that decided; its bits are these places up.
package enum ModeClass: UInt16, Sendable {
  case owner = 6
  case group = 3
  case other = 0
}

/// The rule that decided.
package enum Reason: Hashable, Sendable {
  // What allows.
  /// The operation asks for no right.
  case nothingAsked
  case superuser
  /// A member of the administrators' group, which counts as root.
  case administrator(UInt32)
  /// What was asked belongs to the owner.
  case ownership
  /// The right belongs to everybody unless an entry denies it.
  case freeToAll

  // What allows or refuses.
  /// Entry `index` of the list of the object at hand.
  case entry(index: Int)
  case modeBits(ModeClass, asked: Rights)

  // What refuses.
  case readOnlyVolume
  /// The lock for writing may belong to another mount by now.
  case unconfirmedLock
  case executionForbidden
  case flag(FileFlags)
  case noExecuteBit
  case sticky
  /// No mode bit stands for the right; only an entry could grant it.
  case noEntryGrants(Rights)
  case damagedRecord
  case damagedList
  case notOwner
  case giveAway
  case notMemberOfGroup(UInt32)
  case needsRoot(FileFlags)
  case deviceNeedsRoot
  case secureLevel(FileFlags)
  case linkToDirectory
  /// The bytes are of a form this version cannot read or write.
  case foreignContent
  /// The bytes are being replaced; a volume that is written to lets the operation wait for that.
  case replacedContent
  /// What is encrypted is not compressed: it would not get shorter.
  case encryptedContent
  /// No keyfile was ever made to open the volume.
  case noKeybag
  /// The key of the class is not in memory.
  case locked(ProtectionClass)
  /// Encrypted bytes in a file that is not marked as encrypted: only root has them decrypted.
  case unmarked
  /// A plain item would come into a directory whose files are encrypted.
  case protectingDirectory
  /// Names are changed in the ordinary tree, not in a view of it.
  case shownNames
  /// `fs.protected_hardlinks`: a name for a file that is neither the caller's nor the caller's to read and write.
  case protectedLink
  /// A set-id bit on an item whose owner every caller may be, or a whole group is.
  case sharedOwner
  /// No rule refuses, but it cannot be done.
  case obstacle(Obstacle)
}

/// A fact by which an operation cannot be done, in words said of the object; no rule refuses it.
package enum Obstacle: String, Hashable, Sendable {
  case missing = "does not exist"
  case taken = "already exists"
  case notDirectory = "is not a directory"
  case isDirectory = "is a directory"
  case replacesDirectory = "is a directory, which only a directory can replace"
  case intoItself = "a directory cannot be moved into itself"
  case root = "is the root of the volume"
  case nameless = "a name is needed, not a step by . or .."
  case notFile = "is not a regular file"
  /// FIFOs, sockets and devices.
  case notOpenable = "is opened by the kernel alone"
  case linkMode = "a symbolic link has no mode"
  case noLists = "the volume is mounted with noacl"
  case noRecord = "has no record: here only files and directories have them, in attributes user.*"
  /// The name `.varve` at the root of the volume, and what is below.
  case reserved = "the name is the volume's own"
  /// What is in `.varve` on the mount.
  case readOnlyText = "is the volume's own, and can only be read"
  case unlistedNames = "is not listed; the names in it have to be known"

  package var words: String { rawValue }

  /// What becomes of an operation that meets it.
  package var verdict: Verdict { .refused(by: self) }
}

/// Why user 0 is refused what root may do.
package enum RootLimit: Hashable, Sendable {
  /// The capabilities that would have lifted the refusal, of which the caller has none.
  case lacks(CapabilitySet)
  /// The caller's capabilities could not be read.
  case unknown
}

/// Yes or no, and which rule said so.
package struct Verdict: Hashable, Sendable {
  /// What a refusal becomes.
  ///
  /// One word per error number, so that EPERM and EACCES stay apart as on macOS.
  package enum Refusal: Hashable, Sendable {
    case readOnly
    case notPermitted
    case accessDenied
    case damaged
    case unsupported
    /// A key is missing.
    case noKey
    /// Only a copy can get there.
    case crossesProtection
    /// No rule refuses; the number is that of the obstacle.
    case impossible
  }

  // First: so a verdict fits into four registers and needs no memory to be handed on (opening: 78 ns become 42).
  package var reason: Reason
  /// `nil` means allowed.
  package var refusal: Refusal?
  package var role: ObjectRole
  /// The refusal rests on something that was not read of the caller: its groups, or root's capabilities.
  ///
  /// With both read, ask again.
  package var hingesOnUnread: Bool
  /// What keeps user 0 from being root here.
  package var rootLimit: RootLimit?

  package var isAllowed: Bool { refusal == nil }

  package static func allowed(_ reason: Reason, on role: ObjectRole = .item) -> Verdict {
    Verdict(reason: reason, refusal: nil, role: role, hingesOnUnread: false)
  }

  package static func refused(
    _ refusal: Refusal, _ reason: Reason, on role: ObjectRole = .item, hingesOnUnread: Bool = false
  ) -> Verdict {
    Verdict(reason: reason, refusal: refusal, role: role, hingesOnUnread: hingesOnUnread)
  }

  /// The same verdict about another object of the operation.
  package func on(_ role: ObjectRole) -> Verdict {
    var moved = self
    moved.role = role
    return moved
  }

  /// Some calls report a missing right as EPERM: chmod, chown, chflags, access lists, explicit times.
  package var reportedAsNotPermitted: Verdict {
    var translated = self
    if refusal == .accessDenied { translated.refusal = .notPermitted }
    return translated
  }

  /// This verdict, or the next one if only that allows.
  package func or(_ next: () -> Verdict) -> Verdict {
    guard !isAllowed else { return self }
    let other = next()
    guard !other.isAllowed else { return other }
    var both = self
    both.hingesOnUnread = hingesOnUnread || other.hingesOnUnread
    return both
  }

  /// This verdict, or a refusal where it allows what damage stands against.
  func unless(_ damage: Reason?) -> Verdict {
    guard isAllowed, let damage else { return self }
    return .refused(.damaged, damage)
  }

  /// This verdict, or the next one if this allows and that does not.
  func and(_ next: () -> Verdict) -> Verdict {
    guard isAllowed else { return self }
    let other = next()
    return other.isAllowed ? self : other
  }

  /// This verdict, or the next one if this allows.
  package func then(_ next: () -> Verdict) -> Verdict {
    isAllowed ? next() : self
  }

  package static func refused(by obstacle: Obstacle, on role: ObjectRole = .item) -> Verdict {
    .refused(.impossible, .obstacle(obstacle), on: role)
  }

  /// The obstacle, if no rule refuses.
  package var obstacle: Obstacle? {
    if case .obstacle(let obstacle) = reason { obstacle } else { nil }
  }

  /// This verdict, or a refusal where it allows what an obstacle stands against.
  func unless(_ isHindered: Bool, _ obstacle: Obstacle, _ tell: Tell?) -> Verdict {
    isAllowed && isHindered ? .refused(by: obstacle).told(.operation, tell) : self
  }
}
