// A change with the values it would be made with, asked about beforehand.

package import DirectoryModes
package import FlagRules

/// A call that changes an item.
package enum ChangeRequest: Hashable, Sendable {
  case mode(Mode)
  case owner(OwnerChange)
  /// A group in place of a user.
  case ownerGroup(UInt32)
  case flags(FileFlags)
  /// A list other than the one there is stored; which one it is does not matter.
  case otherList
  /// The list is removed.
  case noList

  /// The deed as `varve why` calls it.
  package var deed: Deed {
    switch self {
    case .mode: .changeMode
    case .owner, .ownerGroup: .changeOwner
    case .flags: .changeFlags
    case .otherList, .noList: .writeList
    }
  }
}

extension Judge {
  /// Decides as the operation itself would.
  package func permits(_ change: ChangeRequest, _ item: Item) -> Verdict {
    switch change {
    case .mode(let mode): changeMode(of: item, to: mode)
    case .owner(let change): changeOwner(of: item, change)
    case .ownerGroup(let group): changeOwnerGroup(of: item, to: group)
    case .flags(let flags): changeFlags(of: item, FlagChange(from: item.flags, to: flags))
    case .otherList: changeList(of: item, to: Judge.otherList(than: item.list))
    case .noList: changeList(of: item, to: nil)
    }
  }
}
