// The check every operation is made of: one object, some rights, and for a removal the parent.
//
// The order is the kernel's of macOS: read-only volume, noexec, flags, superuser, list, mode bits; last comes the form
// of the content. A higher line's error wins, so an unprivileged write to an immutable file on a read-only volume is
// EROFS.
//
// For every request, `varve why` and dry runs alike: small worlds are decided exhaustively against a slow reference, and
// random ones by properties (`DecisionTests`, `ModelTests`).

package import AccessControl
import DirectoryModes
import FlagRules

/// Decides for one caller on one volume.
package struct Judge: Sendable {
  package let rules: VolumeRules
  package let subject: Subject

  package init(rules: VolumeRules, subject: Subject) {
    self.rules = rules
    self.subject = subject
  }

  /// Decides about `asked` on `item`; with `parent`, `asked` contains `delete`.
  ///
  /// `capabilities`: all it takes of root, in place of what stands for these rights. Content in a form that this version
  /// cannot read or write is refused here, to root as well; of an open handle it is asked again when bytes change.
  func check(
    _ item: Item, _ asked: Rights, removingFrom parent: Item? = nil,
    unlessWith capabilities: CapabilitySet? = nil
  ) -> Verdict {
    let verdict = checkRights(item, asked, removingFrom: parent, unlessWith: capabilities)
    guard verdict.isAllowed else { return verdict }
    if let reason = item.unreadableContent, !asked.isDisjoint(with: [.read, .write, .append, .execute]) {
      return .refused(.unsupported, reason)
    }
    if let reason = parent?.unreadableContent { return .refused(.unsupported, reason, on: .parent) }
    return verdict
  }

  private func checkRights(
    _ item: Item, _ asked: Rights, removingFrom parent: Item?, unlessWith capabilities: CapabilitySet?
  ) -> Verdict {
    let changes = asked.intersection(.modifying)
    // Data for a FIFO is only handed to the reader at the other end.
    let keepsNothing = item.kind == .special && changes.isSubset(of: [.write, .append])
    if rules.isReadOnly, !changes.isEmpty, !keepsNothing { return .refused(.readOnly, rules.readOnlyReason) }
    if asked.contains(.execute), item.kind == .file, rules.forbidsExecution {
      return .refused(.accessDenied, .executionForbidden)
    }
    if let parent, parent.record == .damaged { return .refused(.damaged, .damagedRecord, on: .parent) }
    // It can still be looked at. Not the names in it: a bit of the record may say that they are not its names.
    if item.record == .damaged, !asked.isSubset(of: [.readAttributes, .readSecurity, .synchronize]) {
      return .refused(.damaged, .damagedRecord)
    }
    // Flags have no say about writing into a FIFO. The right to do so is still asked for below.
    let flagged = item.kind == .special ? asked.subtracting(.write) : asked
    if let flag = item.flags.forbidding(flagged, onDirectory: item.isDirectory) {
      return .refused(.notPermitted, .flag(flag))
    }
    if let parent, let flag = parent.flags.forbidding(.deleteChild, onDirectory: true) {
      return .refused(.notPermitted, .flag(flag), on: .parent)
    }
    let rest = asked.subtracting([.linkTarget, .checkImmutable, .ignoringFlags])
    guard !rest.isEmpty else { return .allowed(.nothingAsked) }
    var privilege = Privilege(rights: rest, onDirectory: item.isDirectory)
    if let capabilities { privilege = Privilege(capabilities: capabilities) }
    if let parent, stickyBit(of: parent, protects: item) { privilege.capabilities.insert(.fowner) }
    let standing = holds(privilege, towards: item, and: parent)
    // A file without any x bit is nothing root runs, though an entry may let others. A caller who might turn out
    // to be root or an administrator is held to both.
    if standing != .notMember, rest.contains(.execute), item.kind == .file, !item.mode.hasAnyExecute {
      return .refused(.accessDenied, .noExecuteBit, hingesOnUnread: standing == .unknown)
    }
    if standing == .member { return .allowed(privileged) }
    guard let parent else { return refused(rights(rest, on: item), unlessWith: privilege, standing) }
    var verdict = removal(of: item, from: parent)
    if verdict.isAllowed, rest != .delete { verdict = rights(rest, on: item, after: verdict) }
    return refused(verdict, unlessWith: privilege, standing)
  }

  /// How the caller stands to `item`, with "ignore ownership" and the unknown user 99 applied.
  func standing(towards item: Item) -> Standing {
    let isOwner: Membership
    if rules.ignoresOwnership || (item.user == UnknownID.number && item.ownerGroup == nil) {
      isOwner = .member
    } else if let group = item.ownerGroup {
      isOwner = subject.membership(of: group)
    } else {
      isOwner = item.user == subject.user ? .member : .notMember
    }
    let isOwnersGroup = rules.ignoresOwnership || item.group == UnknownID.number
    return Standing(
      subject: subject, isOwner: isOwner,
      isInOwningGroup: isOwnersGroup ? .member : subject.membership(of: item.group))
  }
}

extension Item {
  /// Why nobody gets at the bytes as they are stored.
  ///
  /// Links and special files have no content of their own that could be stored in another form.
  var unreadableContent: Reason? {
    switch content {
    case .foreign: kind == .file || isDirectory ? .foreignContent : nil
    case .replacing: kind == .file ? .replacedContent : nil
    case .plain, .protected, .protecting, .compressed: nil
    }
  }
}
