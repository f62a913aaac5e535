// `system.nfs4_acl` as a whole: the stored entries followed by what the mode says, and back.
//
// For NFSv4 tools and Samba, which set lists on the mount: what they write comes back as they wrote it (`NFSv4DoorTests`,
// SEMANTICS 6).

/// The forms an NFSv4 list is read and written in.
package enum NFSv4View: Hashable, Sendable {
  /// `system.nfs4_acl`: whom an entry is about is text.
  case names
  /// `system.nfs4_acl_xdr`: it is a number.
  case numbers
}

/// How a written list is meant.
package enum NFSv4Writing: Hashable, Sendable {
  /// A list of its own: what it does not say is not so.
  case anew
  /// The present list read as text, changed and written back: what the text cannot say stays as it is.
  ///
  /// The text of nfs4-acl-tools has no letter for "inherited", and on files none for `delete_child` and for what is
  /// handed on.
  case edit
}

/// What setting an NFSv4 list comes to.
///
/// Both parts are done or neither.
package struct NFSv4Change: Hashable, Sendable {
  /// The list to store; none: the list is removed.
  package var list: AccessList?
  /// The nine permission bits to set; none: the mode stays, as nothing was said about it.
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
    _ list: AccessList?, mode: UInt16, for kind: ObjectKind, names book: NameBook
  ) -> [UInt8] {
    NFSv4Wire.encode(
      shown(list, mode: mode, for: kind).map { entry in
        NFSv4WireEntry(
          type: NFSv4Mapping.type(of: entry.kind), flags: NFSv4Mapping.flags(of: entry),
          mask: NFSv4Mapping.mask(of: entry.rights),
          who: Array(NFSv4Mapping.who(entry.identity, names: book).utf8))
      })
  }

  /// The entries of `bytes` that are set as `system.nfs4_acl`, in the layout of NFSv4.0 or 4.1.
  ///
  /// - Parameters:
  ///   - bytes: the value.
  ///   - book: who is called what.
  /// - Returns: the entries, those of the mode too.
  /// - Throws: ``NFSv4Failure``; then nothing is changed.
  package static func decode(
    _ bytes: [UInt8], names book: NameBook
  ) throws(NFSv4Failure) -> [AccessEntry] {
    guard let wire = NFSv4Wire.decode(bytes) else { throw .malformed }
    // Before names are looked up: each may cost a question to a directory service.
    guard wire.count <= mostEntries else { throw .tooManyEntries }
    var entries: [AccessEntry] = []
    entries.reserveCapacity(wire.count)
    for found in wire {
      let kind = try NFSv4Mapping.kind(of: found.type)
      let inheritance = try NFSv4Mapping.inheritance(of: found.flags)
      let rights = try NFSv4Mapping.rights(of: found.mask)
      let isGroup = found.flags & NFSv4Mapping.groupFlag != 0
      let identity = try NFSv4Mapping.identity(found.who, isGroup: isGroup, names: book)
      entries.append(AccessEntry(kind, identity, rights, inheritance))
    }
    return entries
  }

  /// As many entries as a list may have, and the five a mode may need.
  static let mostEntries = AccessList.entryLimit + 5

  /// The stored entries and behind them those the mode stands for.
  static func shown(_ list: AccessList?, mode: UInt16, for kind: ObjectKind) -> [AccessEntry] {
    (list?.entries ?? []) + NFSv4Projection.entries(mode: mode, for: kind)
  }

  /// What setting `entries` comes to on an object that has the list `present` and the mode `mode`.
  ///
  /// Entries at the end that are a mode become the mode. A list that ends otherwise says everything, as NFSv4 means
  /// it: the mode becomes the one it implies, so that nobody keeps what an entry gave that is no longer there.
  /// Its entries are stored as they are, except permits that repeat that mode: programs that sort a list, as those
  /// of Windows do, tear the end apart. So no entries at all are a list that grants nobody anything.
  ///
  /// With a `source`, entries that say what was inherited, or would be, are inherited.
  package static func change(
    to entries: [AccessEntry], from present: AccessList?, mode: UInt16, for kind: ObjectKind,
    as view: NFSv4View, writing: NFSv4Writing = .anew, inheritingFrom source: InheritanceSource? = nil
  ) throws(NFSv4Failure) -> NFSv4Change {
    let peeled = NFSv4Projection.peel(entries, mode: mode, for: kind)
    let written = peeled?.rest ?? entries
    var meant = writing == .edit ? completed(written, from: present?.entries ?? [], for: kind) : written
    var permissions = peeled?.permissions
    if permissions == nil {
      let implied = NFSv4Projection.implied(by: meant, mode: mode, for: kind)
      meant = NFSv4Projection.withoutRepetition(meant, mode: mode & ~0o777 | implied, for: kind)
      permissions = implied
    }
    guard meant.count <= AccessList.entryLimit else { throw .tooManyEntries }
    if let source { meant = source.marked(meant, over: present, for: kind) }
    return NFSv4Change(list: list(meant, over: present, as: view), mode: permissions)
  }

  /// The entries, each replaced by the present one that reads the same as text.
  private static func completed(
    _ entries: [AccessEntry], from present: [AccessEntry], for kind: ObjectKind
  ) -> [AccessEntry] {
    // A program that says "inherited" of one entry can say it of all: nfs4_setfacl does when it adds to a list.
    let tellsInherited = entries.contains { $0.inheritance.contains(.inherited) }
    func isMeant(_ present: AccessEntry, by entry: AccessEntry) -> Bool {
      let isSame = present.inheritance.contains(.inherited) == entry.inheritance.contains(.inherited)
      return (isSame || !tellsInherited) && asText(present, for: kind) == asText(entry, for: kind)
    }
    var left = present
    return entries.map { entry in
      guard let index = left.firstIndex(where: { isMeant($0, by: entry) }) else {
        return entry
      }
      return left.remove(at: index)
    }
  }

  private static func asText(_ entry: AccessEntry, for kind: ObjectKind) -> AccessEntry {
    var rights = entry.rights.expanded.intersection(.specific)
    var inheritance = entry.inheritance.subtracting(.inherited)
    if kind == .file {
      rights.remove(.deleteChild)
      inheritance.subtract([.fileInherit, .directoryInherit, .limitInherit, .onlyInherit])
    }
    return AccessEntry(entry.kind, entry.identity, rights, inheritance)
  }

  /// The list to store in place of `present`.
  ///
  /// A present list that shows the same stays as it is, with the words this form has none for: who writes back
  /// what they read has changed nothing. List flags have no form either and stay.
  private static func list(
    _ entries: [AccessEntry], over present: AccessList?, as view: NFSv4View
  ) -> AccessList? {
    if let present {
      if present.entries == entries { return present }
      let shown = present.entries.compactMap { entry -> AccessEntry? in
        if view == .numbers, entry.identity == .nobody { return nil }
        let rights = entry.rights.expanded.intersection(.specific)
        return AccessEntry(entry.kind, entry.identity, rights, entry.inheritance)
      }
      if shown == entries { return present }
    }
    return AccessList(entries, flags: present?.flags ?? []).unlessVoid
  }
}
