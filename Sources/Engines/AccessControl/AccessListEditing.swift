// What the forms of `chmod +a …` do to a list. Pure: a list in, a list out; nobody is asked for permission here.

/// One change of a list, as chmod of macOS offers it.
///
/// Positions count from 0, as `ls -le` prints them.
package enum AccessListEdit: Hashable, Sendable {
  /// `+a`; with `inherited` set on the entry, `+ai`.
  case add(AccessEntry)
  /// `+a# N` and `+ai# N`: the entry becomes number N, whatever the order is then.
  case insert(AccessEntry, at: Int)
  /// `-a`
  case remove(AccessEntry)
  /// `-a# N`
  case removeEntry(at: Int)
  /// `=a# N`
  case replaceEntry(at: Int, with: AccessEntry)
  /// `-E`: another list takes the place of this one, in the order given.
  case replaceList(AccessList)
  /// `-N`
  case removeList
  /// `-I`
  case dropInherited
  /// `-i`
  case makeExplicit
}

/// Why an edit cannot be done.
package enum EditFailure: Error, Hashable, Sendable {
  /// The object has no list.
  case noList
  /// `+a` cannot tell where the entry belongs; a position has to be given.
  case notCanonical
  /// An audit or alarm entry: it has no position in the canonical order.
  case undecidingEntry(Int?)
  case noSuchPosition(Int, count: Int)
  /// `-a` found no entry with this identity and kind.
  case noSuchEntry
  case tooManyEntries
}

extension EditFailure: CustomStringConvertible {
  /// What to put behind the name of the file, in one line.
  package var description: String {
    switch self {
    case .noList: "there is no access list to change; +a begins one"
    case .notCanonical:
      "the access list is not in canonical order; sort it first, or give a position with +a#"
    case .undecidingEntry(let index?): "entry \(index) neither allows nor denies; give a position with +a#"
    case .undecidingEntry(nil): "the entry neither allows nor denies; give a position with +a#"
    case .noSuchPosition(let position, let count):
      "there is no entry \(position) in a list of \(count); entries are numbered from 0, as ls -le shows them"
    case .noSuchEntry: "no entry has this name and this verb; ls -le shows the entries"
    case .tooManyEntries:
      "an access list holds at most \(AccessList.entryLimit) entries; take some away, or name a group"
    }
  }
}

extension AccessListEdit {
  /// The list after the edit; none if no entry is left.
  ///
  /// Tools and doors keep lists without entries only for the mark `no_inherit`, unlike chmod of macOS after `-I`.
  package func applied(to list: AccessList?) throws(EditFailure) -> AccessList? {
    var entries = list?.entries ?? []
    var flags = list?.flags ?? []
    switch self {
    case .add(let entry): try AccessListEdit.add(entry, to: &entries)
    case .insert(let entry, let position):
      // On an object without entries every position is the first.
      let position = entries.isEmpty ? 0 : position
      guard position >= 0, position <= entries.count else {
        throw .noSuchPosition(position, count: entries.count)
      }
      entries.insert(entry, at: position)
    case .remove(let entry):
      guard list != nil else { throw .noList }
      try AccessListEdit.remove(entry, from: &entries)
    case .removeEntry(let position):
      guard list != nil else { throw .noList }
      try AccessListEdit.check(position, in: entries)
      entries.remove(at: position)
    case .replaceEntry(let position, let entry):
      if entries.isEmpty {
        entries = [entry]
      } else {
        try AccessListEdit.check(position, in: entries)
        entries[position] = entry
      }
    case .replaceList(let new):
      entries = new.entries
      flags = new.flags
    case .removeList:
      return nil
    case .dropInherited:
      guard list != nil else { throw .noList }
      entries.removeAll { $0.isInherited }
    case .makeExplicit:
      guard let list else { throw .noList }
      entries = list.withEverythingExplicit.entries
    }
    guard entries.count <= AccessList.entryLimit else { throw .tooManyEntries }
    return AccessList(entries, flags: flags).unlessVoid
  }

  private static func check(_ position: Int, in entries: [AccessEntry]) throws(EditFailure) {
    guard entries.indices.contains(position) else { throw .noSuchPosition(position, count: entries.count) }
  }

  /// Widens an entry about the same identity, or finds the canonical position for a new one.
  private static func add(_ entry: AccessEntry, to entries: inout [AccessEntry]) throws(EditFailure) {
    let list = AccessList(entries)
    let isCanonical: Bool
    do throws(NoCanonicalPosition) { isCanonical = try list.isCanonical() } catch {
      throw .undecidingEntry(error.entry)
    }
    guard isCanonical else { throw .notCanonical }
    guard let position = list.canonicalPosition(for: entry) else { throw .undecidingEntry(nil) }
    let alike = entries.indices.filter {
      entries[$0].identity == entry.identity && entries[$0].kind == entry.kind
        && entries[$0].inheritance == entry.inheritance
    }
    guard let last = alike.last else {
      entries.insert(entry, at: position)
      return
    }
    guard !alike.contains(where: { entries[$0].rights == entry.rights }) else { return }
    entries[last].rights.formUnion(entry.rights)
  }

  /// Takes rights and inheritance away from every entry about the identity; `inherited` protects nothing.
  private static func remove(_ unwanted: AccessEntry, from entries: inout [AccessEntry]) throws(EditFailure) {
    var isFound = false
    entries = entries.compactMap { entry in
      guard entry.identity == unwanted.identity, entry.kind == unwanted.kind else { return entry }
      isFound = true
      guard entry != unwanted else { return nil }
      var rest = entry
      rest.rights.subtract(unwanted.rights)
      rest.inheritance.subtract(unwanted.inheritance)
      // What nothing ever asks for is no reason to keep an entry: Samba grants it with everything.
      return rest.rights.isSubset(of: .synchronize) ? nil : rest
    }
    guard isFound else { throw .noSuchEntry }
  }
}
