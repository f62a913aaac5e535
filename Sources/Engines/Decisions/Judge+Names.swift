// Making, removing, moving and linking names.

import AccessControl
import DirectoryModes

extension Judge {
  func create(_ kind: NewObject, in parent: Item) -> Verdict {
    // A device node: root's alone, before anything else is looked at.
    if kind == .device, let refusal = notPermitted(.deviceNeedsRoot, unlessWith: .mknod) { return refusal }
    let verdict = add(kind.isDirectory ? .addSubdirectory : .addFile, to: parent)
    // A link inherits nothing, and a list that cannot be read cannot be handed down.
    let inheriting = kind == .symbolicLink ? verdict : verdict.unless(damageToUsedList(of: parent))
    return inheriting.and { key(toMake: kind, in: parent) }.on(.parent)
  }

  /// A caller that adds to a directory uses a name there, even where the kernel looked none up (O_TMPFILE).
  private func add(_ rights: Rights, to directory: Item) -> Verdict {
    check(directory, .search).then { check(directory, rights) }
  }

  /// A further name for a file: of the file itself only its flags are asked, and what `fs.protected_hardlinks` wants.
  ///
  /// The kernel asks of the new name and of the mount before anything is asked of the item.
  func link(
    _ item: Item, to parent: Item, over victim: Item?, _ protectsLinks: () -> Bool, _ tell: Tell?
  ) -> Verdict {
    if victim != nil { return .refused(by: .taken, on: .victim).told(.operation, tell) }
    let verdict = writableMount.on(.newParent).then { naming(item, protectsLinks) }
      .then { add(.addFile, to: parent).and { entering(item, into: parent) }.on(.newParent) }
    return verdict.told(verdict.role == .newParent ? .adding(directory: false) : .operation, tell)
  }

  /// The kernel's rule, if `protectsLinks`: the file is the caller's, or an ordinary one that the caller may read and write.
  ///
  /// On other file systems the kernel finds out by itself; here it takes for granted that reading and writing are allowed.
  private func naming(_ item: Item, _ protectsLinks: () -> Bool) -> Verdict {
    guard !item.isDirectory else { return .refused(.notPermitted, .linkToDirectory) }
    let naming = check(item, .linkTarget)
    let owner = standing(towards: item).isOwner
    guard naming.isAllowed, owner != .member else { return naming }
    let runsAsOther = item.mode.hasSetUser || (item.mode.hasSetGroup && item.mode.isGroupExecutable)
    var hinges = owner == .unknown
    if item.kind == .file, !runsAsOther {
      let using = check(item, [.read, .write])
      guard !using.isAllowed else { return naming }
      hinges = hinges || using.hingesOnUnread
    }
    let refusal = notPermitted(.protectedLink, unlessWith: .fowner, hingesOnUnread: hinges)
    guard let refusal, protectsLinks() else { return naming }
    return refusal
  }

  /// Moves the item, over the victim if there is one, or swaps the two.
  func rename(
    _ rename: Rename, _ item: Item, from parent: Item, to newParent: Item, over victim: Item?,
    _ tell: Tell?
  ) -> Verdict {
    if let obstacle = rename.obstacle(item, over: victim) { return obstacle.told(.operation, tell) }
    let rights = renameRights(rename, item, from: parent, to: newParent, over: victim, tell)
    // After all rights: what they refuse a copy would not reach either.
    guard rights.isAllowed, rename.changesParent else { return rights }
    let entered = entering(item, into: newParent).on(.newParent)
    let both =
      rename.exchanges
      ? entered.then { victim.map { entering($0, into: parent).on(.parent) } ?? entered } : entered
    return both.isAllowed ? rights : both.told(.operation, tell)
  }

