// Our record of an object, in its extended attributes. Fail closed: what cannot be read allows nothing.

import AccessControl
import Decisions
import FlagRules
import LinuxFiles
import RecordFormat
import Synchronization

/// Reads and writes records.
///
/// Stateless but for one fact: whether the volume has any. A class, so that what asks it for one item after another does not
/// count references to each of its parts.
final class MetadataStore: Sendable {
  /// Where a volume keeps its records; fixed when the volume is made.
  enum Namespace: String, Sendable {
    case trusted
    case user
  }

  let namespace: Namespace
  /// Where there are several layers.
  let numbers: ItemNumbers?
  /// The names of the attributes, made once.
  let coreName: [UInt8]
  private let listName: [UInt8]
  /// Of the names record.
  let namesName: [UInt8]
  private let records: RecordsExist
  /// Whether this is a lower that is no volume: its objects have no records on a file system without such attributes, nor
  /// where a user may not look for them.
  private let isPlain: Bool
  /// A check tells of damage with the paths of items.
  let logsDamage: Bool
  let memory: RecordMemory
  let heads: SealedHeads
  private let shared = SharedRecords()

  init(
    namespace: Namespace, records: RecordsExist, memory: RecordMemory, heads: SealedHeads,
    numbers: ItemNumbers? = nil, isPlain: Bool = false, logsDamage: Bool = true
  ) {
    self.namespace = namespace
    self.isPlain = isPlain
    self.logsDamage = logsDamage
    self.numbers = numbers
    self.heads = heads
    self.records = records
    self.memory = memory
    coreName = Array("\(namespace.rawValue).varve.m".utf8)
    listName = Array("\(namespace.rawValue).varve.acl".utf8)
    namesName = Array("\(namespace.rawValue).varve.names".utf8)
  }

  /// The facts about an object whose status is known.
  ///
  /// `node`: the object's node if it has one, which may remember the record. `read` answers an attribute of the object,
  /// `head` the first bytes of a file.
  func facts(
    _ status: FileStatus, knownBy node: Node?,
    _ read: (borrowing AttributeName) throws(Errno) -> [UInt8]?, head: () throws(Errno) -> [UInt8]
  ) throws(Errno) -> Facts {
    facts(status, try stored(status, knownBy: node, withList: true, read: read, head: head), of: node)
  }

  /// What it takes to show an object.
  func briefFacts(
    _ status: FileStatus, knownBy node: Node?,
    _ read: (borrowing AttributeName) throws(Errno) -> [UInt8]?, head: () throws(Errno) -> [UInt8]
  ) throws(Errno) -> BriefFacts {
    let stored = try stored(status, knownBy: node, withList: false, read: read, head: head)
    return BriefFacts(status, stored, at: layerFacts(of: status, stored, node))
  }

  /// The facts about an object of which everything is known.
  func facts(_ status: FileStatus, _ stored: StoredFacts, of node: Node?) -> Facts {
    var facts = Facts(status, stored)
    if let layerFacts = layerFacts(of: status, stored, node) { facts.layerFacts = layerFacts }
    return facts
  }

  /// Where an object lies; nil where there is one layer.
  private func layerFacts(of status: FileStatus, _ stored: StoredFacts, _ node: Node?) -> LayerFacts? {
    guard var layerFacts = numbers?.layerFacts(of: status, stored.record.core) else { return nil }
    // What is known keeps its number, also where none could be stored.
    if let node { layerFacts.number = node.number }
    return layerFacts
  }

  /// The record of an object alone, read now.
  func record(
    of status: FileStatus, _ read: (borrowing AttributeName) throws(Errno) -> [UInt8]?
  ) throws(Errno) -> StoredRecord {
    guard records.exist, canCarryRecord(status.kind) else { return .none }
    return try record(status, nil, withList: true, nil, read: read)
  }

  /// Whether it pays to look for a node that may remember what is stored.
  var remembersFacts: Bool { records.exist || heads.areSought }

  /// Remembers what was read of an object before it had a node.
  func remember(_ found: BriefFacts, of node: Node) {
    memory.keep(StoredFacts(found.stored, found.head), for: node, found.status, heads)
  }

  /// It is sure now whether the volume has records.
  func settleRecords(_ exist: Bool) { records.settle(exist) }

  /// Linux refuses `user.` attributes on anything but files and directories.
  func canCarryRecord(_ kind: FileKind) -> Bool {
    namespace == .trusted || kind == .regular || kind == .directory
  }

