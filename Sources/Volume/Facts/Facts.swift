// What is true of an object at one moment: the backing file's status and our record of it.
//
// For everything that decides or shows something: read once for each request, and passed on as a value. `GuardTests` hold
// what reading them costs.

import AccessControl
import Decisions
import DirectoryModes
import FlagRules
import LinuxFiles
import RecordFormat
import SealedFormat

/// Everything a decision or a stat needs to know about an object.
struct Facts: Sendable {
  var status: FileStatus
  var item: Item
  /// The record as stored, to be changed and written back; all zero when there is none.
  var record: CoreRecord

  /// The same with its list, to be remembered.
  let stored: StoredRecord
  /// Of an encrypted file; then the status has its size, too, as it has that of a compressed one.
  let head: KnownHead?
  var layerFacts: LayerFacts

  /// `stored` is complete: a decision takes the list.
  init(_ status: FileStatus, _ found: StoredFacts) {
    let stored = found.record
    self.status = status.showing(found)
    self.stored = stored
    head = found.head
    layerFacts = LayerFacts(status)
    record = stored.core
    item = Item(
      kind: ItemKind(status.kind), user: status.user, group: status.group,
      // A link's own mode means nothing; it is always shown as 0777.
      mode: Mode(status.kind == .symbolicLink ? 0o777 : status.mode),
      flags: record.flags, list: stored.list, ownerGroup: record.ownerGroup, record: stored.soundness,
      content: record.content(of: self.status, found.head),
      // On a user's own mount nobody else is there to be deceived.
      lacksMark: found.head?.isMarked == false && CurrentProcess.isRoot)
  }

  init(_ status: FileStatus, _ stored: StoredRecord) { self.init(status, StoredFacts(stored)) }

  /// Why nobody reads the content of an encrypted file, whatever the rules say and whichever class is open; nil if its
  /// header tells nothing against it.
  var headerFailure: (error: Errno, words: String)? {
    guard case .protected = item.content, status.size > 0 else { return nil }
    guard let head, !head.isUnreadable else {
      return (.inputOutput, "its header is lost, damaged or of a later version; its content cannot be read")
    }
    guard head.isForeign else { return nil }
    return (.noKey, "belongs to the keybag of another volume; only a volume with that keybag can read it")
  }

  var brief: BriefFacts { BriefFacts(status, StoredFacts(stored, head), at: layerFacts) }
  var number: ItemNumber { layerFacts.number }
  /// What a node of it is found by.
  var slot: BackingSlot { layerFacts.slot(status) }

  var mayCarryPrivilege: Bool { item.mode.hasSetUser || item.mode.hasSetGroup }
}

/// What it takes to show an object: no list, as long as that denies nobody a look.
struct BriefFacts: Sendable {
  let status: FileStatus
  let stored: StoredRecord
  let head: KnownHead?
  var layerFacts: LayerFacts

  init(_ status: FileStatus, _ found: StoredFacts, at layerFacts: LayerFacts? = nil) {
    self.status = status.showing(found)
    stored = found.record
    head = found.head
    self.layerFacts = layerFacts ?? LayerFacts(status)
  }

  /// Everything that is known, if that is all there is.
  var facts: Facts? {
    guard stored.bytesWithoutList == nil else { return nil }
    var facts = Facts(status, StoredFacts(stored, head))
    facts.layerFacts = layerFacts
    return facts
  }

  /// What a node of it is found by.
  var slot: BackingSlot { layerFacts.slot(status) }

  var isVisibleToAnyone: Bool {
    facts?.item.isVisibleToAnyone ?? true
  }
}

extension ProtectionClass {
  init(_ format: StaticSector.ProtectionClass) {
    self =
      switch format {
      case .complete: .complete
      case .completeUnlessOpen: .completeUnlessOpen
      case .untilFirstUnlock: .untilFirstUnlock
      }
  }

  /// The same in the words of the stored form.
  var format: StaticSector.ProtectionClass {
    switch self {
    case .complete: .complete
    case .completeUnlessOpen: .completeUnlessOpen
    case .untilFirstUnlock: .untilFirstUnlock
    }
  }
}

extension CoreRecord {
  /// The class that is named, in the words of decisions.
  var protection: Decisions.ProtectionClass? {
    get { Decisions.ProtectionClass(rawValue: protectionClass.rawValue) }
    set { protectionClass = newValue.flatMap { .init(rawValue: $0.rawValue) } ?? .none }
  }

  /// What a decision has to know of the form in which the content is stored.
  func content(of status: FileStatus, _ head: KnownHead?) -> Item.Content {
    let own = protection
    if isReplacedOrCompressed {
      if isReplacing, status.kind == .regular { return .replacing }
      // One of which its record says two things is none.
      let isCompressed = status.kind == .regular && !isProtected && head == nil && !isReplacing
      return isCompressed ? .compressed : .foreign
    }
    guard status.kind != .directory else {
      return isEncrypted ? .foreign : own.map { .protecting($0) } ?? .plain
    }
    // The file knows better than its mark, which may be lost or from before a crash.
    if let protection = head?.protection { return .protected(protection, isEmpty: status.size == 0) }
    guard isEncrypted else { return own == nil ? .plain : .foreign }
    return own.map { .protected($0, isEmpty: status.size == 0) } ?? .foreign
  }
}

extension FileStatus {
  /// The status with the size that programs see; of content that is being replaced also its time.
  func showing(_ found: StoredFacts) -> FileStatus {
    guard kind == .regular else { return self }
    var shown = self
    if let replaced = found.record.core.replaced {
      shown.size = replaced.size
      shown.modification = Timestamp(
        seconds: replaced.modified.seconds, nanoseconds: replaced.modified.nanoseconds)
      return shown
    }
    guard let size = found.head?.size ?? found.record.core.logicalSize else { return self }
    // A compressed file that lost its bytes is empty, whatever its record still says: it was cut.
    shown.size = found.head == nil && self.size == 0 ? 0 : size
    return shown
  }
}

extension ItemKind {
  init(_ kind: FileKind) {
    switch kind {
    case .regular: self = .file
    case .directory: self = .directory
    case .symbolicLink: self = .symbolicLink
    case .fifo, .socket, .characterDevice, .blockDevice: self = .special
    }
  }
}

extension Attributes {
  /// What stat shows of an object.
  ///
  /// An object that a group owns shows the user `nobody`. Where ownership is ignored, every user but 0 is shown as the
  /// owner to itself.
  init(_ brief: BriefFacts, ignoringOwnershipFor caller: Caller? = nil) {
    self = brief.status
    inode = brief.layerFacts.number.value
    if let links = brief.layerFacts.links { linkCount = links }
    let record = brief.stored.core
    if let told = record.birthTime {
      birth = Timestamp(seconds: told.seconds, nanoseconds: told.nanoseconds)
    }
    // A link's own mode means nothing; it is always shown as 0777.
    if kind == .symbolicLink { mode = 0o777 }
    // A user who ran it would become what is shown here.
    if Item.isShared(user: user, ownerGroup: record.ownerGroup) {
      mode = Mode(mode).withoutSetID(onDirectory: kind == .directory).bits
    }
    if record.ownerGroup != nil { user = Attributes.nobody }
    if let caller, caller.user != 0 {
      user = caller.user
      group = caller.group
    }
  }

  private static let nobody: UInt32 = 65_534
}
