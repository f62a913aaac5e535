// The small record on every item that is more than its inode: one extended attribute, read at every look-up.
//
// Up to 64 bytes stay inside an ext4 inode; larger is legal and costs a block. The layout is written down in
// docs/FORMATS.md; `CoreRecord+Bytes.swift` reads and writes it.
//
// For every item with flags, a list, a class or a lower's origin: the core is one attribute of up to 64 bytes, so that a look
// costs one call more than without records (docs/performance.md, "System calls per operation").

package import AccessControl
package import FlagRules

/// What is stored about one item besides its inode.
package struct CoreRecord: Hashable, Sendable {
  /// What else belongs to the item.
  package struct Presence: OptionSet, Hashable, Sendable {
    package let rawValue: UInt16

    package init(rawValue: UInt16) {
      self.rawValue = rawValue
    }

    // On disk since format 1. Never renumber.
    /// An access list is stored beside the record.
    ///
    /// If it is missing, access is refused.
    package static let accessList = Presence(rawValue: 1 << 0)
    /// A names record is stored beside the record.
    package static let names = Presence(rawValue: 1 << 1)
    /// An index of what the header in the file says; the header is the truth.
    package static let encrypted = Presence(rawValue: 1 << 2)
    package static let compressed = Presence(rawValue: 1 << 3)
    package static let origin = Presence(rawValue: 1 << 4)
    /// Reserved: what is below this directory lies under another path.
    ///
    /// A reader that does not know it would show another directory.
    package static let redirect = Presence(rawValue: 1 << 5)
    /// A directory some of whose entries came from another place.
    package static let impure = Presence(rawValue: 1 << 6)
    package static let links = Presence(rawValue: 1 << 7)
    package static let linksRelativeToUpper = Presence(rawValue: 1 << 8)
    package static let birthTime = Presence(rawValue: 1 << 9)
    /// The content is being replaced.
    package static let replacing = Presence(rawValue: 1 << 10)
    /// Reserved: a file without its data.
    ///
    /// A reader that does not know it would show a hollow file.
    package static let metacopy = Presence(rawValue: 1 << 11)
    package static let ownerGroup = Presence(rawValue: 1 << 12)
    /// The access list denies nobody a look at the item, so that showing it does not take reading the list.
    ///
    /// Set only while it is true; without it nothing is said.
    package static let openList = Presence(rawValue: 1 << 13)

    /// The bits that stand alone; the others follow from the sections.
    package static let marks: Presence = [
      .accessList, .names, .encrypted, .impure, .openList,
    ]
    static let known: Presence = marks.union([
      .compressed, .origin, .links, .linksRelativeToUpper, .birthTime, .replacing, .ownerGroup,
    ])
  }

  /// Which key class protects the content; on a directory, the class of what is made in it.
  package enum ProtectionClass: UInt8, Hashable, Sendable {
    // On disk since format 1. Never renumber.
    case none = 0
    case a = 1
    case b = 2
    case c = 3
  }

  /// The item of a lower layer this one was copied from.
  package struct Origin: Hashable, Sendable {
    package var fileSystemTag: UInt32
    package var inode: UInt64
    package var generation: UInt32
    /// The item itself.
    ///
    /// After a restore it has another inode, and the origin no longer counts.
    package var ownInode: UInt64
    package var ownGeneration: UInt32

    package init(
      fileSystemTag: UInt32, inode: UInt64, generation: UInt32, ownInode: UInt64, ownGeneration: UInt32
    ) {
      self.fileSystemTag = fileSystemTag
      self.inode = inode
      self.generation = generation
      self.ownInode = ownInode
      self.ownGeneration = ownGeneration
    }
  }

  /// The number of hard links, as a difference to what one layer's inode says.
  package struct LinkCount: Hashable, Sendable {
    /// The layer whose count is the base.
    package enum Base: Hashable, Sendable {
      case lower
      case upper
    }

    package var base: Base
    package var difference: Int32

    package init(_ difference: Int32, relativeTo base: Base) {
      self.base = base
      self.difference = difference
    }
  }

  /// When the item came into being.
  ///
  /// Linux cannot set it on an inode.
  package struct BirthTime: Hashable, Sendable {
    package var seconds: Int64
    package var nanoseconds: UInt32

    package init(seconds: Int64, nanoseconds: UInt32) {
      self.seconds = seconds
      self.nanoseconds = nanoseconds
    }
  }

  /// What programs go on seeing of a file whose content is being replaced, while its bytes are neither.
  package struct ReplacedContent: Hashable, Sendable {
    package var size: UInt64
    package var modified: BirthTime

    package init(size: UInt64, modified: BirthTime) {
      self.size = size
      self.modified = modified
    }
  }

  /// Of these only ``Presence/marks`` are stored; the sections bring their own bits.
  package var marks: Presence = []
  package var flags: FileFlags = []
  package var protectionClass = ProtectionClass.none
  /// What to do with content made here; zero leaves it alone.
  ///
  /// What other values mean belongs to the compressor; they are kept.
  package var compressionPolicy: UInt8 = 0
  /// Only on an item whose content is stored compressed.
  package var logicalSize: UInt64?
  package var origin: Origin?
  package var links: LinkCount?
  package var birthTime: BirthTime?
  /// Only while the content is being replaced.
  package var replaced: ReplacedContent?
  /// The group that owns the item in place of a user.
  package var ownerGroup: UInt32?

  package init() {}

  /// The presence bits as they are stored.
  package var presence: Presence {
    var bits = marks.intersection(.marks)
    if logicalSize != nil { bits.insert(.compressed) }
    if origin != nil { bits.insert(.origin) }
    if let links {
      bits.insert(.links)
      if links.base == .upper { bits.insert(.linksRelativeToUpper) }
    }
    if birthTime != nil { bits.insert(.birthTime) }
    if replaced != nil { bits.insert(.replacing) }
    if ownerGroup != nil { bits.insert(.ownerGroup) }
    return bits
  }

  /// Says that this list is stored beside the record, or none.
  package mutating func announce(_ list: AccessList?) {
    marks.remove(.accessList)
    marks.remove(.openList)
    guard let list else { return }
    marks.insert(.accessList)
    if !list.deniesAnybody(.looking) { marks.insert(.openList) }
  }

  /// Whether a list is announced that denies nobody a look.
  package var hasOpenList: Bool { marks.contains(.accessList) && marks.contains(.openList) }

  // Asked here because a literal of ``Presence`` allocates in every other module.

  /// The bytes of the item are its content in another form, or not yet its content.
  package var isReplacedOrCompressed: Bool { !presence.isDisjoint(with: [.compressed, .replacing]) }

  /// Whether the record says that the content is compressed.
  package var isCompressed: Bool { logicalSize != nil }

  /// Says that the content is compressed, and how long it is for programs; nil: that it is not.
  package mutating func noteCompressed(size: UInt64?) {
    logicalSize = size
    if size != nil { flags.insert(.compressed) } else { flags.remove(.compressed) }
  }

  /// Whether the record says anything of protection.
  package var isProtected: Bool { isEncrypted || protectionClass != .none }

  /// Whether some children of the directory came from another place.
  package var isImpure: Bool {
    get { marks.contains(.impure) }
    set { if newValue { marks.insert(.impure) } else { marks.remove(.impure) } }
  }

  /// Whether the record says that the content is encrypted.
  package var isEncrypted: Bool {
    get { marks.contains(.encrypted) }
    set { if newValue { marks.insert(.encrypted) } else { marks.remove(.encrypted) } }
  }

  /// Whether a names record is announced.
  package var hasNames: Bool {
    get { marks.contains(.names) }
    set { if newValue { marks.insert(.names) } else { marks.remove(.names) } }
  }

  /// Nothing is said: the attribute is removed rather than stored.
  package var isVoid: Bool {
    presence.isEmpty && flags.isEmpty && protectionClass == .none && compressionPolicy == 0
  }
}
