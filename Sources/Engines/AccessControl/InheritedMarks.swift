// The inherited mark for entries that lost it on their way through a program that has no word for it.

/// Where the entries of an object may have come from, and who it belongs to.
///
/// Samba computes by itself what a new file inherits, and writes it without the mark. It also says `owner@` and `group@`
/// for the file's own user and group. Without the mark such an entry would be one of the file's own: propagation
/// would add to it, and a group that is removed from the directory would keep its access to what is below.
package struct InheritanceSource: Hashable, Sendable {
  package let user: UInt32
  package let group: UInt32
  /// What the directory above hands down to the object now.
  package let handedDown: [AccessEntry]

  package init(user: UInt32, group: UInt32, handedDown: [AccessEntry]) {
    self.user = user
    self.group = group
    self.handedDown = handedDown
  }

  /// The entries, each replaced by an entry that says the same and was inherited, or would be.
  ///
  /// Those that have the mark come first. Inherited entries are at the end of a list, so of two without it that say the
  /// same the last one is taken for it.
  func marked(_ entries: [AccessEntry], over present: AccessList?, for kind: ObjectKind) -> [AccessEntry] {
    var candidates = (present?.entries ?? []).filter(\.isInherited)
    // A program that has a word for the mark means what it leaves without. Who turned inheritance off wants entries of
    // the object's own.
    let tellsInherited = entries.contains(where: \.isInherited)
    if !tellsInherited, !(present?.flags.contains(.noInherit) ?? false) {
      for entry in handedDown where !candidates.contains(entry) { candidates.append(entry) }
    }
    var marked = entries
    var kept: Set<Int> = []
    func replace(_ index: Int) {
      let meaning = meaning(of: entries[index], for: kind)
      guard let match = candidates.firstIndex(where: { self.meaning(of: $0, for: kind) == meaning }) else {
        return
      }
      let candidate = candidates.remove(at: match)
      // Who a denial is about stays as it was written.
      if candidate.kind == .allow { marked[index] = candidate }
      marked[index].inheritance.insert(.inherited)
    }
    for index in entries.indices.reversed() where entries[index].isInherited { replace(index) }
    // What was one of the object's own stays so.
    var own = (present?.entries ?? []).filter { !$0.isInherited }.map { self.meaning(of: $0, for: kind) }
    for index in entries.indices where !entries[index].isInherited {
      if let match = own.firstIndex(of: meaning(of: entries[index], for: kind)) {
        own.remove(at: match)
        kept.insert(index)
      }
    }
    for index in entries.indices.reversed() where !entries[index].isInherited && !kept.contains(index) {
      replace(index)
    }
    return marked
  }

  /// What an entry says on this object, whatever words it uses.
  private func meaning(of entry: AccessEntry, for kind: ObjectKind) -> AccessEntry {
    var meaning = entry
    meaning.inheritance.remove(.inherited)
    meaning.rights = entry.rights.expanded.intersection(.specific).subtracting(.synchronize)
    if kind == .file { meaning.rights.remove(.deleteChild) }
    // An entry that is handed on means whoever owns what is made below.
    if meaning.inheritance.isDisjoint(with: .propagation) {
      if meaning.identity == .user(user) { meaning.identity = .owner }
      if meaning.identity == .group(group) { meaning.identity = .owningGroup }
    }
    return meaning
  }
}
