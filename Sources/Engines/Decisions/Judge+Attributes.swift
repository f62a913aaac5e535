// Changing what is true of an object: mode, owner, times, flags, list.

package import AccessControl
package import DirectoryModes
package import FlagRules

/// A chown: `nil` leaves a side alone.
package struct OwnerChange: Hashable, Sendable {
  package var user: UInt32?
  package var group: UInt32?

  package init(user: UInt32?, group: UInt32?) {
    self.user = user
    self.group = group
  }
}

extension Judge {
  /// Whether the mode may be set; the mode that is then set is ``Mode/granted(to:memberOfGroup:)``.
  package func changeMode(of item: Item, to mode: Mode) -> Verdict {
    let permitted = check(item, .writeSecurity).reportedAsNotPermitted
    guard permitted.isAllowed else { return permitted }
    if mode.hasSetUser, !isSuperuser(towards: item) {
      let owner = standing(towards: item).isOwner
      guard owner == .member else {
        return .refused(
          .notPermitted, .notOwner, hingesOnGroups: owner == .unknown || mayBeSuperuser(towards: item))
      }
    }
    return permitted
  }

  package func changeOwner(of item: Item, _ change: OwnerChange) -> Verdict {
    guard change.user != nil || change.group != nil else { return .allowed(.nothingAsked) }
    // Nothing is stored on such a volume; the call succeeds without effect.
    if rules.ignoresOwnership, !subject.isRoot { return check(item, .checkImmutable).reportedAsNotPermitted }
    if rules.isReadOnly { return .refused(.readOnly, .readOnlyVolume) }

    let takesOwnership = change.user.map { $0 != item.user || item.ownerGroup != nil } ?? false
    if !isSuperuser(towards: item) {
      if let user = change.user, takesOwnership, user != subject.user {
        return .refused(.notPermitted, .giveAway, hingesOnGroups: mayBeSuperuser(towards: item))
      }
      if let group = change.group, group != item.group {
        let membership = subject.membership(of: group)
        guard membership == .member else {
          return .refused(
            .notPermitted, .notMemberOfGroup(group),
            hingesOnGroups: membership == .unknown || mayBeSuperuser(towards: item))
        }
      }
    }
    return check(item, takesOwnership ? .takeOwnership : .writeSecurity).reportedAsNotPermitted
  }

  /// Makes a group the owner in place of a user.
  ///
  /// It is a change of owner: whoever is not root takes ownership, and takes it for a group he is in.
  package func changeOwnerGroup(of item: Item, to group: UInt32) -> Verdict {
    if rules.isReadOnly { return .refused(.readOnly, .readOnlyVolume) }
    if !isSuperuser(towards: item) {
      let membership = subject.membership(of: group)
      guard membership == .member else {
        return .refused(
          .notPermitted, .notMemberOfGroup(group),
          hingesOnGroups: membership == .unknown || mayBeSuperuser(towards: item))
      }
    }
    return check(item, .takeOwnership).reportedAsNotPermitted
  }

  /// Both times set to now: whoever may write may do this.
  package func touch(_ item: Item) -> Verdict {
    check(item, [.writeAttributes, .checkImmutable])
  }

  /// Times of the caller's choice: the owner's affair, and an entry can take it away.
  package func changeTimes(of item: Item) -> Verdict {
    if rules.isReadOnly { return .refused(.readOnly, .readOnlyVolume) }
    if item.record == .damaged { return .refused(.damaged, .damagedRecord) }
    if let flag = item.flags.forbidding(.writeAttributes, onDirectory: item.isDirectory) {
      return .refused(.notPermitted, .flag(flag))
    }
    let owner = standing(towards: item).isOwner
    guard owner == .member || isSuperuser(towards: item) else {
      return .refused(
        .notPermitted, .notOwner, hingesOnGroups: owner == .unknown || mayBeSuperuser(towards: item))
    }
    return touch(item).reportedAsNotPermitted
  }

  package func changeFlags(of item: Item, _ change: FlagChange) -> Verdict {
    guard !change.isNothing else {
      return rules.isReadOnly ? .refused(.readOnly, .readOnlyVolume) : .allowed(.nothingAsked)
    }
    if rules.isReadOnly { return .refused(.readOnly, .readOnlyVolume) }
    if item.record == .damaged { return .refused(.damaged, .damagedRecord) }
    // An administrator by group has no say about the system domain: here only root is root.
    switch change.obstacle(isSuperuser: subject.isRoot, secureLevel: rules.secureLevel) {
    case .needsRoot(let flags): return .refused(.notPermitted, .needsRoot(flags))
    case .secureLevel(let flags): return .refused(.notPermitted, .secureLevel(flags))
    case nil: return check(item, [.writeSecurity, .ignoringFlags]).reportedAsNotPermitted
    }
  }

  /// Storing, replacing or removing a list; one that stays as it is asks for nothing.
  package func changeList(of item: Item, to list: AccessList?) -> Verdict {
    if rules.isReadOnly { return .refused(.readOnly, .readOnlyVolume) }
    if item.record == .sound, item.list == list { return .allowed(.nothingAsked) }
    // Root can always remove a list that nobody can read.
    if item.record == .damagedList, list == nil, subject.isRoot {
      return check(item, .checkImmutable)
    }
    return check(item, .writeSecurity).reportedAsNotPermitted
  }
}
