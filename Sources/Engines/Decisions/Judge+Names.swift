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
    _ source: RenameSide, into newParent: Item, changesParent: Bool, over victim: Item?,
    tell: (Step) -> Void = { _ in }
  ) -> Verdict {
    let moved = leaving(source, changesParent: changesParent).told(.removing, tell)
      .then {
        place(source.item, in: newParent, comesFromElsewhere: changesParent).on(.newParent)
          .told(.adding(directory: source.item.isDirectory), tell)
      }
    guard let victim else { return moved }
    return moved.then { remove(victim, from: newParent).aboutVictim.told(.removing, tell) }
  }

  /// Swaps two names.
  ///
  /// Inside one directory both are added in one request.
  package func exchange(
    _ one: RenameSide, _ other: RenameSide, changesParent: Bool, tell: (Step) -> Void = { _ in }
  ) -> Verdict {
    let leaving = self.leaving(one, changesParent: changesParent).told(.removing, tell)
      .then { self.leaving(other, changesParent: changesParent).aboutVictim.told(.removing, tell) }
    let first = Step.Asked.adding(directory: one.item.isDirectory)
    guard changesParent else {
      let both = adding(one.item.isDirectory).union(adding(other.item.isDirectory))
      return leaving.then { add(both, to: other.parent).on(.newParent).told(first, tell) }
    }
    return
      leaving
      .then { place(one.item, in: other.parent).on(.newParent).told(first, tell) }
      .then {
        place(other.item, in: one.parent).on(.parent)
          .told(.adding(directory: other.item.isDirectory), tell)
      }
  }

  /// The first half of a rename: the old name goes.
  private func leaving(_ side: RenameSide, changesParent: Bool) -> Verdict {
    let rewritesParent = side.item.isDirectory && changesParent
    let asked: Rights = rewritesParent ? [.delete, .addSubdirectory] : .delete
    return check(side.item, asked, removingFrom: side.parent)
  }

  /// A FIFO or socket shows itself only to those who may use it, could remove it, or could give themselves the right.
  ///
  /// The kernel opens and connects to them without asking. Whoever holds one of read and write gets both.
  package func find(special item: Item, in parent: Item) -> Verdict {
    var found = check(item, .write).or { check(item, .read) }.or { remove(item, from: parent) }
      .or { findAsOwner(item) }
    // To whom it does not show itself there is one number, whichever rule it was.
    if !found.isAllowed { found.refusal = .accessDenied }
    return found
  }

  /// Its owner, root, and whoever may change its mode or list; neither flags nor damage hide it from them.
  private func findAsOwner(_ item: Item) -> Verdict {
    guard standing(towards: item).isOwner != .member else { return .allowed(.ownership) }
    let privilege = Privilege(for: .writeSecurity, on: item)
    let standing = holds(privilege, towards: item)
    guard standing != .member else { return .allowed(.superuser) }
    return refused(rights(.writeSecurity, on: item), unlessWith: privilege, standing)
  }
}

extension Verdict {
  /// What was said of an object and its parent, said of the object at the other end of a rename.
  fileprivate var aboutVictim: Verdict {
    on(place == .parent ? .newParent : .victim)
  }
}
