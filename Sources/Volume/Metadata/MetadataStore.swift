// Our record of an object, in its extended attributes. Fail closed: what cannot be read allows nothing.

import AccessControl
import Decisions
import FlagRules
import LinuxFiles
import RecordFormat
import Synchronization

/// Reads and writes records.
///
/// Stateless but for one fact: whether the volume has any.
struct MetadataStore: Sendable {
  /// Where a volume keeps its records; fixed when the volume is made.
  enum Namespace: String, Sendable {
    case trusted
    case user
  }

  let namespace: Namespace
  /// The names of the attributes, made once.
  private let coreName: [UInt8]
  private let listName: [UInt8]
  private let records: RecordsExist

  init(namespace: Namespace, records: RecordsExist) {
    self.namespace = namespace
    self.records = records
    coreName = Array("\(namespace.rawValue).varve.m".utf8)
    listName = Array("\(namespace.rawValue).varve.acl".utf8)
  }

  /// The facts about an object whose status is known, found by directory and name.
  func facts(
    _ status: FileStatus, of name: borrowing FileName, in directory: borrowing Descriptor
  )
    throws(Errno) -> Facts
  {
    guard records.exist, canCarryRecord(status.kind) else { return plain(status) }
    let core = try AttributeName.with(coreName) { attribute throws(Errno) in
      try directory.attribute(attribute, of: name)
    }
    guard let core else { return plain(status) }
    return try facts(status, core: core) { attribute throws(Errno) in
      try directory.attribute(attribute, of: name)
    }
  }

  /// The same through a descriptor of the object itself.
  func facts(_ status: FileStatus, of object: borrowing Descriptor) throws(Errno) -> Facts {
    guard records.exist, canCarryRecord(status.kind) else { return plain(status) }
    let core = try AttributeName.with(coreName) { attribute throws(Errno) in
      try object.attribute(attribute)
    }
    guard let core else { return plain(status) }
    return try facts(status, core: core) { attribute throws(Errno) in try object.attribute(attribute) }
  }

  private func plain(_ status: FileStatus) -> Facts {
    Facts(status: status, record: CoreRecord(), list: nil, soundness: .sound)
  }

  /// Linux refuses `user.` attributes on anything but files and directories.
  func canCarryRecord(_ kind: FileKind) -> Bool {
    namespace == .trusted || kind == .regular || kind == .directory
  }

  private func facts(
    _ status: FileStatus, core: [UInt8],
    read: (borrowing AttributeName) throws(Errno) -> [UInt8]?
  ) throws(Errno) -> Facts {
    let record: CoreRecord
    do {
      record = try CoreRecord(decoding: core.span)
    } catch {
      Log.damage("the record of inode \(status.inode) cannot be read: \(error)")
      return Facts(status: status, record: CoreRecord(), list: nil, soundness: .damaged)
    }
    guard record.presence.contains(.accessList) else {
      return Facts(status: status, record: record, list: nil, soundness: .sound)
    }
    let stored = try AttributeName.with(listName) { attribute throws(Errno) in try read(attribute) }
    guard let stored else {
      Log.damage("the access list of inode \(status.inode) is missing")
      return Facts(status: status, record: record, list: nil, soundness: .damagedList)
    }
    do {
      let list = try AccessListBytes.decode(stored.span)
      return Facts(status: status, record: record, list: list, soundness: .sound)
    } catch {
      Log.damage("the access list of inode \(status.inode) cannot be read: \(error)")
      return Facts(status: status, record: record, list: nil, soundness: .damagedList)
    }
  }

  /// Writes a record and, where `list` says so, the access list.
  ///
  /// A crash between the two steps leaves either no list bit and a list nobody looks at, or both: a list is
  /// written before the bit that announces it and removed after the bit is gone. ENOSPC comes before
  /// anything has changed.
  func write(_ record: CoreRecord, list: ListUpdate, to object: borrowing Descriptor) throws(Errno) {
    try records.announce()
    do throws(Errno) {
      try writeParts(record, list: list, to: object)
    } catch {
      guard namespace == .user, error == .accessDenied else { throw error }
      try writeMadeWritable(record, list: list, to: object)
    }
  }

  /// Writes a record to an object that the daemon owns and may not write.
  ///
  /// Without privilege `user.` attributes can be set only by those who may write the object itself. The daemon
  /// owns it, so it can let itself in; a crash in between leaves the owner a bit more.
  private func writeMadeWritable(
    _ record: CoreRecord, list: ListUpdate, to object: borrowing Descriptor
  ) throws(Errno) {
    let mode = try object.status().mode
    try object.changeMode(mode | 0o600)
    var failure: Errno?
    do throws(Errno) { try writeParts(record, list: list, to: object) } catch { failure = error }
    try object.changeMode(mode)
    if let failure { throw failure }
  }

  private func writeParts(
    _ record: CoreRecord, list: ListUpdate, to object: borrowing Descriptor
  ) throws(Errno) {
    var record = record
    switch list {
    case .keep:
      try writeCore(record, to: object)
    case .store(let list):
      let bytes: [UInt8]
      do { bytes = try AccessListBytes.encode(list) } catch { throw .invalid }
      let isFirst = record.marks.insert(.accessList).inserted
      try AttributeName.with(listName) { attribute throws(Errno) in
        try object.setAttribute(attribute, to: bytes)
      }
      do throws(Errno) {
        try writeCore(record, to: object)
      } catch {
        // Nobody looks at a list that was not announced, but it would keep the room that was missing. If it
        // cannot be taken away either, the first error is the one to tell.
        if isFirst { try? remove(listName, from: object) }
        throw error
      }
    case .remove:
      record.marks.remove(.accessList)
      try writeCore(record, to: object)
      try remove(listName, from: object)
    }
  }

  private func writeCore(_ record: CoreRecord, to object: borrowing Descriptor) throws(Errno) {
    guard !record.isVoid else { return try remove(coreName, from: object) }
    let bytes = record.encoded()
    try AttributeName.with(coreName) { attribute throws(Errno) in
      try object.setAttribute(attribute, to: bytes)
    }
  }

  private func remove(_ name: [UInt8], from object: borrowing Descriptor) throws(Errno) {
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
