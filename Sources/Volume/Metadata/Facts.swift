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

  init(_ status: FileStatus, _ stored: StoredRecord) {
    self.status = status
    self.stored = stored
    record = stored.core
    item = Item(
      kind: ItemKind(status.kind), user: status.user, group: status.group,
      // A link's own mode means nothing; it is always shown as 0777.
      mode: Mode(status.kind == .symbolicLink ? 0o777 : status.mode),
      flags: record.flags, list: stored.list, ownerGroup: record.ownerGroup, record: stored.soundness)
  }

  var mayCarryPrivilege: Bool { item.mode.hasSetUser || item.mode.hasSetGroup }
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
  /// An object that a group owns shows the user `nobody`. Where ownership is ignored, everybody but root
  /// sees himself as the owner.
  init(_ facts: Facts, ignoringOwnershipFor caller: Caller? = nil) {
    let status = facts.status
    inode = status.inode
    size = status.size
    blocks = status.blocks
    blockSize = status.blockSize
    access = status.access
    modification = status.modification
    change = status.change
    birth =
      facts.record.birthTime.map { Timestamp(seconds: $0.seconds, nanoseconds: $0.nanoseconds) }
      ?? status.birth
    kind = status.kind
    mode = facts.item.mode.bits
    linkCount = status.linkCount
    user = facts.item.ownerGroup == nil ? status.user : Attributes.nobody
    group = status.group
    deviceMajor = status.specialDevice.major
    deviceMinor = status.specialDevice.minor
    if let caller, caller.user != 0 {
      user = caller.user
      group = caller.group
    }
  }

  private static let nobody: UInt32 = 65_534
}
