// A change that is only planned: asked with the values it would be made with, one step after the other, so that a
// later step meets what an earlier one has left.

package import AccessControl
package import DirectoryModes
package import FlagRules

/// One step of it, as one call of a program would be.
package enum PlannedChange: Hashable, Sendable {
  case mode(Mode)
  case owner(OwnerChange)
  /// A group in place of a user.
  case ownerGroup(UInt32)
  case flags(FileFlags)
  /// This list is stored; nil: the one there is removed.
  case list(AccessList?)
  /// Some other list is stored.
  case otherList
  /// No call: an earlier part of the plan leaves the item so.
  case assumed(AssumedState)
  /// No call: whether this would be permitted by then.
  case then(Deed)

  /// The deed as `varve why` calls it.
  package var deed: Deed {
    switch self {
    case .mode: .changeMode
    case .owner, .ownerGroup: .changeOwner
    case .flags, .assumed: .changeFlags
    case .list, .otherList: .writeList
    case .then(let deed): deed
    }
  }

  /// The item as the next step meets it.
  ///
  /// What some other list grants is not known: the next steps are those of whoever could store it.
  package func applied(to item: Item) -> Item {
    var item = item
    switch self {
    case .mode(let mode): item.mode = mode
    case .owner(let change):
      if let user = change.user { (item.user, item.ownerGroup) = (user, nil) }
      if let group = change.group { item.group = group }
      item.mode = item.mode.afterChangeOfOwner
    case .ownerGroup(let group):
      item.ownerGroup = group
      item.mode = item.mode.afterChangeOfOwner
    case .flags(let flags): item.flags = FlagChange(from: item.flags, to: flags).after
    case .assumed(let state): state.apply(to: &item)
    case .list(let list): item.replaceList(by: list)
    case .otherList, .then: break
    }
    return item
  }
}

/// What an earlier part of a plan leaves of an item; what is nil it leaves as it is.
package struct AssumedState: Hashable, Sendable {
  package var mode: Mode?
  package var owner: OwnerChange?
  package var ownerGroup: UInt32?
  package var flags: FileFlags?
  /// Nil inside: none.
  package var list: AccessList??

  package init() {}

  fileprivate func apply(to item: inout Item) {
    if let user = owner?.user { (item.user, item.ownerGroup) = (user, nil) }
    if let group = owner?.group { item.group = group }
    if let ownerGroup { item.ownerGroup = ownerGroup }
    if let mode { item.mode = mode }
    if let flags { item.flags = flags }
    if let list { item.replaceList(by: list) }
  }
}

extension Item {
  fileprivate mutating func replaceList(by list: AccessList?) {
    self.list = list
    if record == .damagedList { record = .sound }
  }
}

extension Judge {
  /// Decides as the operation itself would.
  package func permits(_ change: PlannedChange, _ item: Item) -> Verdict {
    switch change {
    case .mode(let mode): self.changeMode(of: item, to: mode)
    case .owner(let change): changeOwner(of: item, change)
    case .ownerGroup(let group): changeOwnerGroup(of: item, to: group)
    case .flags(let flags): changeFlags(of: item, FlagChange(from: item.flags, to: flags))
    case .list(let list): changeList(of: item, to: list)
    case .otherList: changeList(of: item, to: Judge.otherList(than: item.list))
    case .assumed: .allowed(.nothingAsked)
    case .then(let deed): permits(deed, item) ?? .allowed(.nothingAsked)
    }
  }
}
