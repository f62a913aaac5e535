// The inherited mark for entries that lost it on their way through a program that has no word for it.

/// Where the entries of an object may have come from, and who it belongs to.
///
/// Samba computes by itself what a new file inherits, and writes it without the mark. It also says `owner@` and `group@`
/// for the file's own user and group, makes one entry of several about the same identity, and two of one. Without the
/// mark such an entry would be one of the file's own: propagation would add to it, and a group that is removed from the
/// directory would keep its access to what is below.
package struct InheritanceSource: Hashable, Sendable {
  /// The user and the group of the object; none where `owner@` and `group@` are not other words for them.
  package let owners: Owners?
  /// What the directory above hands down to the object now.
  package let handedDown: [AccessEntry]

  package struct Owners: Hashable, Sendable {
    package let user: UInt32
    package let group: UInt32

    package init(user: UInt32, group: UInt32) {
      self.user = user
      self.group = group
    }
  }

  package init(owners: Owners?, handedDown: [AccessEntry]) {
    self.owners = owners
    self.handedDown = handedDown
  }

  /// What a directory with this list hands down to such an object, by its own rules or by those of Samba.
  ///
  /// Entries for files alone are handed on through directories there, to count for files further below.
  package static func handedDown(from list: AccessList?, to object: ObjectKind) -> [AccessEntry] {
    let own = (try? AccessList.inherited(from: list, forDirectory: object == .directory))?.entries ?? []
    guard object == .directory else { return own }
    let through = (list?.entries ?? []).filter {
      $0.inheritance.isDisjoint(with: [.directoryInherit, .limitInherit])
        && $0.inheritance.contains(.fileInherit)
    }
    return own
      + through.map {
        AccessEntry($0.kind, $0.identity, $0.rights, [.inherited, .fileInherit, .onlyInherit])
      }
  }

  /// The entries, each replaced by an entry that says the same and was inherited, or would be.
  ///
  /// What was an entry of the object's own stays one. Every other entry that says the same as an inherited one gets the
  /// mark, also a second time: without it, it would stay when the directory takes that back. An explicit entry that says
  /// what is handed down is made by a tool that can say so, such as `varve chmod`.
  ///
  /// Entries that are unchanged are looked at first, then those that have the mark. Inherited entries are at the end of a
  /// list, so of two without the mark that say the same the last one is taken for the one that was there.
  func marked(_ entries: [AccessEntry], over present: AccessList?, for object: ObjectKind) -> [AccessEntry] {
    var handed = (present?.entries ?? []).filter(\.isInherited)
    // Who turned inheritance off wants entries of the object's own.
    if !(present?.flags.contains(.noInherit) ?? false) {
      for entry in handedDown where !handed.contains(entry) { handed.append(entry) }
    }
    guard !handed.isEmpty else { return entries }
    let meanings = Set(handed.map { meaning(of: $0, for: object) })
    var candidates = handed
    var marked = entries
    var kept: Set<Int> = []
    func replace(_ index: Int) {
      let meaning = meaning(of: entries[index], for: object)
      guard let match = candidates.firstIndex(where: { self.meaning(of: $0, for: object) == meaning }) else {
        if meanings.contains(meaning) { marked[index].inheritance.insert(.inherited) }
        return
      }
      let candidate = candidates.remove(at: match)
      // Who a denial is about stays as it was written.
      if candidate.kind == .allow { marked[index] = candidate }
      marked[index].inheritance.insert(.inherited)
    }
    var known: Set<Int> = []
    for index in entries.indices.reversed() {
      guard let match = candidates.lastIndex(of: entries[index]) else { continue }
      candidates.remove(at: match)
      known.insert(index)
    }
    for index in entries.indices.reversed() where entries[index].isInherited && !known.contains(index) {
      replace(index)
    }
    // What was one of the object's own stays so.
    var own = (present?.entries ?? []).filter { !$0.isInherited }.map { self.meaning(of: $0, for: object) }
    for index in entries.indices where !entries[index].isInherited {
      if let match = own.firstIndex(of: meaning(of: entries[index], for: object)) {
        own.remove(at: match)
        kept.insert(index)
      }
    }
    for index in entries.indices.reversed() where !entries[index].isInherited && !kept.contains(index) {
      replace(index)
    }
    // Those that are known already count among what is said.
    let left = marked.indices.filter { !kept.contains($0) }
    let denials = together(marked, at: left, as: handed, .deny, for: object)
    for index in denials.entries { marked[index].inheritance.insert(.inherited) }
    let permits = together(marked, at: left, as: handed, .allow, for: object)
    return taken(
      permits.entries.filter { !marked[$0].isInherited },
      permits.candidates.map { handed[$0] }.filter(candidates.contains), in: marked)
  }

  /// The list with what was handed down in place of the entries at `permits`, which say the same together.
  ///
  /// Where a denial stands between, or there is no room, they stay as they are and only get the mark.
  private func taken(
    _ permits: [Int], _ missing: [AccessEntry], in entries: [AccessEntry]
  ) -> [AccessEntry] {
    guard let first = permits.first, let last = permits.last else { return entries }
    let isOfOnePiece = !entries[first...last].contains { $0.kind == .deny }
    let hasRoom = entries.count - permits.count + missing.count <= AccessList.entryLimit
    var taken: [AccessEntry] = []
    for (index, entry) in entries.enumerated() {
      var entry = entry
      let isMeant = permits.contains(index)
      if isMeant { entry.inheritance.insert(.inherited) }
      if !isMeant || !isOfOnePiece || !hasRoom || missing.isEmpty {
        taken.append(entry)
      } else if index == last {
        taken += missing
      }
    }
    return taken
  }

  /// The entries of an object's own that say, alone or together, what is handed down to it.
  package func copies(in list: AccessList, for object: ObjectKind) -> [Int] {
    let own = list.entries.indices.filter { !list.entries[$0].isInherited }
    let alone = own.filter { index in handedDown.contains { $0.says(sameAs: list.entries[index]) } }
    let together = [AccessEntry.Kind.allow, .deny].flatMap { kind in
      self.together(list.entries, at: own, as: handedDown, kind, for: object).entries
    }
    return Set(alone + together).sorted()
  }

  /// What an entry says on this object, whatever words it uses.
  private func meaning(of entry: AccessEntry, for object: ObjectKind) -> AccessEntry {
    var meaning = entry
    meaning.inheritance.remove(.inherited)
    meaning.rights = meantRights(of: entry, for: object)
    // An entry that is handed on means the owner of what is made below.
    if meaning.inheritance.isDisjoint(with: .propagation) { meaning.identity = here(meaning.identity) }
    return meaning
  }

  func meantRights(of entry: AccessEntry, for object: ObjectKind) -> Rights {
    var rights = entry.rights.expanded.intersection(.specific).subtracting(.synchronize)
    if object == .file { rights.remove(.deleteChild) }
    return rights
  }

  /// Who is meant on the object itself.
  func here(_ identity: Identity) -> Identity {
    switch identity {
    case .user(let user) where user == owners?.user: .owner
    case .group(let group) where group == owners?.group: .owningGroup
    default: identity
    }
  }
}
