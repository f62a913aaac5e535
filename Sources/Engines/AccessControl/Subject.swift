// Who is asking, and what is known about the groups of whoever asks.

/// The caller of an operation: effective uid, effective gid and the supplementary groups.
package struct Subject: Hashable, Sendable {
  /// The supplementary groups, as far as they are known.
  package enum Groups: Hashable, Sendable {
    /// Nobody looked yet. A verdict that could turn on them says so, and can be asked again.
    case unread
    /// They could not be read: every open question is answered to the caller's disadvantage.
    case unreadable
    case listed([UInt32])
  }

  package var user: UInt32
  package var group: UInt32
  package var groups: Groups

  package init(user: UInt32, group: UInt32, groups: Groups) {
    self.user = user
    self.group = group
    self.groups = groups
  }

  package var isRoot: Bool { user == 0 }

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
