// The supplementary groups of a caller. Not knowing them is an answer too, and never a generous one.

import AccessControl
import LinuxFiles

/// Reads groups from the calling thread, or from the user database.
struct GroupReader: Sendable {
  private let live: LiveOptions
  let nesting: GroupNesting

  init(live: LiveOptions, nesting: GroupNesting) {
    self.live = live
    self.nesting = nesting
  }

  /// The caller with groups, or with the statement that they cannot be read.
  func subject(of caller: Caller) -> Subject {
    var subject = Subject(user: caller.user, group: caller.group, groups: .unreadable)
    guard let direct = directGroups(of: caller) else { return subject }
    subject.groups = .listed(nesting.expanded([caller.group] + direct))
    return subject
  }

  /// Somebody with just these groups, whatever any account says.
  func assumed(user: UInt32, group: UInt32, groups: [UInt32]) -> Subject {
    let all = groups.contains(group) ? groups : [group] + groups
    return Subject(user: user, group: group, groups: .listed(nesting.expanded(all)))
  }

  /// Somebody whose own groups are known, such as the peer of a socket; `nil`: they could not be found out.
  func subject(user: UInt32, group: UInt32, groups: [UInt32]?) -> Subject {
    let direct = live.current.groups == .nss ? Accounts.groups.value(user, RequestPatience()) : groups
    guard let direct else { return Subject(user: user, group: group, groups: .unreadable) }
    return Subject(user: user, group: group, groups: .listed(nesting.expanded([group] + direct)))
  }

  private func directGroups(of caller: Caller) -> [UInt32]? {
    switch live.current.groups {
    case .nss:
      // Asked for before the request began (`Volume.knowsGroups`): a lock may be held here.
      return Accounts.groups.lastKnown(caller.user)
    case .process:
      // Thread 0: a caller outside our process namespace, or the kernel itself.
      guard caller.thread > 0,
        let credentials = ProcessGroups.credentials(ofThread: caller.thread)
      else { return nil }
      // The number may belong to another thread by now, if ours was killed while it waited.
      guard credentials.canHaveAsked(user: caller.user, group: caller.group) else { return nil }
      return credentials.groups
    }
  }
}
