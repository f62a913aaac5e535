// The reason of a verdict, in words and in parts: for `varve why`, for the list of denials, for the audit log.

package import AccessControl
import DirectoryModes
import FlagRules

/// What a verdict names: a rule, and what of the object it rests on.
///
/// Names of accounts are looked up when the words are made: not on a request's path.
package struct ToldReason: Hashable, Sendable {
  /// One word for the rule, for programs.
  package let code: String
  /// For people: what the verdict rests on, as in "by its mode (group r-x)".
  package var words: String
  /// The number of the entry that decided.
  package private(set) var entry: Int?
  package private(set) var entryText: String?

  /// Puts a verdict into words; `item` is the object it speaks about, `nil` if the asker may not read its rules.
  ///
  /// `whose` says whose list, mode or flag it is.
  /// `wayInto`: the group by whose membership in another the caller is in that.
  package init(
    _ verdict: Verdict, about item: Item?, whose: String = "its", names: NameBook,
    wayInto: (UInt32) -> UInt32? = { _ in nil }
  ) {
    if let words = verdict.reason.words(whose) {
      (code, self.words) = (verdict.reason.code, words)
    } else if let item {
      let teller = Teller(item: item, whose: whose, names: names)
      (code, words) = (verdict.reason.code, teller.words(verdict.reason))
      if case .entry(let index) = verdict.reason {
        entry = index
        entryText = teller.text(ofEntry: index)
      }
    } else {
      // One word for all: which of the rules it was tells of mode, owner and flags what the error does not.
      (code, words) = ("unreadable", "by \(whose) rules, which you may not read")
      return
    }
    if let group = item?.group(decidingBy: verdict.reason), let way = wayInto(group) {
      words += "; a member of it by way of \(AccessListText.print(.group(way), names: names))"
    }
    if let limit = verdict.rootLimit { words += "; \(limit.words)" }
  }
}

extension Reason {
  /// The words, if they rest on nothing the object has but what the error number says already.
  fileprivate func words(_ whose: String) -> String? {
    switch self {
    case .nothingAsked: "no right is needed"
    case .readOnlyVolume: "the volume is mounted read-only"
    case .unconfirmedLock: "the lock for writing is not confirmed; 'varve status' says why"
    case .executionForbidden: "the volume is mounted noexec"
    case .damagedRecord: "\(whose) record is damaged"
    case .damagedList: "\(whose) access list is damaged"
    case .deviceNeedsRoot: "only root makes devices"
    case .linkToDirectory: "a directory has one name only"
    case .foreignContent: "\(whose) content is stored in a form that this version cannot read or write"
    case .replacedContent: "\(whose) content is being replaced"
    case .encryptedContent: "\(whose) content is encrypted, and what is encrypted is not compressed"
    case .noKeybag: "the volume has no keyslot yet; `varve key slot add` makes the first"
    case .unmarked:
      "its content is encrypted, and its record does not say so; only root may read such a copy, until 'varve fsck --repair' marks it"
    case .locked(let protection): "class \(protection.word) is locked; `varve unlock` opens it"
    case .protectingDirectory:
      "what is moved or linked into an encrypted directory keeps its form; copy it there to have it encrypted"
    case .shownNames: "items cannot be made, moved or removed in a view; use the real path"
    case .obstacle(let obstacle): obstacle.words
    default: nil
    }
  }
}

extension Reason {
  /// One word for programs; it does not change.
  package var code: String {
    switch self {
    case .nothingAsked: "nothing"
    case .superuser: "superuser"
    case .administrator: "administrator"
    case .ownership: "ownership"
    case .freeToAll: "everybody"
    case .entry: "entry"
    case .modeBits: "mode"
    case .readOnlyVolume: "readonly"
    case .unconfirmedLock: "nolock"
    case .executionForbidden: "noexec"
    case .flag: "flag"
    case .noExecuteBit: "noexecutebit"
    case .sticky: "sticky"
    case .noEntryGrants: "noentry"
    case .damagedRecord: "damagedrecord"
    case .damagedList: "damagedlist"
    case .notOwner: "notowner"
    case .giveAway: "giveaway"
    case .notMemberOfGroup: "notmember"
    case .needsRoot: "needsroot"
    case .deviceNeedsRoot: "device"
    case .secureLevel: "securelevel"
    case .linkToDirectory: "linktodirectory"
    case .foreignContent: "content"
    case .replacedContent: "replacing"
    case .encryptedContent: "encrypted"
    case .noKeybag: "nokeybag"
    case .locked: "locked"
    case .unmarked: "unmarked"
    case .protectingDirectory: "protection"
    case .shownNames: "view"
    case .protectedLink: "protectedlink"
    case .sharedOwner: "sharedowner"
    case .obstacle: "fact"
    }
  }
}

