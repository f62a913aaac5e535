// Rights on one object, for callers who are not superuser: the list first, then exactly one mode class.

import AccessControl
import DirectoryModes

extension Judge {
  /// Decides about rights on one object; `removal` is the verdict that already granted `delete`, if one did.
  func rights(_ asked: Rights, on item: Item, after removal: Verdict? = nil) -> Verdict {
    let standing = standing(towards: item)
    var asked = asked
    // The one right nobody can take from an owner. With the right to take ownership it need not be asked.
    if standing.isOwner == .member || asked.contains(.takeOwnership) { asked.remove(.writeSecurity) }
    guard !asked.isEmpty else { return .allowed(.ownership) }
    var left = asked
    // Who is not known to own it might.
    var hinges = standing.isOwner == .unknown
    if let damage = damageToList(of: item) {
      return .refused(.damaged, damage, hingesOnUnread: hinges)
    }
    if let list = usableList(of: item) {
      let scan = list.scan(for: asked, by: standing)
      hinges = hinges || scan.hingesOnUnread
      switch scan.outcome {
      case .denied(let index):
        return .refused(.accessDenied, .entry(index: index), hingesOnUnread: hinges)
      case .allowed(let index):
        return .allowed(.entry(index: index))
      case .deferred:
        left = scan.left
      }
    }
    if let removal {
      left.remove(.delete)
      guard !left.isEmpty else { return removal }
    }
    if standing.isOwner == .member { left.remove(.writeAttributes) }
    guard !left.isEmpty else { return .allowed(.ownership) }
    let unbacked = left.intersection([.takeOwnership, .writeSecurity])
    guard unbacked.isEmpty else {
      return .refused(.accessDenied, .noEntryGrants(unbacked), hingesOnUnread: hinges)
    }
    return modeBits(left, of: item, standing, hinges: hinges)
  }

  /// Exactly one class decides: owner, else group, else other.
  ///
  /// A standing that is not known is answered to the caller's disadvantage: being the owner or in the group
  /// then counts only where that class refuses.
  private func modeBits(_ left: Rights, of item: Item, _ standing: Standing, hinges: Bool) -> Verdict {
    let need = Judge.modeNeed(of: left)
    guard need != 0 else { return .allowed(.freeToAll) }
    let bits = item.mode.bits
    func verdict(_ name: ModeClass, _ shift: UInt16, hinges: Bool) -> Verdict {
      if (bits >> shift) & need == need { return .allowed(.modeBits(name, asked: left)) }
      return .refused(.accessDenied, .modeBits(name, asked: left), hingesOnUnread: hinges)
    }
    let asOwner = verdict(.owner, 6, hinges: hinges)
    if standing.isOwner == .member || (standing.isOwner == .unknown && !asOwner.isAllowed) {
      return asOwner
    }
    let groupIsUnknown = standing.isInOwningGroup == .unknown
    let asGroup = verdict(.group, 3, hinges: hinges || groupIsUnknown)
    if standing.isInOwningGroup == .member || (groupIsUnknown && !asGroup.isAllowed) {
      return asGroup
    }
    return verdict(.other, 0, hinges: hinges || groupIsUnknown)
  }

  /// The mode bits that stand for rights; rights without any are everybody's.
  private static func modeNeed(of rights: Rights) -> UInt16 {
    var need: UInt16 = 0
    if !rights.isDisjoint(with: [.read, .readExtended]) { need |= 4 }
    if !rights.isDisjoint(with: [.write, .append, .deleteChild, .writeAttributes, .writeExtended]) {
      need |= 2
    }
    if rights.contains(.execute) { need |= 1 }
    return need
  }

  /// Removing or renaming `item`: its own list, then the parent's, then the parent's mode, then sticky.
  func removal(of item: Item, from parent: Item) -> Verdict {
    let own = standing(towards: item)
    var hinges = own.isOwner == .unknown
    if let damage = damageToList(of: item) {
      return .refused(.damaged, damage, hingesOnUnread: hinges)
    }
    if let list = usableList(of: item) {
      let scan = list.scan(for: .delete, by: own)
      hinges = hinges || scan.hingesOnUnread
      switch scan.outcome {
      case .denied(let index):
        return .refused(.accessDenied, .entry(index: index), hingesOnUnread: hinges)
      case .allowed(let index): return .allowed(.entry(index: index))
      case .deferred: break
      }
    }
    if let damage = damageToList(of: parent) {
      return .refused(.damaged, damage, on: .parent, hingesOnUnread: hinges)
    }
    let above = standing(towards: parent)
    hinges = hinges || above.isOwner == .unknown
    if let list = usableList(of: parent) {
      let scan = list.scan(for: .deleteChild, by: above)
      hinges = hinges || scan.hingesOnUnread
      switch scan.outcome {
      case .denied(let index):
        return .refused(.accessDenied, .entry(index: index), on: .parent, hingesOnUnread: hinges)
      case .allowed(let index): return .allowed(.entry(index: index), on: .parent)
      case .deferred: break
      }
    }
    let writable = modeBits(.deleteChild, of: parent, above, hinges: hinges).on(.parent)
    guard writable.isAllowed else { return writable }
    guard let capability = stickyBit(of: parent, protects: item) else { return writable }
    // Which of the two capabilities a removal takes depends on what refuses: here it is this one alone.
    let privilege = Privilege(capability)
    let standing = holds(privilege, towards: item, and: parent)
    guard standing != .member else { return writable }
    return refused(
      .refused(.accessDenied, .sticky, on: .parent, hingesOnUnread: hinges), unlessWith: privilege, standing)
  }
}
