// From POSIX lists to entries. What comes out never grants what the list did not.
//
// POSIX looks for one entry that is about the caller and holds all that is asked, and only for members of several groups
// there may be several; here entries add up, right by right. So everybody who is named gets two entries, one that
// allows and one that denies the rest, and nothing behind them counts. Groups come in an order in which a larger set of
// permissions stands before a smaller one. Where neither of two sets contains the other, POSIX grants either; then the
// members of both groups get what the first one has, and no more.

extension PosixList {
  /// The rights that a bit of a mode stands for.
  static func rights(_ bits: Bits, for kind: ObjectKind) -> Rights {
    var rights: Rights = []
    if bits & 4 != 0 { rights.formUnion([.read, .readExtended]) }
    if bits & 2 != 0 {
      rights.formUnion([.write, .append, .writeAttributes, .writeExtended])
      if kind == .directory { rights.insert(.deleteChild) }
    }
    if bits & 1 != 0 { rights.insert(.execute) }
    return rights
  }

  /// Whether groups have sets of permissions of which neither contains the other.
  ///
  /// Who is in both then gets less than the list gave.
  package var hasRivalGroups: Bool {
    let sets = groupClasses.map(\.bits)
    return sets.indices.contains { one in sets[(one + 1)...].contains { $0 & ~sets[one] != 0 } }
  }

  /// The owning group and the further ones, with what they get, larger sets first.
  private var groupClasses: [(identity: Identity, bits: Bits)] {
    let mask = mask ?? 7
    var classes: [(identity: Identity, bits: Bits)] = [(.owningGroup, group & mask)]
    classes += groups.sorted { $0.key < $1.key }.map { (.group($0.key), $0.value & mask) }
    let sizes = classes.map(\.bits.nonzeroBitCount)
    return classes.indices.sorted { (-sizes[$0], $0) < (-sizes[$1], $1) }.map { classes[$0] }
  }

  /// The entries that say what the mode `modeBits` does not.
  ///
  /// `isSticky`: in such a directory an entry must not allow `delete_child`, which would let people delete what belongs to
  /// others.
  package func entries(for kind: ObjectKind, isSticky: Bool = false) -> [AccessEntry] {
    var entries: [AccessEntry] = []
    func add(_ identity: Identity, _ bits: Bits) {
      var allowed = PosixList.rights(bits, for: kind)
      if isSticky { allowed.remove(.deleteChild) }
      if !allowed.isEmpty { entries.append(AccessEntry(.allow, identity, allowed)) }
      let denied = PosixList.rights(~bits & 7, for: kind)
      if !denied.isEmpty { entries.append(AccessEntry(.deny, identity, denied)) }
    }
    for (user, bits) in users.sorted(by: { $0.key < $1.key }) { add(.user(user), bits & (mask ?? 7)) }
    // Without further groups the mode says it.
    if !groups.isEmpty { for (identity, bits) in groupClasses { add(identity, bits) } }
    guard !entries.isEmpty else { return [] }
    return ownerEntries(for: kind) + entries
  }

  /// In POSIX the owner's part comes from the mode, whatever entries name the owner.
  private func ownerEntries(for kind: ObjectKind) -> [AccessEntry] {
    // An owner always may set times.
    let allowed = PosixList.rights(owner, for: kind).union(.writeAttributes)
    let denied = PosixList.rights(~owner & 7, for: kind).subtracting(allowed)
    return [AccessEntry(.allow, .owner, allowed)]
      + (denied.isEmpty ? [] : [AccessEntry(.deny, .owner, denied)])
  }

  /// The entries for what is made in a directory that hands down this list.
  ///
  /// They say what the list gives to a file that a program makes with mode 0666, and to a directory made with 0777. Whether
  /// a file can be executed is left to its mode, except that those who are named without `x` do not get it.
  package var handedDown: [AccessEntry] {
    var entries: [AccessEntry] = []
    func add(_ kind: AccessEntry.Kind, _ identity: Identity, _ rights: Rights, files: Bool = true) {
      guard !rights.isEmpty else { return }
      let travelling: AccessEntry.Inheritance = files ? [.fileInherit, .directoryInherit] : .directoryInherit
      entries.append(AccessEntry(kind, identity, rights, travelling.union(.onlyInherit)))
    }
    func add(_ identity: Identity, _ bits: Bits, extra: Rights = []) {
      add(.allow, identity, PosixList.rights(bits & 6, for: .directory).union(extra))
      if bits & 1 != 0 { add(.allow, identity, .execute, files: false) }
      add(.deny, identity, PosixList.rights(~bits & 6, for: .directory).subtracting(extra))
      switch identity {
      case .user, .group: if bits & 1 == 0 { add(.deny, identity, .execute) }
      default: if bits & 1 == 0 { add(.deny, identity, .execute, files: false) }
      }
    }
    add(.owner, owner, extra: .writeAttributes)
    for (user, bits) in users.sorted(by: { $0.key < $1.key }) { add(.user(user), bits & (mask ?? 7)) }
    for (identity, bits) in groupClasses { add(identity, bits) }
    // The others get what their mode says, and no more than this.
    add(.deny, .everyone, PosixList.rights(~other & 6, for: .directory))
    if other & 1 == 0 { add(.deny, .everyone, .execute, files: false) }
    return entries
  }
}

extension PosixLists {
  /// What becomes of the list of an item when these are imported: the entries it has stay in front.
  ///
  /// Again gives the same: a run that was interrupted can be repeated.
  package func imported(
    into list: AccessList?, for kind: ObjectKind, isSticky: Bool
  ) throws(TooManyEntries) -> AccessList? {
    let new =
      (kind == .directory ? initial?.handedDown ?? [] : [])
      + (access?.entries(for: kind, isSticky: isSticky) ?? [])
    let own = list?.entries.filter { !$0.inheritance.contains(.inherited) } ?? []
    guard !new.isEmpty, !own.suffix(new.count).elementsEqual(new) else { return list }
    let inherited = list?.entries.filter { $0.inheritance.contains(.inherited) } ?? []
    let entries = own + new + inherited
    guard entries.count <= AccessList.entryLimit else { throw TooManyEntries() }
    return AccessList(entries, flags: list?.flags ?? [])
  }
}
