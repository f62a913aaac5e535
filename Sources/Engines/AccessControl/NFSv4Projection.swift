// The mode bits as NFSv4 entries, and back. NFSv4 tools know nothing but the list; here the mode counts too.

/// The entries behind a list that say what the mode says.
///
/// A mode class is exclusive: the owner gets the owner's bits and nothing of the others. NFSv4 entries fall
/// through to the next. So a class that holds less than a later one is denied the difference first.
enum NFSv4Projection {
  static let readBits: Rights = [.read, .readExtended]
  /// What everybody may do whatever the mode is.
  static let free: Rights = [.readAttributes, .readSecurity, .synchronize]
  /// What only the owner may do whatever the mode is.
  static let owners: Rights = [.writeAttributes, .writeSecurity]

  /// The rights three mode bits stand for.
  private static func rights(_ bits: UInt16, for kind: ObjectKind) -> Rights {
    var rights = free
    if bits & 4 != 0 { rights.formUnion(readBits) }
    if bits & 2 != 0 {
      rights.formUnion([.write, .append, .writeExtended, .writeAttributes])
      if kind == .directory { rights.insert(.deleteChild) }
    }
    if bits & 1 != 0 { rights.insert(.execute) }
    return rights
  }

  /// The three bits that rights were made from, if they were.
  private static func bits(_ rights: Rights) -> UInt16 {
    (rights.contains(.read) ? 4 : 0) | (rights.contains(.write) ? 2 : 0) | (rights.contains(.execute) ? 1 : 0)
  }

  /// Between three and five entries, owner first.
  static func entries(mode: UInt16, for kind: ObjectKind) -> [AccessEntry] {
    let owner = rights(mode >> 6 & 7, for: kind).union(owners)
    let group = rights(mode >> 3 & 7, for: kind)
    let other = rights(mode & 7, for: kind)
    let kept: [AccessEntry] = [
      AccessEntry(.deny, .owner, group.union(other).subtracting(owner)),
      AccessEntry(.allow, .owner, owner),
      AccessEntry(.deny, .owningGroup, other.subtracting(group)),
      AccessEntry(.allow, .owningGroup, group),
      AccessEntry(.allow, .everyone, other),
    ]
    return kept.filter { !$0.rights.isEmpty }
  }

  /// The mode a list ends with, and the entries in front of it; `nil` if the end is not such a pattern.
  ///
  /// The three permits name a mode, and that mode says exactly which entries its pattern has. So what was put
  /// behind a list is taken off again and nothing else, whatever the list itself ends with.
  static func peel(
    _ entries: [AccessEntry], for kind: ObjectKind
  ) -> (mode: UInt16, rest: [AccessEntry])? {
    guard let other = entries.last else { return nil }
    let others = bits(other.rights)
    guard let group = entries.dropLast().last else { return nil }
    let groups = bits(group.rights)
    // Whether a deny stands between group and owner follows from the two.
    let denied = rights(others, for: kind).subtracting(rights(groups, for: kind))
    guard let owner = entries.dropLast(denied.isEmpty ? 2 : 3).last else { return nil }
    let mode = bits(owner.rights) << 6 | groups << 3 | others
    let pattern = self.entries(mode: mode, for: kind)
    guard entries.count >= pattern.count else { return nil }
    let isPattern = zip(entries.suffix(pattern.count), pattern).allSatisfy { found, expected in
      found.kind == expected.kind && found.identity == expected.identity
        && found.inheritance == expected.inheritance
        // Tools differ in whether they send `synchronize`, which nothing ever asks for.
        && found.rights.subtracting(.synchronize) == expected.rights.subtracting(.synchronize)
    }
    return isPattern ? (mode, Array(entries.dropLast(pattern.count))) : nil
  }
}
