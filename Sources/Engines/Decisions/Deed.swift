// What can be asked about beforehand: the deeds of `varve why`, and the operation of each.

package import AccessControl
import DirectoryModes
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

extension Deed {
  /// The operation of a deed on an object that keeps its name, or of an addition to a directory.
  ///
  /// `nil` for a deed with two names. `looksFirst`: the kernel reads attributes before a chown.
  package func operation(on item: Item, by subject: Subject, looksFirst: Bool = false) -> Operation? {
    switch on(directory: item.isDirectory) {
    case .read: .open(OpenRequest(reads: true))
    case .write: .open(OpenRequest(writes: true))
    case .append: .open(OpenRequest(writes: true, appends: true))
    case .execute: .run
    case .search: .search
    case .list: .list
    case .create: .create(.file)
    case .mkdir: .create(.directory)
    case .delete: .remove(directory: item.isDirectory)
    case .readAttributes: .readAttributes
    case .writeAttributes: .touch
    case .readExtended: .readExtended
    case .writeExtended: .writeExtended
    case .readList: .readList
    case .writeList: .setOtherList
    case .changeOwner: .setOwner(OwnerChange(user: subject.user, group: nil), looksFirst: looksFirst)
    case .changeMode: .setMode(item.mode)
    case .changeFlags: .setFlags(item.flags.symmetricDifference(.noDump))
    case .rename, .link: nil
    }
  }
}
