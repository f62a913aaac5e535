// The check every operation is made of: one object, some rights, and for a removal the parent.
//
// The order is the kernel's of macOS: read-only volume, noexec, flags, superuser, list, mode bits. A higher
// line's error wins, so an unprivileged write to an immutable file on a read-only volume is EROFS.

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
  package func check(_ item: Item, _ asked: Rights, removingFrom parent: Item? = nil) -> Verdict {
    let changes = asked.intersection(.modifying)
    if !changes.isEmpty, rules.isReadOnly, item.kind != .special || changes.contains(.delete) {
      return .refused(.readOnly, .readOnlyVolume)
    }
    if asked.contains(.execute), item.kind == .file, rules.forbidsExecution {
      return .refused(.accessDenied, .executionForbidden)
    }
    if let parent, parent.record == .damaged {
      return .refused(.damaged, .damagedRecord, on: .parent)
    }
    if item.record == .damaged, !asked.isSubset(of: Judge.harmlessOnDamaged(item)) {
      return .refused(.damaged, .damagedRecord)
    }
    // Writing into a FIFO or device changes nothing on disk: its flags do not stand against that.
    let guarded = item.kind == .special ? asked.subtracting(.write) : asked
    if let flag = item.flags.forbidding(guarded, onDirectory: item.isDirectory) {
      return .refused(.notPermitted, .flag(flag))
    }
    if let parent, let flag = parent.flags.forbidding(.deleteChild, onDirectory: true) {
      return .refused(.notPermitted, .flag(flag), on: .parent)
    }
    let asked = asked.subtracting([.linkTarget, .checkImmutable, .ignoringFlags])
    guard !asked.isEmpty else { return .allowed(.nothingAsked) }
    if isSuperuser(towards: item), parent.map(isSuperuser) ?? true {
      if asked.contains(.execute), item.kind == .file, !item.mode.hasAnyExecute {
        return .refused(.accessDenied, .noExecuteBit)
      }
      return .allowed(.superuser)
    }
    var granted: Rights = []
    if let parent {
      let removal = removal(of: item, from: parent)
      guard removal.isAllowed, asked != .delete else { return removal }
      granted = .delete
    }
    return rights(asked, on: item, granted: granted)
  }

  /// What may still be asked of an object whose record is unreadable: being listed and looked at.
  private static func harmlessOnDamaged(_ item: Item) -> Rights {
    let looking: Rights = [.readAttributes, .readSecurity, .synchronize]
    return item.isDirectory ? looking.union([.list, .search]) : looking
  }

  /// Whether the caller is bound by flags only.
  package func isSuperuser(towards item: Item) -> Bool {
    if subject.isRoot { return true }
    guard let group = rules.adminGroup else { return false }
    return subject.membership(of: group) == .member && item.flags.isDisjoint(with: .systemDomain)
  }

  /// How the caller stands to `item`, with "ignore ownership" and the unknown user 99 applied.
  package func standing(towards item: Item) -> Standing {
    let isOwner: Membership
    if rules.ignoresOwnership || (item.user == Judge.unknownID && item.ownerGroup == nil) {
      isOwner = .member
    } else if let group = item.ownerGroup {
      isOwner = subject.membership(of: group)
    } else {
      isOwner = item.user == subject.user ? .member : .notMember
    }
    let isOwnersGroup = rules.ignoresOwnership || item.group == Judge.unknownID
    return Standing(
      subject: subject, isOwner: isOwner,
      isInOwningGroup: isOwnersGroup ? .member : subject.membership(of: item.group))
  }

  /// The id macOS keeps for "unknown": whoever looks is its owner.
  private static let unknownID: UInt32 = 99

  /// Whether reading the caller's groups could turn a refusal about this item.
  var adminIsUnknown: Bool {
    guard let group = rules.adminGroup, !subject.isRoot else { return false }
    return subject.membership(of: group) == .unknown
  }

  func usableList(of item: Item) -> AccessList? {
    rules.usesLists ? item.list : nil
  }
}
