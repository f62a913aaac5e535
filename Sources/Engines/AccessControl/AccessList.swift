// The list itself. Order is meaning: the first entries decide.

/// An ordered list of entries.
///
/// "No list" and "a list with no entries" are told apart by `AccessList?`; they decide alike.
package struct AccessList: Hashable, Sendable {
  /// The most entries a list may hold.
  package static let entryLimit = 128

  /// Words about the list as a whole.
  package struct Flags: OptionSet, Hashable, Sendable {
    package let rawValue: UInt32

    package init(rawValue: UInt32) {
      self.rawValue = rawValue
    }

    // On disk since format 1. Never renumber.
    package static let deferInherit = Flags(rawValue: 0x10000)
    /// Propagation leaves this object and everything below it alone.
    package static let noInherit = Flags(rawValue: 0x20000)
  }

  package var entries: [AccessEntry]
  package var flags: Flags

  package init(_ entries: [AccessEntry] = [], flags: Flags = []) {
    self.entries = entries
    self.flags = flags
  }

  package var isEmpty: Bool { entries.isEmpty }

  /// The list, or `nil` if it says nothing: without entries it is kept for the mark `no_inherit` alone.
  package var unlessVoid: AccessList? { isEmpty && !flags.contains(.noInherit) ? nil : self }

  /// Whether any caller is told "no" about one of `rights` on the object itself.
  ///
  /// Who that is does not matter: the answer says whether the kernel may remember a "yes" for everyone.
  package func deniesAnybody(_ rights: Rights) -> Bool {
    entries.contains { entry in
      entry.kind == .deny && !entry.inheritance.contains(.onlyInherit)
        && !entry.rights.expanded.isDisjoint(with: rights)
    }
  }
}
