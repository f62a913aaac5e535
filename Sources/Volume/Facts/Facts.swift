// What is true of an object at one moment: the backing file's status and our record of it.

import AccessControl
import Decisions
import DirectoryModes
import FlagRules
import LinuxFiles
import RecordFormat

/// Everything a decision or a stat needs to know about an object.
struct Facts: Sendable {
  var status: FileStatus
  var item: Item
  /// The record as stored, to be changed and written back; all zero when there is none.
  var record: CoreRecord

  /// The same with its list, to be remembered.
  let stored: StoredRecord

  /// `stored` is complete: a decision takes the list.
  init(_ status: FileStatus, _ stored: StoredRecord) {
    self.status = status
    self.stored = stored
    record = stored.core
    item = Item(
      kind: ItemKind(status.kind), user: status.user, group: status.group,
      // A link's own mode means nothing; it is always shown as 0777.
      mode: Mode(status.kind == .symbolicLink ? 0o777 : status.mode),
      flags: record.flags, list: stored.list, ownerGroup: record.ownerGroup, record: stored.soundness,
      content: record.content(of: status.kind))
  }

  var brief: BriefFacts { BriefFacts(status, stored) }

  var mayCarryPrivilege: Bool { item.mode.hasSetUser || item.mode.hasSetGroup }
}

/// What it takes to show an object: no list, as long as that denies nobody a look.
struct BriefFacts: Sendable {
  let status: FileStatus
  let stored: StoredRecord

  init(_ status: FileStatus, _ stored: StoredRecord) {
    self.status = status
    self.stored = stored
  }

  /// Everything that is known, if that is all there is.
  var facts: Facts? { stored.bytesWithoutList == nil ? Facts(status, stored) : nil }

  var isVisibleToAnyone: Bool {
    facts?.item.isVisibleToAnyone ?? true
  }
}

extension CoreRecord {
  /// What a decision has to know of the form in which the content is stored.
  func content(of kind: FileKind) -> Item.Content {
    if hidesContent || (isProtected && kind != .directory) { return .foreign }
    return isProtected ? .protecting : .plain
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
    let record = brief.stored.core
    if let told = record.birthTime {
      birth = Timestamp(seconds: told.seconds, nanoseconds: told.nanoseconds)
    }
    // A link's own mode means nothing; it is always shown as 0777.
    if kind == .symbolicLink { mode = 0o777 }
    // Whoever ran it would become what is shown here.
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
