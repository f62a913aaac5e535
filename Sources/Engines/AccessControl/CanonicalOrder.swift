// The order in which tools keep entries: what denies before what allows, what is said here before what came
// from above. Decisions accept any order; only `chmod +a` and similar edits keep it.

/// An entry that neither allows nor denies has no position in the canonical order.
package struct NoCanonicalPosition: Error, Hashable, Sendable {
  /// Which entry of the list.
  package let entry: Int

  package init(entry: Int) {
    self.entry = entry
  }
}

extension AccessEntry {
  /// Whether the entry came from a parent.
  package var isInherited: Bool { inheritance.contains(.inherited) }

  /// The rank in canonical order, or `nil` for audit and alarm.
  ///
  /// The numbers are those of chmod(1) of macOS; generations of inheritance are not told apart.
  fileprivate var canonicalRank: Int? {
    switch (kind, isInherited) {
    case (.deny, false): 1
    case (.allow, false): 0
    case (.deny, true): -4
    case (.allow, true): -5
    case (.audit, _), (.alarm, _): nil
    }
  }
}

extension AccessList {
  /// Whether explicit denies, explicit permits, inherited denies and inherited permits follow in this order.
  package func isCanonical() throws(NoCanonicalPosition) -> Bool {
    var lowest = Int.max
    var isOrdered = true
    for (index, entry) in entries.enumerated() {
      guard let rank = entry.canonicalRank else { throw NoCanonicalPosition(entry: index) }
      if rank > lowest { isOrdered = false }
      lowest = rank
    }
    return isOrdered
  }

  /// Where `chmod +a` puts an entry: in front of its own class.
  ///
  /// Means something on a canonical list only. `nil` for an entry that has no canonical position.
  package func canonicalPosition(for entry: AccessEntry) -> Int? {
    guard let rank = entry.canonicalRank else { return nil }
    return entries.firstIndex { ($0.canonicalRank ?? Int.min) <= rank } ?? entries.count
  }

  /// The same entries in canonical order; within a class the order stays.
  ///
  /// Audit and alarm, which decide nothing, go to the end.
  package func canonicallySorted() -> AccessList {
    var sorted = self
    sorted.entries = [1, 0, -4, -5, nil].flatMap { rank in entries.filter { $0.canonicalRank == rank } }
    return sorted
  }
}