  private func renameRights(
    _ rename: Rename, _ item: Item, from parent: Item, to newParent: Item, over victim: Item?, _ tell: Tell?
  ) -> Verdict {
    let moves = rename.changesParent
    let leaving = toldLeaving(item, parent, moves, tell)
    guard let victim else { return leaving.then { arriving(item, in: newParent, tell) } }
    guard rename.exchanges else {
      return leaving.then { arriving(item, in: newParent, tell) }
        .then { check(victim, .delete, removingFrom: newParent).aboutVictim.told(.removing, tell) }
    }
    let left = leaving.then { toldLeaving(victim, newParent, moves, tell, isVictim: true) }
    // Inside one directory both are added in one request.
    guard moves else { return left.then { arriving(item, and: victim.adding, in: newParent, tell) } }
    return left.then { arriving(item, in: newParent, tell) }
      .then { arriving(victim, in: parent, at: .parent, tell) }
  }

  private func arriving(
    _ item: Item, and more: Rights = [], in directory: Item, at role: ObjectRole = .newParent, _ tell: Tell?
  ) -> Verdict {
    add(item.adding.union(more), to: directory).on(role).told(.adding(directory: item.isDirectory), tell)
  }

  /// The old name goes.
  ///
  /// A directory that changes its parent has its `..` rewritten, which asks `add_subdirectory` of the directory itself.
  private func leaving(_ item: Item, _ parent: Item, _ moves: Bool) -> Verdict {
    check(item, item.isDirectory && moves ? [.delete, .addSubdirectory] : .delete, removingFrom: parent)
  }

  /// The same, told by the right that is missing.
  private func toldLeaving(
    _ item: Item, _ parent: Item, _ moves: Bool, _ tell: Tell?, isVictim: Bool = false
  ) -> Verdict {
    let verdict = leaving(item, parent, moves)
    let told = isVictim ? verdict.aboutVictim : verdict
    return told.told(verdict.lacks(.addSubdirectory) ? .adding(directory: true) : .removing, tell)
  }

  /// A FIFO or socket shows itself only to those who may use it, could remove it, or could give themselves the right.
  ///
  /// The kernel opens and connects to them without asking. A caller with one of read and write gets both.
  func find(_ item: Item, in parent: Item) -> Verdict {
    var found =
      check(item, .write).or { check(item, .read) }
      .or { check(item, .delete, removingFrom: parent) }.or { findAsOwner(item) }
    // To whom it does not show itself there is one number, whichever rule it was.
    if !found.isAllowed { found.refusal = .accessDenied }
    return found
  }

  /// Its owner, root, and users who may change its mode or list; neither flags nor damage hide it from them.
  private func findAsOwner(_ item: Item) -> Verdict {
    guard standing(towards: item).isOwner != .member else { return .allowed(.ownership) }
    let privilege = Privilege(rights: .writeSecurity, onDirectory: item.isDirectory)
    let standing = holds(privilege, towards: item)
    guard standing != .member else { return .allowed(privileged) }
    return refused(rights(.writeSecurity, on: item), unlessWith: privilege, standing)
  }
}

extension Rename {
  fileprivate func obstacle(_ item: Item, over victim: Item?) -> Verdict? {
    if leadsIntoItself { return .refused(by: .intoItself, on: .newParent) }
    guard let victim else { return exchanges ? .refused(by: .missing, on: .newParent) : nil }
    if !mayReplace { return .refused(by: .taken, on: .victim) }
    if exchanges || victim.isDirectory == item.isDirectory { return nil }
    return .refused(by: victim.isDirectory ? .replacesDirectory : .notDirectory, on: .victim)
  }
}

extension Item {
  /// The right to make it in a directory.
  fileprivate var adding: Rights { isDirectory ? .addSubdirectory : .addFile }
}

extension Verdict {
  /// Whether nothing but this right is missing, as far as the reason names rights.
  fileprivate func lacks(_ right: Rights) -> Bool {
    switch reason {
    case .modeBits(_, let asked): !isAllowed && asked == right
    case .noEntryGrants(let rights): rights == right
    default: false
    }
  }

  /// What was said of an object and its parent, said of the object at the other end of a rename.
  fileprivate var aboutVictim: Verdict {
    on(role == .parent ? .newParent : .victim)
  }
}
