// What a new object gets from the directory it is made in, and how a changed list travels down.

/// The list would hold more than ``AccessList/entryLimit`` entries.
package struct TooManyEntries: Error, Hashable, Sendable {
  package init() {}
}

extension AccessList {
  /// The list of a new object, made in a directory that carries the list `parent`.
  ///
  /// The entries of `initial`, a list given by the creator, stand in front of what is inherited.
  package static func inherited(
    from parent: AccessList?, forDirectory isDirectory: Bool, initial: AccessList? = nil
  ) throws(TooManyEntries) -> AccessList? {
    let wanted: AccessEntry.Inheritance = isDirectory ? .directoryInherit : .fileInherit
    let blocked = initial?.flags.contains(.noInherit) ?? false
    let source = blocked ? [] : (parent?.entries ?? []).filter { $0.inheritance.contains(wanted) }
    guard let initial else {
      guard !source.isEmpty else { return nil }
      return AccessList(source.map { $0.handedDown(toDirectory: isDirectory) })
    }
    // Counted before the creator's own inherited entries are dropped, as the kernel of macOS counts.
    guard source.count + initial.entries.count <= entryLimit else { throw TooManyEntries() }
    let explicit = initial.entries.filter { !$0.inheritance.contains(.inherited) }
    return AccessList(explicit + source.map { $0.handedDown(toDirectory: isDirectory) })
  }
}

extension AccessEntry {
  /// Whether both say the same, wherever they came from.
  package func says(sameAs other: AccessEntry) -> Bool {
    var (one, other) = (self, other)
    one.inheritance.remove(.inherited)
    other.inheritance.remove(.inherited)
    one.rights = one.rights.expanded
    other.rights = other.rights.expanded
    return one == other
  }

  /// The entry as a child receives it.
  package func handedDown(toDirectory isDirectory: Bool) -> AccessEntry {
    var copy = self
    copy.inheritance.insert(.inherited)
    copy.inheritance.remove(.onlyInherit)
    if inheritance.contains(.limitInherit) || !isDirectory {
      copy.inheritance.subtract(.propagation)
    }
    return copy
  }
}
