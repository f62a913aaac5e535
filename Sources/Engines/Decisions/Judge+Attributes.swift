// Changing what is true of an object: mode, owner, times, flags, list.

package import AccessControl
package import DirectoryModes
import FlagRules

extension Judge {
  /// Whether the mode may be set; the mode that is then set is ``granted(_:on:)``.
  func setMode(of item: Item, to mode: Mode) -> Verdict {
    let permitted = check(item, .writeSecurity).reportedAsNotPermitted
    guard permitted.isAllowed, mode.hasSetUser else { return permitted }
    if item.hasSharedOwner { return .refused(.notPermitted, .sharedOwner) }
    guard standing(towards: item).isOwner != .member else { return permitted }
    // An administrator by group would become its owner.
    return notPermitted(.notOwner, unlessWith: .fowner) ?? permitted
  }

  /// Users who may not read the mode are not told whether there is something to strip.
  func stripNothing(of item: Item) -> Verdict {
    guard !item.mode.hasSetUser, !item.mode.hasSetGroup else { return .refused(.notPermitted, .notOwner) }
    var verdict = check(item, .looking)
    if !verdict.isAllowed { verdict.refusal = .notPermitted }
    return verdict
  }

  func setOwner(of item: Item, _ change: OwnerChange) -> Verdict {
    guard change.user != nil || change.group != nil else { return .allowed(.nothingAsked) }
    // Nothing is stored on such a volume; the call succeeds without effect.
    if !changesOwners { return check(item, .checkImmutable).reportedAsNotPermitted }
    if rules.isReadOnly { return writableMount }

    let takesOwnership = change.user.map { $0 != item.user || item.ownerGroup != nil } ?? false
    if takesOwnership, change.user != subject.user,
      let refusal = notPermitted(.giveAway, unlessWith: .chown, towards: item)
    {
      return refusal
    }
    if let group = change.group, group != item.group, let refusal = requireMember(of: group, item) {
      return refusal
    }
    // Linux asks the same capability for all of it.
    return check(item, takesOwnership ? .takeOwnership : .writeSecurity, unlessWith: .chown)
      .reportedAsNotPermitted
  }

  /// Makes a group the owner in place of a user.
  ///
  /// It is a change of owner: a user other than root takes ownership, and takes it for a group they are in.
  func setOwnerGroup(of item: Item, to group: UInt32) -> Verdict {
    if rules.isReadOnly { return writableMount }
    return requireMember(of: group, item) ?? check(item, .takeOwnership).reportedAsNotPermitted
  }

  /// The refusal for those who are not in a group that is to own an item.
  private func requireMember(of group: UInt32, _ item: Item) -> Verdict? {
    let membership = subject.membership(of: group)
    guard membership != .member else { return nil }
    return notPermitted(
      .notMemberOfGroup(group), unlessWith: .chown, towards: item, hingesOnUnread: membership == .unknown)
  }

  /// Times of the caller's choice: the owner's affair, and an entry can take it away.
  func setTimes(of item: Item) -> Verdict {
    let stored = writableMount.unless(item.damageToRecord)
    guard stored.isAllowed else { return stored }
    if let flag = item.flags.forbidding(.writeAttributes, onDirectory: item.isDirectory) {
      return .refused(.notPermitted, .flag(flag))
    }
    let owner = standing(towards: item).isOwner
    let refusal = notPermitted(
      .notOwner, unlessWith: .fowner, towards: item, hingesOnUnread: owner == .unknown)
    if owner != .member, let refusal { return refusal }
    return decide(.touch, on: item).reportedAsNotPermitted
  }

  func setFlags(of item: Item, to flags: FileFlags, _ carriesRecord: Bool, _ tell: Tell?) -> Verdict {
    let change = FlagChange(from: item.flags, to: flags)
    func permitted() -> Verdict { check(item, [.writeSecurity, .ignoringFlags]).reportedAsNotPermitted }
    if change.isNothing {
      // Not even "no change" can be said of flags that nobody can read.
      return writableMount.then { unchanged(item, permitted()) }.unless(item.damageToRecord)
        .told(.operation, tell)
    }
    return writableMount.unless(item.damageToRecord).then { refusal(of: change) ?? permitted() }
      .told(.operation, tell).unless(!carriesRecord, .noRecord, tell)
  }

