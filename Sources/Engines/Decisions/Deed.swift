// What somebody may ask about beforehand: the deeds of `varve why`, and the judgement of each.

import AccessControl
import FlagRules

/// Something a caller wants to do, by the word for it.
package enum Deed: String, CaseIterable, Hashable, Sendable {
  case read
  case write
  case append
  case execute
  case search
  case list
  case create
  case mkdir
  case delete
  case rename
  case link
  case readAttributes = "readattr"
  case writeAttributes = "writeattr"
  case readExtended = "readxattr"
  case writeExtended = "writexattr"
  case readList = "readacl"
  case writeList = "writeacl"
  case changeOwner = "chown"
  case changeMode = "chmod"
  case changeFlags = "chflags"

  /// What a deed is about, and so how the path to it is walked.
  package enum Target: Hashable, Sendable {
    /// What the path leads to; a link in the last place is followed.
    case item
    /// The name in the last place.
    case name
    /// A name that may be new.
    case newName
    /// Two names.
    case twoNames
  }

  package var target: Target {
    switch self {
    case .create, .mkdir: .newName
    case .delete: .name
    case .rename, .link: .twoNames
    default: .item
    }
  }

  /// The same bit has one word on files and another on directories: reading a directory is listing it.
  package func on(directory isDirectory: Bool) -> Deed {
    switch self {
    case .read where isDirectory: .list
    case .write where isDirectory: .create
    case .append where isDirectory: .mkdir
    case .execute where isDirectory: .search
    default: self
    }
  }
}

/// The objects a judgement is about, for whoever tells its reason.
package struct Scene: Hashable, Sendable {
  package var item: Item
  package var parent: Item?
  package var newParent: Item?
  package var victim: Item?

  package init(_ item: Item, in parent: Item? = nil, to newParent: Item? = nil, over victim: Item? = nil) {
    self.item = item
    self.parent = parent
    self.newParent = newParent
    self.victim = victim
  }

  /// The object a verdict speaks about.
  package subscript(place: Place) -> Item {
    switch place {
    case .item: item
    case .parent: parent ?? item
    case .newParent: newParent ?? parent ?? item
    case .victim: victim ?? item
    }
  }
}

extension Judge {
  /// Decides about a deed on an object that keeps its name, or about an addition to a directory.
  ///
  /// Asks what the operation itself asks; `nil` for a deed that is about names.
  package func permits(_ deed: Deed, _ item: Item) -> Verdict? {
    switch deed.on(directory: item.isDirectory) {
    case .read: open(item, OpenRequest(reads: true))
    case .write: open(item, OpenRequest(writes: true))
    case .append: open(item, OpenRequest(writes: true, appends: true))
    // The kernel looks at the mode of what it is to run.
    case .execute: readAttributes(item).then { open(item, OpenRequest(executes: true)) }
    case .search: search(item)
    case .list: list(item)
    case .create: create(directory: false, in: item).on(.item)
    case .mkdir: create(directory: true, in: item).on(.item)
    case .readAttributes: readAttributes(item)
    case .writeAttributes: touch(item)
    case .readExtended: readExtended(item)
    case .writeExtended: writeExtended(item)
    case .readList: readList(item)
    case .writeList: changeList(of: item, to: Judge.otherList(than: item.list))
    case .changeOwner: changeOwner(of: item, OwnerChange(user: subject.user, group: nil))
    case .changeMode: changeMode(of: item, to: item.mode)
    case .changeFlags:
      changeFlags(
        of: item, FlagChange(from: item.flags, to: item.flags.symmetricDifference(.noDump)))
    case .delete, .rename, .link: nil
    }
  }

  /// Some list that is not there yet, so that storing it is a change.
  static func otherList(than list: AccessList?) -> AccessList {
    var other = list ?? AccessList()
    other.entries.append(AccessEntry(.allow, .nobody, []))
    return other
  }

  /// A FIFO or socket shows itself only to those who may use it, could remove it, or could give themselves the right.
  ///
  /// The kernel opens and connects to them without asking. Whoever holds one of read and write gets both.
  package func find(special item: Item, in parent: Item) -> Verdict {
    var found = check(item, .write).or { check(item, .read) }.or { remove(item, from: parent) }
      .or { findAsOwner(item) }
    // To whom it does not show itself there is one number, whichever rule it was.
    if !found.isAllowed { found.refusal = .accessDenied }
    return found
  }

  /// Its owner, root, and whoever may change its mode or list; neither flags nor damage hide it from them.
  private func findAsOwner(_ item: Item) -> Verdict {
    guard standing(towards: item).isOwner != .member else { return .allowed(.ownership) }
    let privilege = Privilege(for: .writeSecurity, on: item)
    let standing = holds(privilege, towards: item)
    guard standing != .member else { return .allowed(.superuser) }
    return refused(rights(.writeSecurity, on: item), unlessWith: privilege, standing)
  }

  /// Reading the access list: the right is that of stat, and there must be a list that can be read.
  package func readList(_ item: Item) -> Verdict {
    let looking = readAttributes(item)
    guard looking.isAllowed else { return looking }
    return switch item.record {
    case .sound: looking
    case .damagedList: .refused(.damaged, .damagedList)
    case .damaged: .refused(.damaged, .damagedRecord)
    }
  }
}
