// `system.nfs4_acl` as a whole: the stored entries followed by what the mode says, and back.

/// What setting an NFSv4 list comes to.
///
/// Both parts are done or neither.
package struct NFSv4Change: Hashable, Sendable {
  /// The list to store; none: the list is removed.
  package var list: AccessList?
  /// The nine permission bits to set; none: the mode stays.
  package var mode: UInt16?

  package init(list: AccessList?, mode: UInt16?) {
    self.list = list
    self.mode = mode
  }
}

/// Lists in the form NFSv4 tools and Samba read and write.
package enum NFSv4List {
  /// The value of `system.nfs4_acl`, in the layout of NFSv4.0.
  ///
  /// An object without a list has one here all the same: tools give up, and Samba lets everybody in, where
  /// there is none.
  package static func encode(
    _ list: AccessList?, mode: UInt16, for kind: ObjectKind, names book: NameBook,
    as style: NFSv4Names = .local
  ) -> [UInt8] {
    NFSv4Wire.encode(
      shown(list, mode: mode, for: kind).map { entry in
        NFSv4WireEntry(
          type: NFSv4Mapping.type(of: entry.kind), flags: NFSv4Mapping.flags(of: entry),
          mask: NFSv4Mapping.mask(of: entry.rights),
          who: Array(NFSv4Mapping.who(entry.identity, names: book, as: style).utf8))
      })
  }

  /// What to do when `bytes` are set as `system.nfs4_acl`.
  ///
  /// - Parameters:
  ///   - bytes: the value, in the layout of NFSv4.0 or 4.1.
  ///   - kind: what the list is put on.
  ///   - book: who is called what.
  ///   - style: the domain whose names are ours.
  ///   - flags: list flags of the present list, which NFSv4 cannot say and which stay.
  /// - Returns: a list, and a mode if the entries end with the pattern of one.
  /// - Throws: ``NFSv4Failure``; then nothing is changed.
  package static func decode(
    _ bytes: [UInt8], for kind: ObjectKind, names book: NameBook, as style: NFSv4Names = .local,
    keeping flags: AccessList.Flags = []
  ) throws(NFSv4Failure) -> NFSv4Change {
    guard let wire = NFSv4Wire.decode(bytes) else { throw .malformed }
    // Before names are looked up: each may cost a question to a directory service.
    guard wire.count <= AccessList.entryLimit + 5 else { throw .tooManyEntries }
    var entries: [AccessEntry] = []
    entries.reserveCapacity(wire.count)
    for found in wire {
      let kind = try NFSv4Mapping.kind(of: found.type)
      let inheritance = try NFSv4Mapping.inheritance(of: found.flags)
      let rights = try NFSv4Mapping.rights(of: found.mask)
      let isGroup = found.flags & NFSv4Mapping.groupFlag != 0
      let identity = try NFSv4Mapping.identity(found.who, isGroup: isGroup, names: book, as: style)
      entries.append(AccessEntry(kind, identity, rights, inheritance))
    }
    return try change(entries, for: kind, keeping: flags)
  }

  /// The stored entries and behind them those the mode stands for.
  static func shown(_ list: AccessList?, mode: UInt16, for kind: ObjectKind) -> [AccessEntry] {
    (list?.entries ?? []) + NFSv4Projection.entries(mode: mode, for: kind)
  }

  static func change(
    _ entries: [AccessEntry], for kind: ObjectKind, keeping flags: AccessList.Flags
  ) throws(NFSv4Failure) -> NFSv4Change {
    let peeled = NFSv4Projection.peel(entries, for: kind)
    let kept = peeled?.rest ?? entries
    guard kept.count <= AccessList.entryLimit else { throw .tooManyEntries }
    return NFSv4Change(list: kept.isEmpty ? nil : AccessList(kept, flags: flags), mode: peeled?.mode)
  }
}
