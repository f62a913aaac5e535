// What is true of an object that is held, read and changed: in the store, or in memory where that has forgotten an open
// file with its last name (`NamelessFile`).

import LinuxFiles
import RecordFormat
import Synchronization

extension HeldObject {
  /// An object of a node, with what is kept of it if it has lost its name.
  init(_ descriptor: SharedDescriptor, _ facts: Facts, of node: Node) {
    self.init(
      descriptor: descriptor, facts: facts, nameless: facts.status.linkCount == 0 ? node.nameless : nil)
  }

  func status() throws(Errno) -> FileStatus {
    let present = try descriptor.descriptor.status()
    return nameless?.shown(present) ?? present
  }

  func changeMode(_ mode: UInt16) throws(Errno) {
    if let nameless { return nameless.changeMode(mode) }
    try descriptor.descriptor.changeMode(mode)
  }

  func changeOwner(user: UInt32?, group: UInt32?) throws(Errno) {
    if let nameless { return nameless.changeOwner(user: user, group: group) }
    try descriptor.descriptor.changeOwner(user: user, group: group)
  }

  func changeTimes(access: TimeChange, modification: TimeChange) throws(Errno) {
    guard let nameless else {
      return try descriptor.descriptor.changeTimes(access: access, modification: modification)
    }
    nameless.changeTimes(try descriptor.descriptor.status(), access: access, modification: modification)
  }

  func attribute(_ name: [UInt8]) throws(Errno) -> [UInt8]? {
    if let nameless { return nameless.attribute(name) }
    return try AttributeName.with(name) { name throws(Errno) in try descriptor.descriptor.attribute(name) }
  }

  /// Sets an attribute, or removes it where `value` is nil; to remove what is not there is no error.
  func storeAttribute(_ name: [UInt8], _ value: [UInt8]?) throws(Errno) {
    do throws(Errno) {
      switch (nameless, value) {
      case (let nameless?, let value?): try nameless.setAttribute(name, to: value, .createOrReplace)
      case (let nameless?, nil): try nameless.removeAttribute(name)
      case (nil, let value?):
        try AttributeName.with(name) { name throws(Errno) in
          try descriptor.descriptor.setAttribute(name, to: value)
        }
      case (nil, nil):
        try AttributeName.with(name) { name throws(Errno) in try descriptor.descriptor.removeAttribute(name) }
      }
    } catch {
      guard value == nil, error == .noData else { throw error }
    }
  }
}

extension Volume {
  /// Writes the record of an object; answers what it says then.
  func rewrite(
    _ record: CoreRecord, list: ListUpdate, over present: StoredRecord, to object: HeldObject
  ) throws(Errno) -> StoredRecord {
    guard let nameless = object.nameless else {
      return try store.rewrite(record, list: list, over: present, to: object.descriptor.descriptor)
    }
    let stored = store.rewritten(record, list: list, over: present)
    nameless.keep(stored)
    return stored
  }

  /// The same of what is stored about its name.
  func rewrite(
    _ names: NamesRecord, over present: StoredRecord, to object: HeldObject
  ) throws(Errno) -> StoredRecord {
    guard object.nameless != nil else {
      return try store.rewrite(names, over: present, to: object.descriptor.descriptor)
    }
    var core = present.core
    core.hasNames = !names.isVoid
    try object.storeAttribute(store.namesName, names.isVoid ? nil : names.encoded())
    return try rewrite(core, list: .keep, over: present, to: object)
  }

  /// What the store will not keep of a file that loses its last name while a process has it open; nil if it keeps all.
  ///
  /// Read before the name goes. What cannot be read then is missing later, as the file would be without this.
  func memory(
    ofFileLosing name: borrowing FileName, _ found: FoundName, _ node: Node
  ) -> NamelessFile? {
    guard !features.keepsUnlinked, resolver.stack == nil, node.kind == .regular, found.status.linkCount <= 1,
      let open = anyHandle(of: node)
    else { return nil }
    do throws(Errno) {
      let facts = try facts(of: found, name)
      var attributes: [[UInt8]: [UInt8]] = [:]
      try open.descriptor.attributeNames().forEach { attribute throws(Errno) in
        let isOurs =
          attribute.hasPrefix("trusted.varve.") || attribute.hasPrefix("user.varve.")
          || attribute.hasPrefix("system.")
        // The record is read as such; what is stored about the name is an attribute nobody is shown.
        guard !isOurs || attribute.equals(store.namesName) else { return }
        attributes[attribute.copy()] = try open.descriptor.attribute(attribute)
      }
      return NamelessFile(facts.status, StoredFacts(facts.stored, facts.head), attributes: attributes)
    } catch {
      return nil
    }
  }
}
