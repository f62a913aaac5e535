// `system.varve.flags`, `system.varve.acl` and `system.varve.owner`: the record of an object, as text that
// people and scripts use.
//
// All take the same lock, the same checks and the same stored record as every other way in.

import AccessControl
import Decisions
import DirectoryModes
import FlagRules
import LinuxFiles
import RecordFormat

/// An attribute that is a door of the volume and not stored under its name.
enum AttributeDoor {
  case flags
  case list
  /// The owner as an identity: a user, or the group that owns the object in place of one.
  case owner

  init?(_ name: borrowing AttributeName) {
    if name.equals("system.varve.flags") {
      self = .flags
    } else if name.equals("system.varve.acl") {
      self = .list
    } else if name.equals("system.varve.owner") {
      self = .owner
    } else {
      return nil
    }
  }
}

extension Volume {
  func read(_ door: AttributeDoor, of node: Node, for caller: Caller) throws(Errno) -> [UInt8] {
    try locks.holding(.shared(node.stripe)) { () throws(Errno) in
      let facts = try facts(of: node)
      try gate.require(caller) { $0.readAttributes(facts.item) }
      switch door {
      case .owner:
        guard facts.item.record != .damaged else { throw .inputOutput }
        let owner = facts.item.ownerGroup.map(Identity.group) ?? .user(facts.item.user)
        return Array(AccessListText.print(owner, names: .system).utf8)
      case .flags:
        guard facts.item.record != .damaged else { throw .inputOutput }
        return Array(facts.item.flags.text.utf8)
      case .list:
        guard facts.item.record == .sound else { throw .inputOutput }
        guard let list = facts.item.list else { throw .noData }
        // Complete, so that a list which is read, edited and written back loses nothing.
        let text = AccessListText.print(
          list, for: node.isDirectory ? .directory : .file, names: .system, detail: .complete)
        return Array(text.utf8)
      }
    }
  }

  func write(_ door: AttributeDoor, of node: Node, _ value: [UInt8], for caller: Caller) throws(Errno) {
    guard let text = String(validating: value, as: UTF8.self) else { throw .invalid }
    switch door {
    case .owner: try changeOwner(of: node, text, for: caller)
    case .flags:
      let wanted: FileFlags
      do {
        wanted = try FileFlags.instruction(text).applied(to: [])
      } catch {
        throw .invalid
      }
      try changeFlags(of: node, for: caller) { _ in wanted }
    case .list:
      guard !text.isEmpty else { return try clear(door, of: node, for: caller) }
      let list: AccessList
      do {
        list = try AccessListText.readList(text, names: .system)
      } catch {
        throw .invalid
      }
      try changeList(of: node, to: list.isEmpty ? nil : list, for: caller)
    }
  }

  func clear(_ door: AttributeDoor, of node: Node, for caller: Caller) throws(Errno) {
    switch door {
    // There is no object without an owner.
    case .owner: throw .notPermitted
    case .flags: try changeFlags(of: node, for: caller) { _ in [] }
    case .list: try changeList(of: node, to: nil, for: caller)
    }
  }

  /// Hands an object to a user, which is chown, or to a group.
  private func changeOwner(of node: Node, _ text: String, for caller: Caller) throws(Errno) {
    let owner: Identity
    do { owner = try AccessListText.readIdentity(text, names: .system) } catch { throw .invalid }
    switch owner {
    case .user(let user):
      var change = AttributeChange()
      change.user = user
      _ = try changeAttributes(of: node.id, change, handle: nil, for: caller)
    case .group(let group): try changeOwnerGroup(of: node, to: group, for: caller)
    case .everyone, .owner, .owningGroup, .nobody: throw .invalid
    }
  }

  private func changeOwnerGroup(of node: Node, to group: UInt32, for caller: Caller) throws(Errno) {
    guard store.canCarryRecord(node.kind) else { throw .unsupported }
    try locks.holding(.exclusive(node.stripe)) { () throws(Errno) in
      let object = try hold(node)
      let facts = object.facts
      try gate.require(caller) { $0.changeOwnerGroup(of: facts.item, to: group) }
      var record = facts.record
      record.ownerGroup = group
      try changingPolicy(of: node, object) { () throws(Errno) in
        // As with chown: nobody's set-id program becomes somebody else's.
        if facts.mayCarryPrivilege {
          try object.descriptor.descriptor.changeMode(facts.item.mode.afterChangeOfOwner.bits)
        }
        return try store.rewrite(
          record, list: .keep, over: object.facts.stored, to: object.descriptor.descriptor)
      }
      link?.expireAttributes(node.id)
    }
  }

  /// chflags by any door.
  func changeFlags(
    of node: Node, for caller: Caller, _ wanted: (FileFlags) -> FileFlags
  ) throws(Errno) {
    try locks.holding(.exclusive(node.stripe)) { () throws(Errno) in
      let object = try hold(node)
      let facts = object.facts
      // Not even "no change" can be said of flags that nobody can read.
      guard facts.item.record != .damaged else { throw .inputOutput }
      let change = FlagChange(from: facts.item.flags, to: wanted(facts.item.flags))
      try gate.require(caller) { $0.changeFlags(of: facts.item, change) }
      guard !change.isNothing else { return }
      guard store.canCarryRecord(node.kind) else { throw .unsupported }
      var record = facts.record
      record.flags = change.after
      try changingPolicy(of: node, object) { () throws(Errno) in
        try forgetWaitingLocks(of: object)
        return try store.rewrite(
          record, list: .keep, over: object.facts.stored, to: object.descriptor.descriptor)
      }
    }
  }

  /// Storing or removing a list by any door.
  func changeList(of node: Node, to list: AccessList?, for caller: Caller) throws(Errno) {
    if let list, list.entries.count > AccessList.entryLimit { throw .invalid }
    if list != nil, !options.rules.usesLists { throw .unsupported }
    try locks.holding(.exclusive(node.stripe)) { () throws(Errno) in
      try replaceList(of: try hold(node), node, with: list, for: caller)
    }
  }

  /// Decides about a new list and stores it; under the object's exclusive lock.
  ///
  /// `node`: the object's node if it has one. What has none, nobody remembers anything about.
  func replaceList(
    of object: HeldObject, _ node: Node?, with list: AccessList?, for caller: Caller
  ) throws(Errno) {
    let facts = object.facts
    try gate.require(caller) { $0.changeList(of: facts.item, to: list) }
    if facts.item.record == .sound, facts.item.list == list { return }
    guard store.canCarryRecord(facts.status.kind) else { throw .unsupported }
    let update = list.map { ListUpdate.store($0) } ?? .remove
    let descriptor = object.descriptor
    guard let node else {
      return try store.write(facts.record, list: update, over: facts.stored, to: descriptor.descriptor)
    }
    try changingPolicy(of: node, object) { () throws(Errno) in
      try store.rewrite(facts.record, list: update, over: facts.stored, to: descriptor.descriptor)
    }
  }
}