  /// What is stored about an object, remembered or read.
  ///
  /// `withList`: whether an open list is read as well. Any other is in any case.
  private func stored(
    _ status: FileStatus, knownBy node: Node?, withList: Bool,
    read: (borrowing AttributeName) throws(Errno) -> [UInt8]?, head: () throws(Errno) -> [UInt8]
  ) throws(Errno) -> StoredFacts {
    if status.linkCount == 0, let nameless = node?.nameless {
      return nameless.stored(node?.existingAttachment?.encrypted?.head)
    }
    guard remembersFacts, canCarryRecord(status.kind) else { return StoredFacts(.none) }
    let known = memory.recall(node, status)
    let found = try record(status, known, withList: withList, node, read: read)
    guard heads.mayBe(in: status, found.core) else {
      if found !== known?.stored { memory.keep(StoredFacts(found), for: node, status, heads) }
      return StoredFacts(found)
    }
    // While a process has it open, or had, that is where the size is.
    if let content = node?.existingAttachment?.encrypted, let head = content.head {
      // So that nobody has to look into it once its state has gone from memory.
      if memory.believes, content.isAtRest { heads.remembered.keep(head, of: status) }
      return StoredFacts(found, head)
    }
    if let known, known.wasLookedInto || found.core.isEncrypted, found === known.stored {
      return StoredFacts(found, known.head)
    }
    if memory.believes, let head = heads.remembered.recall(status) { return StoredFacts(found, head) }
    let bytes: [UInt8]
    do throws(Errno) { bytes = try head() } catch {
      // What is marked is known well enough. An unmarked file that cannot be looked into is not taken for a plain one.
      guard error.delay == nil, found.core.isEncrypted else { throw error }
      return StoredFacts(found)
    }
    let stored = StoredFacts(found, heads.head(in: bytes.span, found.core))
    if let head = stored.head, !head.isMarked { heads.noteUnmarked(status.inode) }
    memory.keep(stored, for: node, status, heads)
    if memory.believes { heads.remembered.keep(stored.head, of: status) }
    return stored
  }

  /// The record of an object, remembered or read.
  private func record(
    _ status: FileStatus, _ known: KnownRecord?, withList: Bool, _ node: Node?,
    read: (borrowing AttributeName) throws(Errno) -> [UInt8]?
  ) throws(Errno) -> StoredRecord {
    var core: [UInt8]?
    if let known {
      guard let bytes = known.stored.bytesWithoutList, withList else { return known.stored }
      core = bytes
    } else if records.exist {
      do throws(Errno) {
        core = try AttributeName.with(coreName) { attribute throws(Errno) in try read(attribute) }
      } catch {
        let isHidden = error == .accessDenied && !CurrentProcess.isRoot
        guard isPlain, isHidden || error == .unsupported else { throw error }
      }
    }
    let stored = try stored(core, withList: withList, read: read)
    if let damage = stored.damage, logsDamage { Log.damage("inode \(status.inode): \(damage)") }
    // Handles that were opened before learn of it here.
    let content = stored.core.content(of: status, nil)
    let obstacle: Errno? =
      stored.soundness == .damaged
      ? .inputOutput : content == .foreign || content == .replacing ? .unsupported : nil
    node?.existingAttachment?.marks.contentObstacle.store(obstacle?.rawValue ?? 0, ordering: .releasing)
    return stored
  }

  private func stored(
    _ core: [UInt8]?, withList: Bool, read: (borrowing AttributeName) throws(Errno) -> [UInt8]?
  ) throws(Errno) -> StoredRecord {
    guard let core else { return .none }
    let announcement = CoreRecord.announcement(core.span)
    if announcement == .openList, !withList {
      return shared.record(core, .unread) { MetadataStore.decodeAlone(core) }
    }
    let list =
      announcement == .none
      ? nil : try AttributeName.with(listName) { attribute throws(Errno) in try read(attribute) }
    return shared.record(core, list.map { .bytes($0) } ?? .none) { MetadataStore.decode(core, list) }
  }

  private static func decodeAlone(_ core: [UInt8]) -> StoredRecord {
    do {
      return StoredRecord(core: try CoreRecord(decoding: core.span), bytesWithoutList: core)
    } catch {
      // The same as with its list.
      return decode(core, nil)
    }
  }

  private static func decode(_ core: [UInt8], _ list: [UInt8]?) -> StoredRecord {
    let record: CoreRecord
    do {
      record = try CoreRecord(decoding: core.span)
    } catch {
      return StoredRecord(
        core: CoreRecord(), soundness: .damaged, damage: "the record cannot be read: \(error)")
    }
    guard record.presence.contains(.accessList) else { return StoredRecord(core: record) }
    guard let list else {
      return StoredRecord(core: record, soundness: .damagedList, damage: "the access list is missing")
    }
    do {
      return StoredRecord(core: record, list: try AccessListBytes.decode(list.span))
    } catch {
      return StoredRecord(
        core: record, soundness: .damagedList, damage: "the access list cannot be read: \(error)")
    }
  }

