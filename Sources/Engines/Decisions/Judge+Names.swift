// Making, removing, moving and linking names.

import AccessControl
import DirectoryModes

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

  /// Whoever makes something in a directory uses a name there, even where the kernel looked none up (O_TMPFILE).
  package func create(directory isDirectory: Bool, in parent: Item) -> Verdict {
    refusingPlainContent(add(adding(isDirectory), to: parent), nil, in: parent).on(.parent)
  }

  private func add(_ rights: Rights, to parent: Item) -> Verdict {
    search(parent).then { check(parent, rights) }.on(.parent)
  }

  /// Adds a name for what is there already; one that stays in its directory brings nothing into it.
  private func place(_ item: Item, in parent: Item, comesFromElsewhere: Bool = true) -> Verdict {
    let verdict = add(adding(item.isDirectory), to: parent)
    return comesFromElsewhere ? refusingPlainContent(verdict, item, in: parent) : verdict
  }

  /// A device node: root's alone, before anything else is looked at.
  package func createDevice(in parent: Item) -> Verdict {
    notPermitted(.deviceNeedsRoot, unlessRootWith: .mknod) ?? create(directory: false, in: parent)
  }

  package func remove(_ item: Item, from parent: Item) -> Verdict {
    check(item, .delete, removingFrom: parent)
  }

  /// A further name for a file: of the file itself only its flags are asked, and what `fs.protected_hardlinks` wants.
  ///
  /// That setting is looked at only where it would refuse.
  package func link(
    _ item: Item, into parent: Item, protectsLinks: @autoclosure () -> Bool
  ) -> Verdict {
    guard !item.isDirectory else { return .refused(.notPermitted, .linkToDirectory) }
    var naming = check(item, .linkTarget)
    if naming.isAllowed, let refusal = protectedLink(item), protectsLinks() { naming = refusal }
    return naming.then { place(item, in: parent).on(.newParent) }
  }

  /// The kernel's rule: the file is the caller's, or an ordinary one that the caller may read and write.
  ///
  /// On other file systems the kernel finds out by itself; here it takes for granted that reading and writing are allowed.
  private func protectedLink(_ item: Item) -> Verdict? {
    let owner = standing(towards: item).isOwner
    guard owner != .member else { return nil }
    let runsAsOther = item.mode.hasSetUser || (item.mode.hasSetGroup && item.mode.isGroupExecutable)
    var hinges = owner == .unknown
    if item.kind == .file, !runsAsOther {
      let using = check(item, [.read, .write])
      guard !using.isAllowed else { return nil }
      hinges = hinges || using.hingesOnUnread
    }
    return notPermitted(.protectedLink, unlessRootWith: .fowner, hingesOnUnread: hinges)
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
  ///
  /// Inside one directory both are added in one request.
  package func exchange(_ one: RenameSide, _ other: RenameSide, changesParent: Bool) -> Verdict {
    let leaving = self.leaving(one, changesParent: changesParent)
      .then { self.leaving(other, changesParent: changesParent).aboutVictim }
    let (first, second) = (adding(one.item.isDirectory), adding(other.item.isDirectory))
    guard changesParent else {
      return leaving.then { add(first.union(second), to: other.parent).on(.newParent) }
    }
    return
      leaving
      .then { place(one.item, in: other.parent).on(.newParent) }
      .then { place(other.item, in: one.parent).on(.parent) }
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
