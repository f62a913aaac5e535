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
    guard permitted.isAllowed, mode.hasSetUser else { return permitted }
    if item.hasSharedOwner { return .refused(.notPermitted, .sharedOwner) }
    guard standing(towards: item).isOwner != .member else { return permitted }
    // An administrator by group would become whoever owns it.
    return notPermitted(.notOwner, unlessRootWith: .fowner) ?? permitted
  }

  /// The mode a chmod really sets.
  package func granted(_ mode: Mode, on item: Item) -> Mode {
    if item.hasSharedOwner { return mode.withoutSetID(onDirectory: item.isDirectory) }
    return mode.granted(to: subject, memberOfGroup: standing(towards: item).isInOwningGroup)
  }

  /// Whether that needs what was not read of the caller yet.
  package func grantHingesOnUnread(_ mode: Mode, on item: Item) -> Bool {
    mode.hasSetGroup && subject.groups == .unread && standing(towards: item).isInOwningGroup != .member
  }

  /// Taking the set-id bits away: for whoever may set the mode, or may write just now, which takes them as well.
  package func stripSetID(of item: Item) -> Verdict {
    changeMode(of: item, to: item.mode.afterChangeOfOwner).or { truncate(item) }
  }

  package func changeOwner(of item: Item, _ change: OwnerChange) -> Verdict {
    guard change.user != nil || change.group != nil else { return .allowed(.nothingAsked) }
    // Nothing is stored on such a volume; the call succeeds without effect.
    if rules.ignoresOwnership, subject.user != 0 {
      return check(item, .checkImmutable).reportedAsNotPermitted
    }
    if rules.isReadOnly { return .refused(.readOnly, .readOnlyVolume) }

    let takesOwnership = change.user.map { $0 != item.user || item.ownerGroup != nil } ?? false
    if let user = change.user, takesOwnership, user != subject.user,
      let refusal = notPermitted(.giveAway, towards: item, unlessWith: Privilege(.chown))
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

  /// The refusal for those who are not in a group that is to own an item.
  private func requireMember(of group: UInt32, _ item: Item) -> Verdict? {
    let membership = subject.membership(of: group)
    guard membership != .member else { return nil }
    return notPermitted(
      .notMemberOfGroup(group), towards: item, unlessWith: Privilege(.chown),
      hingesOnUnread: membership == .unknown)
  }

  /// Makes a group the owner in place of a user.
  ///
  /// It is a change of owner: whoever is not root takes ownership, and takes it for a group he is in.
  package func changeOwnerGroup(of item: Item, to group: UInt32) -> Verdict {
    if rules.isReadOnly { return .refused(.readOnly, .readOnlyVolume) }
    if let refusal = requireMember(of: group, item) { return refusal }
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
    if owner != .member,
      let refusal = notPermitted(
        .notOwner, towards: item, unlessWith: Privilege(.fowner), hingesOnUnread: owner == .unknown)
    {
      return refusal
    }
    return touch(item).reportedAsNotPermitted
  }

  package func changeFlags(of item: Item, _ change: FlagChange) -> Verdict {
    if rules.isReadOnly { return .refused(.readOnly, .readOnlyVolume) }
    if change.isNothing { return unchanged(item) { check(item, [.writeSecurity, .ignoringFlags]) } }
    if item.record == .damaged { return .refused(.damaged, .damagedRecord) }
    // An administrator by group has no say about the system domain: here only root is root.
    let privilege = Privilege(.linuxImmutable)
    let standing = isRoot(with: privilege)
    switch change.obstacle(isSuperuser: standing == .member, secureLevel: rules.secureLevel) {
    case .needsRoot(let flags):
      return refused(.refused(.notPermitted, .needsRoot(flags)), unlessWith: privilege, standing)
    case .secureLevel(let flags): return .refused(.notPermitted, .secureLevel(flags))
    case nil: return check(item, [.writeSecurity, .ignoringFlags]).reportedAsNotPermitted
    }
  }

  /// A mode that stays as it is, where that is not said by chmod.
  package func keepMode(of item: Item) -> Verdict {
    unchanged(item) { check(item, .writeSecurity) }
  }

  /// Setting what is there already.
  ///
  /// It asks for no right, as on macOS, but of those who may not even read it: for them it asks what any change would ask.
  /// Otherwise everybody could find out what is there by trying.
  private func unchanged(_ item: Item, _ change: () -> Verdict) -> Verdict {
    let verdict = change().reportedAsNotPermitted.or { readAttributes(item) }
    return verdict.isAllowed ? .allowed(.nothingAsked) : verdict
  }

  /// Storing, replacing or removing a list.
  package func changeList(of item: Item, to list: AccessList?) -> Verdict {
    if rules.isReadOnly { return .refused(.readOnly, .readOnlyVolume) }
    if item.record == .sound, item.list == list { return unchanged(item) { check(item, .writeSecurity) } }
    return check(item, .writeSecurity).reportedAsNotPermitted
  }

  /// Some list that is not there yet, so that storing it is a change.
  static func otherList(than list: AccessList?) -> AccessList {
    var other = list ?? AccessList()
    other.entries.append(AccessEntry(.allow, .nobody, []))
    return other
  }

  /// Reading the access list: the right is that of stat, and there must be a list that can be read.
  package func readList(_ item: Item) -> Verdict {
    let looking = readAttributes(item)
    guard looking.isAllowed else { return looking }
    return switch item.record {
    case .sound: looking
    case .damagedList: .refused(.damaged, .damagedList)
    case .damaged: .refused(.damaged, .damagedRecord)
    }
  }
}
