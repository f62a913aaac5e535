// Who is asking, and what is known of the caller's groups and capabilities.

/// The caller of an operation: effective uid, effective gid, the supplementary groups, and the capabilities of root.
package struct Subject: Hashable, Sendable {
  /// The supplementary groups, as far as they are known.
  package enum Groups: Hashable, Sendable {
    /// Not read yet, and capabilities neither. A verdict that could turn on either says so, and can be asked again.
    case unread
    /// They could not be read: every open question is answered to the caller's disadvantage.
    case unreadable
    case listed([UInt32])
  }

  package var user: UInt32
  package var group: UInt32
  package var groups: Groups
  /// Nil if they were not read, or could not be.
  ///
  /// They count for user 0 only: without them it is a user like any other.
  package var capabilities: CapabilitySet?

  package init(user: UInt32, group: UInt32, groups: Groups, capabilities: CapabilitySet?) {
    self.user = user
    self.group = group
    self.groups = groups
    self.capabilities = capabilities
  }

  /// The caller as the kernel names it, before anything else was read.
  package init(unreadUser user: UInt32, group: UInt32) {
    self.init(user: user, group: group, groups: .unread, capabilities: nil)
  }

  /// Whether this is user 0 with capabilities that are enough; unknown as long as its capabilities are.
  package func isRoot(_ isEnough: (CapabilitySet) -> Bool) -> Membership {
    guard user == 0 else { return .notMember }
    guard let capabilities else { return .unknown }
    return isEnough(capabilities) ? .member : .notMember
  }

  /// Whether this is user 0 with one of these capabilities, as far as that is known.
  package func isRoot(withAnyOf wanted: CapabilitySet) -> Bool {
    isRoot { !$0.isDisjoint(with: wanted) } == .member
  }

  /// Whether the caller is in `gid`.
  package func membership(of gid: UInt32) -> Membership {
    if gid == group { return .member }
    return switch groups {
    case .listed(let all): all.contains(gid) ? .member : .notMember
    case .unread, .unreadable: .unknown
    }
  }

  /// One bit for each group the caller may be in, by the last six bits of its number.
  ///
  /// Most group entries are about groups the caller is not in, and a missing bit says so without a search. A
  /// walk over 16 entries by a caller with 5 groups takes half the time (`EngineBenchmark`).
  var groupBits: UInt64 {
    guard case .listed(let all) = groups else { return .max }
    return all.reduce(Subject.bit(of: group)) { $0 | Subject.bit(of: $1) }
  }

  static func bit(of gid: UInt32) -> UInt64 { 1 << UInt64(gid & 63) }
}

/// The answer to "is the caller in this group".
///
/// Public for the reason given at `Rights`.
public enum Membership: Hashable, Sendable {
  case member
  case notMember
  case unknown
}

/// How the caller stands to one object: what an entry's identity is compared with.
package struct Standing: Sendable {
  package var subject: Subject
  package var isOwner: Membership
  package var isInOwningGroup: Membership

  package init(subject: Subject, isOwner: Membership, isInOwningGroup: Membership) {
    self.subject = subject
    self.isOwner = isOwner
    self.isInOwningGroup = isInOwningGroup
  }

  /// Whether an entry about `identity` is about the caller; `likelyGroups` are the subject's `groupBits`.
  func matches(_ identity: Identity, likelyGroups: UInt64) -> Membership {
    switch identity {
    case .user(let uid): uid == subject.user ? .member : .notMember
    case .group(let gid) where likelyGroups & Subject.bit(of: gid) == 0: .notMember
    case .group(let gid): subject.membership(of: gid)
    case .everyone: .member
    case .owner: isOwner
    case .owningGroup: isInOwningGroup
    case .nobody: .notMember
    }
  }
}
