// Making, removing, moving and linking names.

import AccessControl

/// One end of a rename.
package struct RenameSide: Sendable {
  package var item: Item
  package var parent: Item

  package init(item: Item, parent: Item) {
    self.item = item
    self.parent = parent
  }
}

extension Judge {
  /// The right to make something in a directory depends on what it is.
  private func adding(_ isDirectory: Bool) -> Rights { isDirectory ? .addSubdirectory : .addFile }

  package func create(directory isDirectory: Bool, in parent: Item) -> Verdict {
    refusingPlainContent(check(parent, adding(isDirectory)), nil, in: parent).on(.parent)
  }

  /// Adds a name for what is there already; one that stays in its directory brings nothing into it.
  private func place(_ item: Item, in parent: Item, comesFromElsewhere: Bool = true) -> Verdict {
    let verdict = check(parent, adding(item.isDirectory))
    return comesFromElsewhere ? refusingPlainContent(verdict, item, in: parent) : verdict
  }

  /// A device node: root's alone, before anything else is looked at.
  package func createDevice(in parent: Item) -> Verdict {
    guard subject.isRoot else { return .refused(.notPermitted, .deviceNeedsRoot) }
    return create(directory: false, in: parent)
  }

  package func remove(_ item: Item, from parent: Item) -> Verdict {
    check(item, .delete, removingFrom: parent)
  }

  /// A further name for a file: no right on the file itself, only its flags are asked.
  package func link(_ item: Item, into parent: Item) -> Verdict {
    guard !item.isDirectory else { return .refused(.notPermitted, .linkToDirectory) }
    return check(item, .linkTarget).then { place(item, in: parent).on(.newParent) }
  }

  /// Moves `source` into `newParent`, over `victim` if there is one.
  ///
  /// A directory that changes its parent has its `..` rewritten, which asks `add_subdirectory` of the
  /// directory itself.
  package func rename(
    _ source: RenameSide, into newParent: Item, changesParent: Bool, over victim: Item?
  ) -> Verdict {
    let moved = leaving(source, changesParent: changesParent)
      .then { place(source.item, in: newParent, comesFromElsewhere: changesParent).on(.newParent) }
    guard let victim else { return moved }
    return moved.then { remove(victim, from: newParent).aboutVictim }
  }

  /// Swaps two names.
  package func exchange(_ one: RenameSide, _ other: RenameSide, changesParent: Bool) -> Verdict {
    leaving(one, changesParent: changesParent)
      .then { leaving(other, changesParent: changesParent).aboutVictim }
      .then { place(one.item, in: other.parent, comesFromElsewhere: changesParent).on(.newParent) }
      .then { place(other.item, in: one.parent, comesFromElsewhere: changesParent).on(.parent) }
  }

  /// The first half of a rename: the old name goes.
  package func leaving(_ side: RenameSide, changesParent: Bool) -> Verdict {
    let rewritesParent = side.item.isDirectory && changesParent
    let asked: Rights = rewritesParent ? [.delete, .addSubdirectory] : .delete
    return check(side.item, asked, removingFrom: side.parent)
  }
}

extension Verdict {
  /// What was said of an object and its parent, said of the object at the other end of a rename.
  fileprivate var aboutVictim: Verdict {
    on(place == .parent ? .newParent : .victim)
  }
}
