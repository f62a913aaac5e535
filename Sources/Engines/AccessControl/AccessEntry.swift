// One entry of an access list: whom it is about, what it says, how it is inherited.

/// Whom an entry is about.
///
/// macOS folds these into one space of GUIDs, where the groups 10, 12, 16 and -2 collide with the special
/// identities. Linux gives those numbers to real groups, so class and number are kept apart here.
package enum Identity: Hashable, Sendable {
  case user(UInt32)
  case group(UInt32)
  /// Everybody (`group:everyone`).
  case everyone
  /// The owner of the object at hand (`owner@`).
  case owner
  /// The members of the object's own group (`group@`).
  case owningGroup
  /// Nobody, ever (`nobody@`).
  case nobody
}

/// One line of an access list.
package struct AccessEntry: Hashable, Sendable {
  /// What the entry does when it applies.
  package enum Kind: UInt8, Hashable, Sendable {
    // On disk since format 1. Never renumber.
    case allow = 1
    case deny = 2
    // Audit and alarm are carried for other systems; no decision looks at them.
    case audit = 3
    case alarm = 4
  }

  /// How an entry reaches the objects made below, and where it came from.
  package struct Inheritance: OptionSet, Hashable, Sendable {
    package let rawValue: UInt16

    package init(rawValue: UInt16) {
      self.rawValue = rawValue
    }

    // On disk since format 1. Never renumber.
    /// This entry came from a parent.
    package static let inherited = Inheritance(rawValue: 0x010)
    package static let fileInherit = Inheritance(rawValue: 0x020)
    package static let directoryInherit = Inheritance(rawValue: 0x040)
    /// The copy a child gets does not carry inheritance any further.
    package static let limitInherit = Inheritance(rawValue: 0x080)
    /// Not evaluated on the object that carries it.
    package static let onlyInherit = Inheritance(rawValue: 0x100)
    package static let auditSuccess = Inheritance(rawValue: 0x200)
    package static let auditFailure = Inheritance(rawValue: 0x400)

    package static let propagation: Inheritance = [
      .fileInherit, .directoryInherit, .limitInherit, .onlyInherit,
    ]
    package static let all = Inheritance(rawValue: 0x7F0)
  }

  package var kind: Kind
  package var identity: Identity
  package var inheritance: Inheritance
  package var rights: Rights

  package init(_ kind: Kind, _ identity: Identity, _ rights: Rights, _ inheritance: Inheritance = []) {
    self.kind = kind
    self.identity = identity
    self.inheritance = inheritance
    self.rights = rights
  }
}