  /// An administrator by group has no say about the system domain: here only root is root.
  private func refusal(of change: FlagChange) -> Verdict? {
    let privilege = Privilege(capabilities: .linuxImmutable)
    let standing = isRoot(with: privilege)
    return switch change.obstacle(isSuperuser: standing == .member, secureLevel: rules.secureLevel) {
    case .needsRoot(let flags):
      refused(.refused(.notPermitted, .needsRoot(flags)), unlessWith: privilege, standing)
    case .secureLevel(let flags): .refused(.notPermitted, .secureLevel(flags))
    case nil: nil
    }
  }

  /// Setting what is there already, which by itself is allowed to those whom `change` is.
  ///
  /// It asks for no right, as on macOS, but of those who may not even read it: for them it asks what any change would ask.
  /// Otherwise everybody could find out what is there by trying.
  func unchanged(_ item: Item, _ change: Verdict) -> Verdict {
    let verdict = change.or { check(item, .looking) }
    return verdict.isAllowed ? .allowed(.nothingAsked) : verdict
  }

  /// Storing, replacing or removing a list.
  func setList(of item: Item, isNone: Bool, isThere: Bool, _ carriesRecord: Bool, _ tell: Tell?) -> Verdict {
    if !isNone, !rules.usesLists, !rules.isReadOnly {
      // What is there already may be stored by users who may read it; to others every list is refused alike.
      let reading = isThere ? check(item, .looking) : nil
      guard let reading, reading.isAllowed else {
        var refused = Verdict.refused(by: .noLists)
        refused.hingesOnUnread = reading?.hingesOnUnread ?? false
        return refused.told(.operation, tell)
      }
    }
    let permitted = writableMount.then {
      let permitted = check(item, .writeSecurity).reportedAsNotPermitted
      return isThere ? unchanged(item, permitted) : permitted
    }
    return permitted.told(.operation, tell).unless(!isThere && !carriesRecord, .noRecord, tell)
  }
}

// MARK: - What comes of it

extension Judge {
  /// Whether a change of owner has an effect; where ownership is ignored only root's has.
  package var changesOwners: Bool { !rules.ignoresOwnership || subject.user == 0 }

  /// The mode a chmod really sets.
  package func granted(_ mode: Mode, on item: Item) -> Mode {
    if item.hasSharedOwner { return mode.withoutSetID(onDirectory: item.isDirectory) }
    return mode.granted(to: subject, memberOfGroup: standing(towards: item).isInOwningGroup)
  }

  /// Whether that needs what was not read of the caller yet.
  package func grantHingesOnUnread(_ mode: Mode, on item: Item) -> Bool {
    mode.hasSetGroup && subject.groups == .unread && standing(towards: item).isInOwningGroup != .member
  }

  /// Owner, group and mode of an object made in a directory.
  package func newItem(_ requested: Mode, directory isDirectory: Bool, in parent: Item) -> NewItem {
    NewItem(
      requested: requested, isDirectory: isDirectory, by: subject, in: creationContext(parent),
      keepsCallerGroup: rules.ignoresOwnership)
  }

  /// Whether that needs what was not read of the caller yet.
  package func newItemHingesOnUnread(_ requested: Mode, in parent: Item) -> Bool {
    NewItem.hingesOnUnread(requested: requested, by: subject, in: creationContext(parent))
  }

  private func creationContext(_ parent: Item) -> CreationContext {
    CreationContext(
      parentUser: parent.user, parentGroup: parent.group, parentMode: parent.mode,
      handsOverOwnership: rules.handsOverOwnership)
  }

  /// The list it inherits; a list that is not evaluated is not handed down either.
  package func inheritedList(_ kind: NewObject, from parent: Item) throws(TooManyEntries) -> AccessList? {
    guard kind != .symbolicLink, rules.usesLists else { return nil }
    return try AccessList.inherited(from: parent.list, forDirectory: kind.isDirectory)
  }
}
