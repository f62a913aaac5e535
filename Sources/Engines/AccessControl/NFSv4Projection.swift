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

  private static let sticky: UInt16 = 0o1000

  /// The rights three mode bits stand for.
  ///
  /// In a sticky directory the write bit is no right to remove what others own; the directory's owner has it.
  private static func rights(_ bits: UInt16, for kind: ObjectKind, removesAny: Bool) -> Rights {
    var rights = free
    if bits & 4 != 0 { rights.formUnion(readBits) }
    if bits & 2 != 0 {
      rights.formUnion([.write, .append, .writeExtended, .writeAttributes])
      if kind == .directory, removesAny { rights.insert(.deleteChild) }
    }
    if bits & 1 != 0 { rights.insert(.execute) }
    return rights
  }

  /// The rights of owner, group and others.
  private static func classes(
    _ mode: UInt16, for kind: ObjectKind
  ) -> (owner: Rights, group: Rights, other: Rights) {
    let removesAny = mode & sticky == 0
    return (
      rights(mode >> 6 & 7, for: kind, removesAny: true).union(owners),
      rights(mode >> 3 & 7, for: kind, removesAny: removesAny),
      rights(mode & 7, for: kind, removesAny: removesAny)
    )
  }

  /// The three bits that rights were made from, if they were.
  private static func bits(_ rights: Rights) -> UInt16 {
    (rights.contains(.read) ? 4 : 0) | (rights.contains(.write) ? 2 : 0) | (rights.contains(.execute) ? 1 : 0)
  }

  /// Between three and five entries, owner first.
  static func entries(mode: UInt16, for kind: ObjectKind) -> [AccessEntry] {
    let (owner, group, other) = classes(mode, for: kind)
    let kept: [AccessEntry] = [
      AccessEntry(.deny, .owner, group.union(other).subtracting(owner)),
      AccessEntry(.allow, .owner, owner),
      AccessEntry(.deny, .owningGroup, other.subtracting(group)),
      AccessEntry(.allow, .owningGroup, group),
      AccessEntry(.allow, .everyone, other),
    ]
    return kept.filter { !$0.rights.isEmpty }
  }

  /// The permission bits a list ends with, and the entries in front of it; `nil` if the end is not such a pattern.
  ///
  /// The three permits name a mode, and that mode says exactly which entries its pattern has. So what was put
  /// behind a list is taken off again and nothing else, whatever the list itself ends with. Of the present mode
  /// only the sticky bit matters, which stays.
  static func peel(
    _ entries: [AccessEntry], mode present: UInt16, for kind: ObjectKind
  ) -> (permissions: UInt16, rest: [AccessEntry])? {
    guard let other = entries.last, let group = entries.dropLast().last else { return nil }
    let lower = present & sticky | bits(group.rights) << 3 | bits(other.rights)
    // Whether a deny stands between group and owner follows from the two.
    let (_, groups, others) = classes(lower, for: kind)
    guard let owner = entries.dropLast(others.isSubset(of: groups) ? 2 : 3).last else { return nil }
    let mode = lower | bits(owner.rights) << 6
    let pattern = self.entries(mode: mode, for: kind)
    guard entries.count >= pattern.count, zip(entries.suffix(pattern.count), pattern).allSatisfy(isSame)
    else { return nil }
    return (mode & 0o777, Array(entries.dropLast(pattern.count)))
  }

  /// The permission bits that a list implies which says everything: what it does not grant is not granted.
  ///
  /// For each class the entries about it and about everyone are walked, as RFC 8881 (6.3.2) derives a mode. A bit is
  /// set only where all that it stands for is granted: here a mode grants what the entries leave open, so half a
  /// bit would let in those whom no entry lets in. Of the present mode only the sticky bit matters, which stays.
  ///
  /// And it is set only where every earlier class has it. Otherwise the mode would show itself with a deny, which
  /// programs that sort a list put in front of the permits that were meant to come first. Nobody loses by a bit that is
  /// not set: the entries that would have set it are stored, and grant what they say.
  static func implied(
    by entries: [AccessEntry], mode present: UInt16, for kind: ObjectKind
  ) -> UInt16 {
    let removesAny = present & sticky == 0
    func bits(of identities: Set<Identity>, removesAny: Bool) -> UInt16 {
      var granted = identities.contains(.owner) ? free.union(owners) : free
      granted.formUnion(self.granted(by: entries, to: identities))
      return ([4, 2, 1] as [UInt16]).reduce(0) { mode, bit in
        rights(bit, for: kind, removesAny: removesAny).isSubset(of: granted) ? mode | bit : mode
      }
    }
    let owner = bits(of: [.owner, .everyone], removesAny: true)
    let group = bits(of: [.owningGroup, .everyone], removesAny: removesAny) & owner
    return owner << 6 | group << 3 | bits(of: [.everyone], removesAny: removesAny) & group
  }

  /// What the entries about some identities grant on the object itself; the first about a right decides.
  private static func granted(by entries: [AccessEntry], to identities: Set<Identity>) -> Rights {
    var granted: Rights = []
    var decided: Rights = []
    for entry in entries
    where identities.contains(entry.identity) && !entry.inheritance.contains(.onlyInherit) {
      guard entry.kind == .allow || entry.kind == .deny else { continue }
      let rights = entry.rights.expanded
      if entry.kind == .allow { granted.formUnion(rights.subtracting(decided)) }
      decided.formUnion(rights)
    }
    return granted
  }

  /// The entries without permits that say exactly what the mode says anyway.
  ///
  /// Those can be left out only where no deny follows and where no class holds less than a later one: then the
  /// user of such a permit is in a class that holds as much. Kept, they would go on granting after a chmod.
  static func withoutRepetition(
    _ entries: [AccessEntry], mode: UInt16, for kind: ObjectKind
  ) -> [AccessEntry] {
    let pattern = self.entries(mode: mode, for: kind)
    guard pattern.allSatisfy({ $0.kind == .allow }) else { return entries }
    let start = entries.lastIndex { $0.kind == .deny }.map { $0 + 1 } ?? 0
    let rest = entries[start...].filter { entry in !pattern.contains { isSame(entry, $0) } }
    return entries[..<start] + rest
  }

  /// Tools differ in whether they send `synchronize`, which nothing ever asks for.
  private static func isSame(_ one: AccessEntry, _ other: AccessEntry) -> Bool {
    one.kind == other.kind && one.identity == other.identity && one.inheritance == other.inheritance
      && one.rights.subtracting(.synchronize) == other.rights.subtracting(.synchronize)
  }
}
