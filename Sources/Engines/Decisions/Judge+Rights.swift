// Rights on one object, for callers who are not superuser: the list first, then exactly one mode class.

import AccessControl
import DirectoryModes

extension Judge {
  /// Decides about rights on one object; `removal` is the verdict that already granted `delete`, if one did.
  func rights(_ asked: Rights, on item: Item, after removal: Verdict? = nil) -> Verdict {
    let standing = standing(towards: item)
    var left = asked
    // The one right nobody can take from an owner. With the right to take ownership it need not be asked.
    if standing.isOwner == .member || asked.contains(.takeOwnership) { left.remove(.writeSecurity) }
    guard !left.isEmpty else { return .allowed(.ownership) }
    var hinges = false
    if let verdict = askList(of: item, &left, standing, &hinges) { return verdict }
    if let removal {
      left.remove(.delete)
      guard !left.isEmpty else { return removal }
    }
    if standing.isOwner == .member { left.remove(.writeAttributes) }
    guard !left.isEmpty else { return .allowed(.ownership) }
    let unbacked = left.intersection([.takeOwnership, .writeSecurity])
    if !unbacked.isEmpty { return .refused(.accessDenied, .noEntryGrants(unbacked), hingesOnUnread: hinges) }
    return modeBits(left, of: item, standing, hinges: hinges)
  }

  /// Removing or renaming `item`: its own list, then the parent's, then the parent's mode, then sticky.
  func removal(of item: Item, from parent: Item) -> Verdict {
    var (own, above) = (Rights.delete, Rights.deleteChild)
    var hinges = false
    if let verdict = askList(of: item, &own, standing(towards: item), &hinges) { return verdict }
    let standing = standing(towards: parent)
    if let verdict = askList(of: parent, &above, standing, &hinges) { return verdict.on(.parent) }
    let writable = modeBits(.deleteChild, of: parent, standing, hinges: hinges).on(.parent)
    guard writable.isAllowed, stickyBit(of: parent, protects: item) else { return writable }
    // Which of the two capabilities a removal takes depends on what refuses: here it is this one alone.
    let privilege = Privilege(capabilities: .fowner)
    let held = holds(privilege, towards: item, and: parent)
    guard held != .member else { return writable }
    return refused(
      .refused(.accessDenied, .sticky, on: .parent, hingesOnUnread: hinges), unlessWith: privilege, held)
  }

  /// What the list of an object says; `nil` where it leaves some of the rights open, which are then in `asked`.
  private func askList(
    of item: Item, _ asked: inout Rights, _ standing: borrowing Standing, _ hinges: inout Bool
  ) -> Verdict? {
    // Who is not known to own it might.
    if standing.isOwner == .unknown { hinges = true }
    if let damage = damageToUsedList(of: item) { return .refused(.damaged, damage, hingesOnUnread: hinges) }
    guard rules.usesLists, let list = item.list else { return nil }
    let scan = list.scan(for: asked, by: standing)
    if scan.hingesOnUnread { hinges = true }
    switch scan.outcome {
    case .denied(let index): return .refused(.accessDenied, .entry(index: index), hingesOnUnread: hinges)
    case .allowed(let index): return .allowed(.entry(index: index))
    case .deferred:
      asked = scan.left
      return nil
    }
  }

  /// Why a list that is asked or handed down cannot be read.
  func damageToUsedList(of item: Item) -> Reason? { rules.usesLists ? item.damageToList : nil }

  /// Exactly one class decides: owner, else group, else other.
  ///
  /// A standing that is not known is answered to the caller's disadvantage: being the owner or in the group
  /// then counts only where that class refuses.
  private func modeBits(_ left: Rights, of item: Item, _ standing: Standing, hinges: Bool) -> Verdict {
    let need = Judge.modeNeed(of: left)
    guard need != 0 else { return .allowed(.freeToAll) }
    let bits = item.mode.bits
    func verdict(_ name: ModeClass, hinges: Bool) -> Verdict {
      if (bits >> name.rawValue) & need == need { return .allowed(.modeBits(name, asked: left)) }
      return .refused(.accessDenied, .modeBits(name, asked: left), hingesOnUnread: hinges)
    }
    let asOwner = verdict(.owner, hinges: hinges)
    if standing.isOwner == .member || (standing.isOwner == .unknown && !asOwner.isAllowed) { return asOwner }
    let groupIsUnknown = standing.isInOwningGroup == .unknown
    let asGroup = verdict(.group, hinges: hinges || groupIsUnknown)
    if standing.isInOwningGroup == .member || (groupIsUnknown && !asGroup.isAllowed) { return asGroup }
    return verdict(.other, hinges: hinges || groupIsUnknown)
  }

  /// The mode bits that stand for rights; rights without any are everybody's.
  static func modeNeed(of rights: Rights) -> UInt16 {
    var need: UInt16 = 0
    if !rights.isDisjoint(with: [.read, .readExtended]) { need |= 4 }
    if !rights.isDisjoint(with: [.write, .append, .deleteChild, .writeAttributes, .writeExtended]) {
      need |= 2
    }
    if rights.contains(.execute) { need |= 1 }
    return need
  }
}
