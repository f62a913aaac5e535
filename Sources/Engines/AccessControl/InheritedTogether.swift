// Entries that only together say what was handed down: programs that work a list out anew make one entry of several about
// the same identity, and two of one, for the item and for what is made in it.

extension InheritanceSource {
  /// Which of some entries say together the same as some candidates.
  struct Together: Equatable {
    var entries: [Int] = []
    var candidates: [Int] = []
  }

  /// About whom an entry says something, and where it counts.
  private struct Subject: Hashable {
    let identity: Identity
    /// How it is handed on; empty: it counts on the item itself.
    let inheritance: AccessEntry.Inheritance
  }

  /// The entries among `indices` that are of one kind and say together what candidates say, not a right more or less.
  ///
  /// An entry that says less than what is handed down is meant as it was written, and would be lost if it were marked.
  func together(
    _ entries: [AccessEntry], at indices: [Int], as candidates: [AccessEntry], _ kind: AccessEntry.Kind,
    for object: ObjectKind
  ) -> Together {
    var found = Together(
      entries: indices.filter { entries[$0].kind == kind },
      candidates: candidates.indices.filter { candidates[$0].kind == kind })
    while !found.entries.isEmpty {
      let said = rights(of: found.entries.map { entries[$0] }, for: object)
      let handed = rights(of: found.candidates.map { candidates[$0] }, for: object)
      let isSame = { (entry: AccessEntry) in
        let subjects = self.subjects(of: entry, for: object)
        return !subjects.isEmpty && subjects.allSatisfy { said[$0] == handed[$0] }
      }
      let left = Together(
        entries: found.entries.filter { isSame(entries[$0]) },
        candidates: found.candidates.filter { isSame(candidates[$0]) })
      if left == found { return found }
      found = left
    }
    return Together()
  }

  private func rights(of entries: [AccessEntry], for object: ObjectKind) -> [Subject: Rights] {
    var rights: [Subject: Rights] = [:]
    for entry in entries {
      for subject in subjects(of: entry, for: object) {
        rights[subject, default: []].formUnion(meantRights(of: entry, for: object))
      }
    }
    return rights
  }

  private func subjects(of entry: AccessEntry, for object: ObjectKind) -> [Subject] {
    var subjects: [Subject] = []
    if !entry.inheritance.contains(.onlyInherit) {
      subjects.append(Subject(identity: here(entry.identity), inheritance: []))
    }
    let handedOn = entry.inheritance.intersection([.fileInherit, .directoryInherit, .limitInherit])
    if object == .directory, !handedOn.isDisjoint(with: [.fileInherit, .directoryInherit]) {
      subjects.append(Subject(identity: entry.identity, inheritance: handedOn))
    }
    return subjects
  }
}