  /// Writes a record and, where `list` says so, the access list.
  ///
  /// A crash between the two steps leaves either no list bit and a list nobody looks at, or both: a list is
  /// written before the bits that announce it and removed after they are gone. A step that fails takes the earlier one
  /// back.
  ///
  /// `present`: what the object says now.
  func write(
    _ record: CoreRecord, list: ListUpdate, over present: StoredRecord, to object: borrowing Descriptor
  ) throws(Errno) {
    try records.announce()
    do throws(Errno) {
      try writing(to: object) { () throws(Errno) in
        try writeParts(record, list: list, over: present, to: object)
      }
    } catch {
      // What cannot be taken back stays; the first error is the one to tell.
      try? writing(to: object) { () throws(Errno) in try putBack(present, after: list, to: object) }
      throw error
    }
  }

  /// Writes, and answers what the object says then.
  func rewrite(
    _ record: CoreRecord, list: ListUpdate, over present: StoredRecord, to object: borrowing Descriptor
  ) throws(Errno) -> StoredRecord {
    try write(record, list: list, over: present, to: object)
    return rewritten(record, list: list, over: present)
  }

  /// What an object says after a record was written to it.
  func rewritten(_ record: CoreRecord, list: ListUpdate, over present: StoredRecord) -> StoredRecord {
    var core = record
    switch list {
    case .keep:
      return StoredRecord(
        core: core, list: present.list, soundness: present.soundness, damage: present.damage)
    case .remove:
      core.announce(nil)
      return StoredRecord(core: core)
    case .store(let list):
      core.announce(list)
      // As it will be read: bits that exist in requests only have been left behind.
      let bytes = try? AccessListBytes.encode(list)
      return MetadataStore.decode(core.encoded(), bytes)
    }
  }

  /// Writes attributes of an object that the daemon owns and perhaps may not write.
  ///
  /// Without privilege `user.` attributes can be set only by those who may write the object itself. The daemon
  /// owns it, so it can let itself in; a crash in between leaves the owner a bit more.
  func writing(to object: borrowing Descriptor, _ write: () throws(Errno) -> Void) throws(Errno) {
    do throws(Errno) {
      try write()
    } catch {
      guard namespace == .user, error == .accessDenied else { throw error }
      let mode = try object.status().mode
      try object.changeMode(mode | 0o600)
      var failure: Errno?
      do throws(Errno) { try write() } catch { failure = error }
      try object.changeMode(mode)
      if let failure { throw failure }
    }
  }

  private func writeParts(
    _ record: CoreRecord, list: ListUpdate, over present: StoredRecord, to object: borrowing Descriptor
  ) throws(Errno) {
    var record = record
    switch list {
    case .keep:
      try writeCore(record, to: object)
    case .store(let list):
      let bytes: [UInt8]
      do { bytes = try AccessListBytes.encode(list) } catch { throw .invalid }
      record.announce(list)
      // Nothing may say for a moment that a list denies nobody a look while it does.
      let isClosing = present.core.hasOpenList && !record.hasOpenList
      if isClosing { try writeCore(record, to: object) }
      try AttributeName.with(listName) { attribute throws(Errno) in
        try object.setAttribute(attribute, to: bytes)
      }
      if !isClosing, record != present.core || present.soundness == .damaged {
        try writeCore(record, to: object)
      }
    case .remove:
      record.announce(nil)
      try writeCore(record, to: object)
      try remove(listName, from: object)
    }
  }

  /// Stores again what was there before a change that failed, unless nobody knows.
  private func putBack(
    _ present: StoredRecord, after update: ListUpdate, to object: borrowing Descriptor
  ) throws(Errno) {
    guard present.soundness == .sound else { return }
    switch update {
    // One step that failed has changed nothing.
    case .keep: return
    // The list itself goes last.
    case .remove: break
    case .store:
      guard let list = present.list, let bytes = try? AccessListBytes.encode(list) else {
        // Nobody looks at a list that was not announced, but it would keep the room that was missing.
        try remove(listName, from: object)
        break
      }
      try AttributeName.with(listName) { attribute throws(Errno) in
        try object.setAttribute(attribute, to: bytes)
      }
    }
    try writeCore(present.core, to: object)
  }

  private func writeCore(_ record: CoreRecord, to object: borrowing Descriptor) throws(Errno) {
    guard !record.isVoid else { return try remove(coreName, from: object) }
    let bytes = record.encoded()
    try AttributeName.with(coreName) { attribute throws(Errno) in
      try object.setAttribute(attribute, to: bytes)
    }
  }

  func remove(_ name: [UInt8], from object: borrowing Descriptor) throws(Errno) {
    do throws(Errno) {
      try AttributeName.with(name) { attribute throws(Errno) in try object.removeAttribute(attribute) }
    } catch .noData {
      return
    }
  }
}

/// What becomes of the access list when a record is written.
enum ListUpdate {
  case keep
  case store(AccessList)
  case remove
}
