// What a decision knows about an object and about the volume it is on.

package import AccessControl
package import DirectoryModes
package import FlagRules

/// What kind of object it is, as far as rules care.
///
/// Public for the reason given at `Rights`.
public enum ItemKind: Hashable, Sendable {
  case file
  case directory
  case symbolicLink
  /// A FIFO, socket or device: writing into it changes nothing on disk.
  case special
}

/// The facts about one object that decisions are made of.
package struct Item: Hashable, Sendable {
  /// How far the stored record can be believed.
  package enum Record: Hashable, Sendable {
    case sound
    /// The access list is there but cannot be read: whatever would ask it is refused to all but root.
    case damagedList
    /// Not even the flags are known: nothing is changed or opened until it is repaired.
    case damaged
  }

  /// In what form the content is stored.
  package enum Content: Hashable, Sendable {
    case plain
    /// A file that is encrypted.
    case protected(ProtectionClass, isEmpty: Bool)
    /// A directory: files made in it are encrypted.
    case protecting(ProtectionClass)
    /// A file that is compressed: to be read like any other, and expanded before anything of it is changed.
    case compressed
    /// A file whose content is being replaced, or was when something stopped that.
    case replacing
    /// Of a form that this version can neither read nor write.
    case foreign
  }

  package var kind: ItemKind
  package var user: UInt32
  package var group: UInt32
  package var mode: Mode
  package var flags: FileFlags
  package var list: AccessList?
  /// The group that owns the object in place of a user.
  package var ownerGroup: UInt32?
  package var record: Record
  package var content: Content
  /// Its first bytes say that it is encrypted, and its record does not: a copy that was made without attributes, or the
  /// bytes of another user's file that were written into a file of the caller.
  package var lacksMark: Bool

  package init(
    kind: ItemKind, user: UInt32, group: UInt32, mode: Mode, flags: FileFlags = [],
    list: AccessList? = nil, ownerGroup: UInt32? = nil, record: Record = .sound,
    content: Content = .plain, lacksMark: Bool = false
  ) {
    self.kind = kind
    self.user = user
    self.group = group
    self.mode = mode
    self.flags = flags
    self.list = list
    self.ownerGroup = ownerGroup
    self.record = record
    self.content = content
    self.lacksMark = lacksMark
  }

  package var isDirectory: Bool { kind == .directory }

  /// Why not even the flags can be read.
  var damageToRecord: Reason? { record == .damaged ? .damagedRecord : nil }

  /// Why the list cannot be read.
  var damageToList: Reason? { record == .damagedList ? .damagedList : damageToRecord }

  /// Whether a group, or every caller, has the rights of the owner.
  ///
  /// Such an item has no set-id bits: anybody who has these rights could make others run it, as the user `nobody` that
  /// is shown for a group, or as 99. (Where ownership is ignored altogether the kernel heeds no such bit: `nosuid`.)
  package var hasSharedOwner: Bool { Item.isShared(user: user, ownerGroup: ownerGroup) }

  package static func isShared(user: UInt32, ownerGroup: UInt32?) -> Bool {
    ownerGroup != nil || user == UnknownID.number
  }

  /// The mode without the bits that the item does not have for this reason.
  package var shownMode: Mode { hasSharedOwner ? mode.withoutSetID(onDirectory: isDirectory) : mode }
}

/// The rules a volume was mounted with.
package struct VolumeRules: Hashable, Sendable {
  package var isReadOnly = false
  /// `isReadOnly` for no other reason than that the lock for writing is not confirmed.
  package var lacksLock = false
  package var forbidsExecution = false
  /// Every caller is treated as the owner (`noowners`).
  package var ignoresOwnership = false
  /// Access lists are evaluated and inherited; otherwise only shown.
  package var usesLists = true
  package var secureLevel = 0
  package var handsOverOwnership = false
  /// Members count as root, except towards items that carry a flag of the system domain.
  package var adminGroup: UInt32?
  /// The keys there are to encrypted files.
  package var keys = KeysAtHand()

  package init() {}

  /// What stands against every change, where something does.
  var readOnlyReason: Reason { lacksLock ? .unconfirmedLock : .readOnlyVolume }
}
