// What lifts a refusal: root's capabilities, or for administrators by group their group.
//
// User 0 is decided about as any other user first; only a refusal that privilege would lift makes it worth knowing
// which capabilities there are. Whether that is so a verdict says (`hingesOnUnread`), for groups and capabilities alike.

import AccessControl
import DirectoryModes
import FlagRules

/// What of root's power it takes to lift a refusal.
struct Privilege {
  /// Each of these is needed.
  var capabilities: CapabilitySet = []
  /// And what Linux takes for these rights.
  var rights: Rights = []
  var onDirectory = false

  /// What is missing of it.
  func lacking(in held: CapabilitySet) -> CapabilitySet {
    held.lacking(for: rights, onDirectory: onDirectory).union(capabilities.subtracting(held))
  }
}

extension Judge {
  /// Root with the capabilities it takes, and towards items outside the system domain a member of the administrators'
  /// group.
  ///
  /// A removal takes that standing towards both the item and its parent.
  func holds(_ privilege: Privilege, towards item: Item, and parent: Item? = nil) -> Membership {
    guard subject.user != 0 else { return isRoot(with: privilege) }
    guard let group = rules.adminGroup, item.isOutsideSystemDomain, parent?.isOutsideSystemDomain ?? true
    else { return .notMember }
    return subject.membership(of: group)
  }

  /// The reason for what privilege allows.
  var privileged: Reason {
    guard subject.user != 0, let group = rules.adminGroup else { return .superuser }
    return .administrator(group)
  }

  /// Whether this is root itself, with the capabilities it takes.
  func isRoot(with privilege: Privilege) -> Membership {
    subject.isRoot { privilege.lacking(in: $0).isEmpty }
  }

  /// A refusal that privilege would have lifted, with what is known of that privilege.
  func refused(_ verdict: Verdict, unlessWith privilege: Privilege, _ standing: Membership) -> Verdict {
    guard !verdict.isAllowed else { return verdict }
    var verdict = verdict
    if standing == .unknown { verdict.hingesOnUnread = true }
    if subject.user == 0 {
      verdict.rootLimit = subject.capabilities.map { .lacks(privilege.lacking(in: $0)) } ?? .unknown
    }
    return verdict
  }

  /// The same for a refusal with EPERM that root is spared, and towards `item` administrators are.
  func notPermitted(
    _ reason: Reason, unlessWith capability: CapabilitySet, towards item: Item? = nil,
    hingesOnUnread: Bool = false
  ) -> Verdict? {
    let privilege = Privilege(capabilities: capability)
    let standing = item.map { holds(privilege, towards: $0) } ?? isRoot(with: privilege)
    guard standing != .member else { return nil }
    return refused(
      .refused(.notPermitted, reason, hingesOnUnread: hingesOnUnread), unlessWith: privilege, standing)
  }

  /// Whether a directory's sticky bit keeps the caller from removing an item, if not for `fowner`.
  func stickyBit(of parent: Item, protects item: Item) -> Bool {
    parent.mode.isSticky && standing(towards: item).isOwner != .member
      && standing(towards: parent).isOwner != .member
  }
}

extension Item {
  /// Flags that cannot be read may be flags of the system domain.
  fileprivate var isOutsideSystemDomain: Bool {
    record != .damaged && flags.isDisjoint(with: .systemDomain)
  }
}