extension Item {
  /// The group in which the caller has to be for a reason to be one.
  fileprivate func group(decidingBy reason: Reason) -> UInt32? {
    switch reason {
    case .entry(let index):
      guard let list, list.entries.indices.contains(index) else { return nil }
      return switch list.entries[index].identity {
      case .group(let group): group
      case .owningGroup: group
      case .user, .everyone, .owner, .nobody: nil
      }
    case .modeBits(.group, _): return group
    case .modeBits(.owner, _), .ownership: return ownerGroup
    case .administrator(let group): return group
    default: return nil
    }
  }
}

extension RootLimit {
  fileprivate var words: String {
    switch self {
    case .lacks(let capabilities):
      "user 0 is not root here without \(capabilities.names.joined(separator: ", "))"
    case .unknown: "user 0 is not root here: its capabilities cannot be read"
    }
  }
}

extension ModeClass {
  fileprivate func words(_ mode: Mode) -> String {
    let bits = mode.bits >> rawValue
    return "\(self) \(bits & 4 != 0 ? "r" : "-")\(bits & 2 != 0 ? "w" : "-")\(bits & 1 != 0 ? "x" : "-")"
  }
}

/// Tells what rests on the object.
private struct Teller {
  let item: Item
  let whose: String
  let names: NameBook

  func words(_ reason: Reason) -> String {
    switch reason {
    case .superuser: "root: only flags could stop this"
    case .administrator(let group):
      "by admin_group, as a member of \(text(.group(group))): only flags could stop this"
    case .ownership: "by ownership" + (item.ownerGroup.map { ": the owner is \(text(.group($0)))" } ?? "")
    case .freeToAll: "every user may, and no entry denies it"
    case .entry(let index):
      "by entry \(index) of \(whose) list" + (text(ofEntry: index).map { ": \($0)" } ?? "")
    case .modeBits(let name, _): "by \(whose) mode (\(name.words(item.mode))\(ownerGroup(name)))"
    case .flag(let flags): "by \(whose) flag \(flags.text)"
    case .noExecuteBit: "\(whose) mode has no execute bit"
    case .sticky: "\(whose) mode is sticky; only the owner of the item or of the directory may"
    case .noEntryGrants(let rights):
      "only \(others(besides: rights)) users whom an entry of \(whose) list allows \(text(rights)) may"
    case .notOwner: "only the owner may: \(text(item.ownerGroup.map { .group($0) } ?? .user(item.user)))"
    case .giveAway: "only root can give an item to another user"
    case .notMemberOfGroup(let group):
      "not a member of \(text(.group(group))); only root and members can give an item to a group"
    case .needsRoot(let flags): "only root changes \(flags.text)"
    case .secureLevel(let flags): "the secure level keeps \(whose) flag \(flags.text)"
    case .protectedLink:
      "the file belongs to another user and may not be both read and written (fs.protected_hardlinks)"
    case .sharedOwner: "set-id bits are not for an item whose owner is a group, or is every caller"
    // Told without an object.
    case .nothingAsked, .readOnlyVolume, .unconfirmedLock, .executionForbidden, .damagedRecord, .damagedList,
      .deviceNeedsRoot, .linkToDirectory, .foreignContent, .replacedContent, .encryptedContent, .noKeybag,
      .locked,
      .unmarked, .protectingDirectory, .shownNames, .obstacle:
      ""
    }
  }

  /// Who has these rights without an entry: the owner can change the list, but has to be allowed to take ownership, too.
  private func others(besides rights: Rights) -> String {
    rights.contains(.takeOwnership) ? "root and" : "the owner, root, or"
  }

  /// Who the owner is, where stat(2) shows nobody.
  private func ownerGroup(_ name: ModeClass) -> String {
    guard name == .owner, let group = item.ownerGroup else { return "" }
    return "; the owner is \(text(.group(group)))"
  }

  func text(ofEntry index: Int) -> String? {
    guard let list = item.list, list.entries.indices.contains(index) else { return nil }
    return AccessListText.print(
      list.entries[index], for: ObjectKind(isDirectory: item.isDirectory), names: names)
  }

  private func text(_ identity: Identity) -> String { AccessListText.print(identity, names: names) }

  private func text(_ rights: Rights) -> String {
    AccessListText.words(rights, for: ObjectKind(isDirectory: item.isDirectory))
  }
}
