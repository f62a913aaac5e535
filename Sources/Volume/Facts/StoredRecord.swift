// What the attributes of an object say about it, decoded once and shared by all objects that say the same.

import AccessControl
import Decisions
import LinuxFiles
import RecordFormat
import Synchronization

/// A record with its list, and whether both could be read.
final class StoredRecord: Sendable {
  let core: CoreRecord
  let list: AccessList?
  let soundness: Item.Record
  /// For the log: what could not be read.
  let damage: String?
  /// The bytes this was read from, if there is a list that was not read, because it denies nobody a look: then this is
  /// good for showing the object, and for nothing else.
  let bytesWithoutList: [UInt8]?

  init(
    core: CoreRecord, list: AccessList? = nil, soundness: Item.Record = .sound, damage: String? = nil,
    bytesWithoutList: [UInt8]? = nil
  ) {
    self.core = core
    self.list = list
    self.bytesWithoutList = bytesWithoutList
    self.soundness = soundness
    self.damage = damage
  }

  /// What is true of an object that has no record.
  static let none = StoredRecord(core: CoreRecord())
}

/// What an encrypted file says of itself.
struct KnownHead: Hashable, Sendable {
  let protection: ProtectionClass
  /// As programs see it; nil where the file is too damaged to tell.
  let size: UInt64?
  /// Whether its record says that it is encrypted.
  let isMarked: Bool
  /// It names another volume than the keybag does.
  var isForeign = false
  /// Both headers are damaged, or of a form that this version does not know: its class is a guess.
  var isUnreadable = false
}

/// What is stored about one object: its record, and what its content says of itself if that is encrypted.
struct StoredFacts: Sendable {
  let record: StoredRecord
  let head: KnownHead?

  init(_ record: StoredRecord, _ head: KnownHead? = nil) {
    self.record = record
    self.head = head
  }
}

/// What was read of one object's record, and when.
final class KnownRecord: Sendable {
  let stored: StoredRecord
  let head: KnownHead?
  /// Whether a head was looked for, if the record asks for none.
  let wasLookedInto: Bool
  /// The object's change time then.
  let change: Timestamp
  let readAt: UInt64

  init(_ stored: StoredFacts, wasLookedInto: Bool, change: Timestamp, readAt: UInt64) {
    self.stored = stored.record
    head = stored.head
    self.wasLookedInto = wasLookedInto
    self.change = change
    self.readAt = readAt
  }
}
