// Groups whose members are groups, as a directory service has them and Linux does not.

/// Which groups a member of a group belongs to as well.
package struct GroupNesting: Hashable, Sendable {
  /// For each group, the groups that contain it.
  private var containers: [UInt32: [UInt32]]

  /// - Parameter members: for each group, the groups that are its members.
  package init(members: [UInt32: [UInt32]] = [:]) {
    containers = [:]
    for (group, inner) in members {
      for member in inner { containers[member, default: []].append(group) }
    }
  }

  package var isEmpty: Bool { containers.isEmpty }

  /// The group among `groups`, as ``expanded(_:)`` lists them, by which its members are in `group`; nil if they are in it
  /// themselves.
  package func way(into group: UInt32, among groups: [UInt32]) -> UInt32? {
    guard !isEmpty, let end = groups.firstIndex(of: group) else { return nil }
    return groups[..<end].first { containers[$0]?.contains(group) == true }
  }

  /// The groups and everything they are nested in.
  ///
  /// A circle is no harm.
  package func expanded(_ groups: [UInt32]) -> [UInt32] {
    guard !isEmpty else { return groups }
    var all = groups
    var seen = Set(groups)
    var next = 0
    while next < all.count {
      for container in containers[all[next]] ?? [] where seen.insert(container).inserted {
        all.append(container)
      }
      next += 1
    }
    return all
  }
}
