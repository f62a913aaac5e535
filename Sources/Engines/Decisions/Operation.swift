// What is asked of the rules: an operation, and the objects it is about.

package import AccessControl
package import DirectoryModes
package import FlagRules

/// An operation with the values it is decided from; its objects are in a ``Scene``.
package enum Operation: Sendable {
  // One object.
  case open(OpenRequest)
  /// Running a file, for a caller that asks beforehand: the kernel looks at the mode first.
  case run
  case list
  case search
  case access(AccessMode)
  case readAttributes
  /// Reading flags or owner by a door: the right is that of stat, and the record must be readable.
  case readRecord
  case readList
  case readExtended
  case writeExtended
  case truncate(throughHandle: Bool)
  case setMode(Mode)
  /// A mode that stays as it is, where that is not said by chmod.
  case keepMode
  /// The kernel's message that set-id bits go because of a write.
  case stripSetID(isOpenForWriting: Bool)
  /// The same message from a caller who may not strip: harmless where there is nothing to strip.
  case stripNothing
  /// `looksFirst`: the kernel reads the attributes first, and only a caller that asks beforehand has to be told.
  case setOwner(OwnerChange, looksFirst: Bool = false)
  /// A group in place of a user.
  case setOwnerGroup(UInt32)
  /// Both times to now.
  case touch
  case setTimes
  case setFlags(FileFlags)
  case setList(AccessList?)
  /// A list other than the one there is; which one it is does not matter.
  case setOtherList
  /// By which class a file is encrypted, or what is made in a directory.
  case setClass(ProtectionClass?)
  /// Whether the content of a file is stored compressed.
  case setCompressed(Bool)

  // A directory.
  /// Looking for a name in it.
  case lookUp
  /// Handing its list down to what is in it.
  case handDown
  case create(NewObject)
  /// What the kernel asks of the mount before it looks at a name that is to go.
  case takeNames
  /// Making, giving or taking a name in a view, which shows names and has none.
  case changeView

  // Names.
  /// A FIFO or socket is looked up.
  case find
  case remove(directory: Bool)
  /// `protectsLinks`: whether `fs.protected_hardlinks` is set; asked only where it would refuse.
  case link(protectsLinks: @Sendable () -> Bool)
  case rename(Rename)

  /// The word of `varve why` for a change of what is true of an item.
  package var deed: Deed? {
    switch self {
    case .setMode: .changeMode
    case .setOwner, .setOwnerGroup: .changeOwner
    case .setFlags: .changeFlags
    case .setList, .setOtherList: .writeList
    case .setClass: .writeAttributes
    case .setCompressed: .write
    default: nil
    }
  }
}

/// How a file is about to be opened.
package struct OpenRequest: Hashable, Sendable {
  package var reads: Bool
  package var writes: Bool
  package var appends: Bool
  package var truncates: Bool
  /// Opened to be run.
  package var executes: Bool
  /// Not so for an open of the kernel's own, by which it asks about attributes.
  package var wantsBytes: Bool

  package init(
    reads: Bool = false, writes: Bool = false, appends: Bool = false, truncates: Bool = false,
    executes: Bool = false, wantsBytes: Bool = true
  ) {
    self.reads = reads
    self.writes = writes
    self.appends = appends
    self.truncates = truncates
    self.executes = executes
    self.wantsBytes = wantsBytes
  }

  /// The rights asked in one request; a deny of any of them refuses all.
  var rights: Rights {
    var rights: Rights = []
    if reads { rights.insert(.read) }
    if writes { rights.insert(appends && !truncates ? .append : .write) }
    if truncates { rights.insert(.write) }
    if executes { rights.insert(.execute) }
    return rights
  }
}

/// What access(2) can ask.
///
/// Public for the reason given at `Rights`.
public struct AccessMode: OptionSet, Hashable, Sendable {
  /// The mask as access(2) takes it.
  public let rawValue: UInt8

  /// Takes a mask as access(2) does.
  public init(rawValue: UInt8) {
    self.rawValue = rawValue
  }

  package static let execute = AccessMode(rawValue: 1)
  package static let write = AccessMode(rawValue: 2)
  package static let read = AccessMode(rawValue: 4)

  func rights(onDirectory isDirectory: Bool) -> Rights {
    var rights: Rights = []
    if contains(.read) { rights.insert(.read) }
    if contains(.write) { rights.formUnion(isDirectory ? [.addFile, .addSubdirectory] : .write) }
    if contains(.execute) { rights.insert(.execute) }
    return rights
  }
}

/// A chown: `nil` leaves a side alone.
package struct OwnerChange: Hashable, Sendable {
  package var user: UInt32?
  package var group: UInt32?

  package init(user: UInt32?, group: UInt32?) {
    self.user = user
    self.group = group
  }
}

/// What is made in a directory.
package enum NewObject: Hashable, Sendable {
  case file
  /// A FIFO or socket: added like a file, but without content of its own.
  case pipe
  case directory
  case symbolicLink
  case device

  package var isDirectory: Bool { self == .directory }
}

/// How names change places.
package struct Rename: Hashable, Sendable {
  /// The two names are in different directories.
  package var changesParent: Bool
  package var exchanges = false
  package var mayReplace = true
  /// The new name is in the directory that is moved, or below.
  package var leadsIntoItself = false

  package init(changesParent: Bool) { self.changesParent = changesParent }
}

/// The objects of an operation.
package struct Scene: Hashable, Sendable {
  package var item: Item
  package var parent: Item?
  package var newParent: Item?
  /// What has the new name already.
  package var victim: Item?
  /// Whether a record can be stored with the item.
  package var carriesRecord: Bool

  package init(
    _ item: Item, in parent: Item? = nil, to newParent: Item? = nil, over victim: Item? = nil,
    carriesRecord: Bool = true
  ) {
    self.item = item
    self.parent = parent
    self.newParent = newParent
    self.victim = victim
    self.carriesRecord = carriesRecord
  }

  /// The object a verdict speaks about.
  package subscript(role: ObjectRole) -> Item {
    switch role {
    case .item: item
    case .parent: parent ?? item
    case .newParent: newParent ?? parent ?? item
    case .victim: victim ?? item
    }
  }
}

/// One of the judgements a decision is made of, for code that tells its reason.
package struct Step: Hashable, Sendable {
  /// What was asked.
  package enum Asked: Hashable, Sendable {
    /// The operation itself.
    case operation
    case adding(directory: Bool)
    case removing
  }

  package let asked: Asked
  package let verdict: Verdict
}

/// Gets each step of a decision, in order.
package typealias Tell = (Step) -> Void

extension Verdict {
  /// The same verdict, told.
  func told(_ asked: Step.Asked, _ tell: Tell?) -> Verdict {
    tell?(Step(asked: asked, verdict: self))
    return self
  }
}
