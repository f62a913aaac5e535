// A change that is only planned: asked with the values it would be made with, one step after the other, so that a
// later step meets what an earlier one has left.

import AccessControl
package import DirectoryModes
package import FlagRules

/// One step of it, as one call of a program would be.
package enum PlannedChange: Hashable, Sendable {
  case mode(Mode)
  case owner(OwnerChange)
  /// A group in place of a user.
  case ownerGroup(UInt32)
  case flags(FileFlags)
  /// Some other list is stored, or the one there is removed.
  case list(isRemoval: Bool)
  /// No call: an earlier part of the plan leaves the item with these flags.
  case assumedFlags(FileFlags)
  /// No call: whether this would be permitted by then.
  case then(Deed)

  /// The deed as `varve why` calls it.
  package var deed: Deed {
    switch self {
    case .mode: .changeMode
    case .owner, .ownerGroup: .changeOwner
    case .flags, .assumedFlags: .changeFlags
    case .list: .writeList
    case .then(let deed): deed
    }
  }

  /// The item as the next step meets it.
  ///
  /// What a stored list grants is not known: the next steps are those of whoever could store it.
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
    case .assumedFlags(let flags): item.flags = flags
    case .list(let isRemoval): if isRemoval { item.list = nil }
    case .then: break
    }
    return item
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
    case .list(let isRemoval):
      changeList(of: item, to: isRemoval ? nil : Judge.otherList(than: item.list))
    case .assumedFlags: .allowed(.nothingAsked)
    case .then(let deed): permits(deed, item) ?? .allowed(.nothingAsked)
    }
  }
}
