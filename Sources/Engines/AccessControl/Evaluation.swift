// The walk over the entries: the first deny that applies ends it, permits add up until nothing is left.
//
// For every request that meets a list: 16 entries take 48 ns at best, without an allocation (docs/performance.md, "Whole trees").

/// What one walk over a list found.
package struct ScanResult: Hashable, Sendable {
  /// How the walk ended.
  package enum Outcome: Hashable, Sendable {
    /// Every right asked for was permitted; the entry that granted the last of them.
    case allowed(entry: Int)
    /// The entry that refused.
    case denied(entry: Int)
    /// The list leaves some rights open.
    case deferred
  }

  package var outcome: Outcome
  /// The rights no entry has granted.
  package var left: Rights
  /// Whether an unknown group membership was answered to the caller's disadvantage.
  package var hingesOnUnread: Bool
}

extension AccessList {
  /// Walks the entries for `asked`, in order.
  ///
  /// A deny is compared with the *whole* request and not with what is left of it: a request for reading and
  /// writing is refused by a deny of reading even where an earlier entry already permitted reading. macOS
  /// decides so; NFSv4 and Windows do not.
  ///
  /// A membership that is not known never grants and always refuses.
  package func scan(for asked: Rights, by standing: borrowing Standing) -> ScanResult {
    let likelyGroups = standing.subject.groupBits
    var left = asked
    var hinges = false
    for index in entries.indices {
      let entry = entries[index]
      guard entry.kind == .allow || entry.kind == .deny else { continue }
      guard !entry.inheritance.contains(.onlyInherit) else { continue }
      let rights = entry.rights.expanded
      let weighed = entry.kind == .deny ? asked : left
      guard !rights.isDisjoint(with: weighed) else { continue }
      let match = standing.matches(entry.identity, likelyGroups: likelyGroups)
      if match == .unknown { hinges = true }
      if entry.kind == .deny {
        guard match != .notMember else { continue }
        return ScanResult(outcome: .denied(entry: index), left: left, hingesOnUnread: hinges)
      }
      guard match == .member else { continue }
      left.subtract(rights)
      if left.isEmpty {
        return ScanResult(outcome: .allowed(entry: index), left: [], hingesOnUnread: hinges)
      }
    }
    return ScanResult(outcome: .deferred, left: left, hingesOnUnread: hinges)
  }
}
