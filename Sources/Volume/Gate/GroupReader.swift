// The supplementary groups of a caller. Not knowing them is an answer too, and never a generous one.

import AccessControl
import LinuxFiles

/// Reads groups from the calling thread, or from the user database.
struct GroupReader: Sendable {
  let source: GroupSource
  let nesting: GroupNesting

  init(source: GroupSource, nesting: GroupNesting) {
    self.source = source
    self.nesting = nesting
  }

  /// The caller with groups, or with the statement that they cannot be read.
  func subject(of caller: Caller) -> Subject {
    var subject = Subject(user: caller.user, group: caller.group, groups: .unreadable)
    guard let direct = directGroups(of: caller) else { return subject }
    subject.groups = .listed(nesting.expanded([caller.group] + direct))
    return subject
  }

  private func directGroups(of caller: Caller) -> [UInt32]? {
    switch source {
    case .nss:
      return Accounts.groups.value(caller.user, RequestPatience())
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
