// What FUSE does not tell of a caller: its supplementary groups, and which of root's capabilities it has. Not knowing
// them is an answer too, and never a generous one.

package import AccessControl
package import LinuxFiles

/// Reads groups from the calling thread, or from the user database, and capabilities from the thread.
struct CredentialReader {
  private let live: LiveOptions
  let nesting: GroupNesting

  init(live: LiveOptions, nesting: GroupNesting) {
    self.live = live
    self.nesting = nesting
  }

  /// The caller with groups and capabilities, or with the statement that they cannot be read.
  func subject(of caller: Caller) -> Subject {
    let isNeeded = live.current.groups == .process || caller.user == 0
    let thread = isNeeded ? credentials(of: caller) : nil
    // The database is asked before the request begins (`Volume.knowsGroups`): a lock may be held here.
    let groups = live.current.groups == .nss ? Accounts.groups.lastKnown(caller.user) : thread?.groups
    return made(
      user: caller.user, group: caller.group, groups: groups, capabilities: thread?.capabilities)
  }

  /// A caller with just these groups, whatever any account says; if it is root, with all capabilities.
  func assumed(user: UInt32, group: UInt32, groups: [UInt32]) -> Subject {
    let all = groups.contains(group) ? groups : [group] + groups
    return Subject(
      user: user, group: group, groups: .listed(nesting.expanded(all)), capabilities: .all)
  }

  /// A caller whose own groups and capabilities were read, as those of the peer of a socket; `nil`: they could not be.
  func subject(user: UInt32, group: UInt32, groups: [UInt32]?, capabilities: UInt64?) -> Subject {
    let direct = live.current.groups == .nss ? Accounts.groups.value(user, RequestPatience()) : groups
    return made(user: user, group: group, groups: direct, capabilities: capabilities)
  }

  private func made(user: UInt32, group: UInt32, groups: [UInt32]?, capabilities: UInt64?) -> Subject {
    Subject(
      user: user, group: group,
      groups: groups.map { .listed(nesting.expanded([group] + $0)) } ?? .unreadable,
      capabilities: capabilities.map { CapabilitySet(rawValue: $0) })
  }

  private func credentials(of caller: Caller) -> ThreadCredentials? {
    // Thread 0: a caller outside our process namespace, or the kernel itself.
    guard caller.thread > 0,
      let credentials = ProcessCredentials.credentials(
        ofThread: caller.thread, withCapabilities: caller.user == 0)
    else { return nil }
    // The number may belong to another thread by now, if ours was killed while it waited. And what the kernel does for
    // a caller in another's name, as overlayfs does, says nothing of that other's groups and capabilities.
    guard credentials.canHaveAsked(user: caller.user, group: caller.group) else { return nil }
    return credentials
  }
}

extension Volume {
  /// The peer of a socket, with nested groups.
  package func subject(of peer: SocketPeer) -> Subject {
    gate.credentials.subject(
      user: peer.user, group: peer.group, groups: peer.groups, capabilities: peer.capabilities)
  }

  /// A user as a question describes them, with the nested groups; root as one with all capabilities.
  package func assumed(user: UInt32, group: UInt32, groups: [UInt32]) -> Subject {
    gate.credentials.assumed(user: user, group: group, groups: groups)
  }
}

extension Subject {
  /// Whether this is root with a capability by which it reads everything anyway.
  var readsAllRules: Bool { isRoot(withAnyOf: [.dacOverride, .dacReadSearch]) }
}
