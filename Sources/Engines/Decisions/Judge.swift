// The check every operation is made of: one object, some rights, and for a removal the parent.
//
// The order is the kernel's of macOS: read-only volume, noexec, flags, superuser, list, mode bits; last comes the form
// of the content. A higher line's error wins, so an unprivileged write to an immutable file on a read-only volume is
// EROFS.

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
  /// `capabilities`: all it takes of root, in place of what stands for these rights.
  package func check(
    _ item: Item, _ asked: Rights, removingFrom parent: Item? = nil,
    unlessWith capabilities: CapabilitySet? = nil
  ) -> Verdict {
    let verdict = decide(item, asked, removingFrom: parent, unlessWith: capabilities)
    return refusingForeignContent(verdict, of: item, asked, removingFrom: parent)
  }

  private func decide(
    _ item: Item, _ asked: Rights, removingFrom parent: Item?, unlessWith capabilities: CapabilitySet?
  ) -> Verdict {
    let changes = asked.intersection(.modifying)
    if rules.isReadOnly, !changes.isEmpty, !item.takesWithoutKeeping(changes) {
      return .refused(.readOnly, .readOnlyVolume)
    }
    if asked.contains(.execute), item.kind == .file, rules.forbidsExecution {
      return .refused(.accessDenied, .executionForbidden)
    }
    if let parent, parent.record == .damaged {
      return .refused(.damaged, .damagedRecord, on: .parent)
    }
    if item.record == .damaged, !asked.isSubset(of: Judge.harmlessOnDamaged) {
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
    let privilege =
      capabilities.map { Privilege($0) }
      ?? Privilege(for: rest, on: item, and: parent.flatMap { stickyBit(of: $0, protects: item) } ?? [])
    let standing = holds(privilege, towards: item, and: parent)
    // A file without any x bit is nothing root runs, though an entry may let others. Whoever might turn out
    // to be root or an administrator is held to both.
    if standing != .notMember, rest.contains(.execute), item.kind == .file, !item.mode.hasAnyExecute {
      return .refused(.accessDenied, .noExecuteBit, hingesOnUnread: standing == .unknown)
    }
    if standing == .member { return .allowed(.superuser) }
    return refused(ordinary(rest, on: item, removingFrom: parent), unlessWith: privilege, standing)
  }

  /// Decides without any privilege.
  private func ordinary(_ rest: Rights, on item: Item, removingFrom parent: Item?) -> Verdict {
    guard let parent else { return rights(rest, on: item) }
    let removal = removal(of: item, from: parent)
    guard removal.isAllowed, rest != .delete else { return removal }
    return rights(rest, on: item, after: removal)
  }

  /// What may still be asked of an object whose record is unreadable: being looked at.
  ///
  /// Not the names in a directory: a bit of the record may say that they are not its names.
  private static let harmlessOnDamaged: Rights = [.readAttributes, .readSecurity, .synchronize]

  /// How the caller stands to `item`, with "ignore ownership" and the unknown user 99 applied.
  package func standing(towards item: Item) -> Standing {
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

  func usableList(of item: Item) -> AccessList? {
    rules.usesLists ? item.list : nil
  }

  /// Why the list that would be asked cannot be read.
  func damageToList(of item: Item) -> Reason? {
    guard rules.usesLists else { return nil }
    return switch item.record {
    case .sound: nil
    case .damagedList: .damagedList
    case .damaged: .damagedRecord
    }
  }
}

extension Item {
  /// Whether `changes` are no more than data handed to whoever reads at the other end.
  fileprivate func takesWithoutKeeping(_ changes: Rights) -> Bool {
    kind == .special && changes.isSubset(of: [.write, .append])
  }
}
