// Attributes that are not stored under their names but are ways to the record and the mode of an object.
//
// `system.varve.flags`, `system.varve.acl` and `system.varve.owner` are text for people and scripts; the doors for
// other tools are in files of their own. All take the same lock, the same checks and the same stored record as
// every other way in.

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
  /// By which class a file is encrypted, or what is made in a directory.
  case protection
  /// Whether a file is compressed.
  case compression
  /// The list and the mode together, as NFSv4 tools and Samba know them.
  case nfsList(NFSv4View)
  /// The mode, as programs that copy POSIX access control lists write it.
  case posixList
  /// The entries a directory hands on in POSIX; there are none.
  case posixDefault
  /// POSIX lists that the file has below, where they decide about nothing here; to be imported.
  case posixBelow

  /// The names, which all begin with `system.`.
  init?(_ name: borrowing AttributeName) {
    if name.equals("system.varve.flags") {
      self = .flags
    } else if name.equals("system.varve.acl") {
      self = .list
    } else if name.equals("system.varve.owner") {
      self = .owner
    } else if name.equals("system.varve.class") {
      self = .protection
    } else if name.equals("system.varve.compression") {
      self = .compression
    } else if name.equals("system.nfs4_acl") {
      self = .nfsList(.names)
    } else if name.equals("system.nfs4_acl_xdr") {
      self = .nfsList(.numbers)
    } else if name.equals("system.posix_acl_access") {
      self = .posixList
    } else if name.equals("system.posix_acl_default") {
      self = .posixDefault
    } else if name.equals("system.varve.posix") {
      self = .posixBelow
    } else {
      return nil
    }
  }

  /// What reading it asks.
  var reading: Operation {
    switch self {
    case .list, .nfsList, .posixBelow: .readList
    case .flags, .owner, .protection, .compression: .readRecord
    case .posixList, .posixDefault: .readAttributes
    }
  }

  static func text(_ value: [UInt8]) throws(Errno) -> String {
    guard let text = String(validating: value, as: UTF8.self) else { throw .invalid }
    return text
  }
}

extension Volume {
  func read(_ door: AttributeDoor, of node: Node, for caller: Caller) throws(Errno) -> [UInt8] {
    if case .posixBelow = door { return try posixListsBelow(of: node, for: caller) }
    if case .compression = door { return try compression(of: node, for: caller) }
    let item = try settling(node, for: caller) { () throws(Errno) in
      try locks.holding(.shared(node.stripe)) { () throws(Errno) in
        let facts = try facts(of: node)
        try gate.require(caller, door.reading, on: facts.item)
        if case .protection = door { try requireWholeContent(facts) }
        return facts.item
      }
    }
    // Not under the lock any more: names may have to be asked of a server that is slow.
    switch door {
    case .owner:
      let owner = item.ownerGroup.map(Identity.group) ?? .user(item.user)
      return try withNames(for: caller) { names in Array(AccessListText.print(owner, names: names).utf8) }
    case .flags: return Array(item.flags.text.utf8)
    case .protection:
      guard let protection = item.content.protection else { throw .noData }
      return Array(protection.word.utf8)
    case .list:
      guard let list = item.list else { throw .noData }
      // Complete, so that a list which is read, edited and written back loses nothing.
      return try withNames(for: caller) { names in
        let text = AccessListText.print(
          list, for: node.isDirectory ? .directory : .file, names: names, detail: .complete)
        return Array(text.utf8)
      }
    case .nfsList(let view): return try nfsList(of: item, as: view, for: caller)
    case .posixList:
      // An answer makes `ls -l` print a `+`, which is true where there is a list and a lie elsewhere.
      guard item.list != nil || item.record != .sound else { throw .noData }
      return MinimalPosixList.encode(item.mode)
    case .posixDefault, .posixBelow, .compression: throw .noData
    }
  }

  func write(
    _ door: AttributeDoor, of node: Node, _ value: [UInt8], _ setting: AttributeSetting, for caller: Caller
  ) throws(Errno) {
    switch door {
    case .owner: try changeOwner(of: node, try AttributeDoor.text(value), for: caller)
    case .flags:
      let wanted: FileFlags
      do {
        wanted = try FileFlags.instruction(try AttributeDoor.text(value)).applied(to: [])
      } catch {
        throw .invalid
      }
      try changeFlags(of: node, for: caller) { _ in wanted }
    case .protection:
      let protection = try protection(named: AttributeDoor.text(value))
      try changeClass(of: node, to: protection, for: caller)
    case .compression:
      guard let wanted = CompressionChange(word: try AttributeDoor.text(value)) else { throw .invalid }
      try changeCompression(of: node, to: wanted, for: caller)
    case .list:
      let text = try AttributeDoor.text(value)
      guard !text.isEmpty else { return try clear(door, of: node, for: caller) }
      let mayAsk = { (list: AccessList) throws(Errno) in
        try self.requireListChange(of: node, entries: list.entries.count...list.entries.count, for: caller)
      }
      let list = try withNames(for: caller, mayAsk: mayAsk) { (names) throws(Errno) -> AccessList in
        do { return try AccessListText.readList(text, names: names) } catch { throw .invalid }
      }
      try changeList(of: node, to: list.unlessVoid, for: caller)
    case .nfsList(let view): try changeNFSList(of: node, value, as: view, setting, for: caller)
    case .posixList: try changePosixList(of: node, value, for: caller)
    case .posixDefault: try refusePosixDefault(value)
    case .posixBelow: try changePosixListsBelow(of: node, to: AttributeDoor.text(value), for: caller)
    }
  }

  func clear(_ door: AttributeDoor, of node: Node, for caller: Caller) throws(Errno) {
    switch door {
    // There is no object without an owner.
    case .owner: throw .reserved
    case .flags: try changeFlags(of: node, for: caller) { _ in [] }
    case .protection: try changeClass(of: node, to: nil, for: caller)
    case .compression: try changeCompression(of: node, to: .none, for: caller)
    case .list, .nfsList: try changeList(of: node, to: nil, for: caller)
    // The mode is there whatever is removed, and there is nothing a directory hands on in this way.
    case .posixList, .posixDefault: return
    case .posixBelow: try changePosixListsBelow(of: node, to: "", for: caller)
    }
  }

  /// Hands an object to a user, which is chown, or to a group.
  private func changeOwner(of node: Node, _ text: String, for caller: Caller) throws(Errno) {
    let mayAsk = { (_: Identity) throws(Errno) in try self.requireOwnerChange(of: node, for: caller) }
    let owner = try withNames(for: caller, mayAsk: mayAsk) { (names) throws(Errno) -> Identity in
      do { return try AccessListText.readIdentity(text, names: names) } catch { throw .invalid }
    }
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
    try changing(node, for: caller) { () throws(Errno) in
      let object = try hold(node)
      let facts = object.facts
      try gate.require(caller, .setOwnerGroup(group), scene(facts))
      try requireSettled(facts)
      var record = facts.record
      record.ownerGroup = group
      try changingPolicy(of: node, object, for: caller) { () throws(Errno) in
        // As with chown: no set-id program gets another owner.
        if facts.mayCarryPrivilege {
          try object.changeMode(facts.item.mode.afterChangeOfOwner.bits)
        }
        do throws(Errno) {
          return try rewrite(record, list: .keep, over: facts.stored, to: object)
        } catch {
          if facts.mayCarryPrivilege { try? object.changeMode(facts.status.mode) }
          throw error
        }
      }
      link?.expireAttributes(node.id)
    }
  }

  /// chflags by any door.
  func changeFlags(
    of node: Node, for caller: Caller, _ wanted: (Item) -> FileFlags
  ) throws(Errno) {
    try changing(node, for: caller) { () throws(Errno) in
      let object = try hold(node)
      try setFlags(of: node, object, to: wanted(object.facts.item), waiting: [], for: caller)
    }
  }

  /// Decides about other flags and stores them; under the object's exclusive lock.
  ///
  /// `waiting`: locks that are brought, but not to be in force yet. Those that waited until now are forgotten.
  func setFlags(
    of node: Node, _ object: HeldObject, to flags: FileFlags, waiting: FileFlags, for caller: Caller
  ) throws(Errno) {
    let facts = object.facts
    let change = FlagChange(from: facts.item.flags, to: flags)
    try gate.require(caller, .setFlags(flags), scene(facts))
    if !change.isNothing || mounted.showsTwins { try requireUp(node) }
    let formerlyWaiting = try mayLetWait(waiting, for: object, of: caller)
    // What waits is forgotten last: a crash in between leaves a lock waiting that is in force, and none that is neither.
    let forgetsWaiting = formerlyWaiting != nil && waiting.isEmpty
    if formerlyWaiting != nil, !forgetsWaiting { try letWait(waiting, for: object) }
    guard !change.isNothing else {
      if forgetsWaiting { try letWait([], for: object) }
      return
    }
    try changingPolicy(of: node, object, for: caller) { () throws(Errno) in
      var record = facts.record
      record.flags = change.after
      var stored = facts.stored
      do throws(Errno) {
        stored = try rewrite(record, list: .keep, over: stored, to: object)
        if forgetsWaiting { try letWait([], for: object) }
      } catch {
        // Both or neither; the first error is the one to tell.
        if stored !== facts.stored {
          _ = try? rewrite(facts.record, list: .keep, over: stored, to: object)
        }
        if let formerlyWaiting, !forgetsWaiting { try? letWait(formerlyWaiting, for: object) }
        throw error
      }
      return stored
    }
  }

  /// Refuses to look up the names of a list for a caller who may not store one.
  ///
  /// To store the list that is there asks for no right of those who may read it, and only the names tell whether it is
  /// that one; a list with none of `entries` as its length is not.
  func requireListChange(
    of node: Node, entries: ClosedRange<Int>, for caller: Caller
  ) throws(Errno) {
    try locks.holding(.shared(node.stripe)) { () throws(Errno) in
      let facts = try facts(of: node)
      let item = facts.item
      if item.record == .sound, let list = item.list, entries.contains(list.entries.count),
        gate.allows(caller, .readAttributes, on: item)
      {
        return
      }
      try gate.require(caller, .setOtherList, scene(facts))
    }
  }

  /// Refuses to look up the name of an owner for a caller who may not even take the object for themselves.
  private func requireOwnerChange(of node: Node, for caller: Caller) throws(Errno) {
    try locks.holding(.shared(node.stripe)) { () throws(Errno) in
      let item = try facts(of: node).item
      let present = OwnerChange(user: item.user, group: nil)
      guard !gate.allows(caller, .setOwner(present), on: item) else { return }
      try gate.require(caller, .setOwner(OwnerChange(user: caller.user, group: nil)), on: item)
    }
  }

  /// Storing or removing a list by any door.
  func changeList(of node: Node, to list: AccessList?, for caller: Caller) throws(Errno) {
    if let list, list.entries.count > AccessList.entryLimit { throw .invalid }
    try changing(node, for: caller) { () throws(Errno) in
      try replaceList(of: try hold(node), node, at: lastKnownPath(of: node), with: list, for: caller)
    }
  }

  /// Decides about a new list and stores it; under the object's exclusive lock.
  ///
  /// `node`: the object's node if it has one. What has none, nobody remembers anything about.
  func replaceList(
    of object: HeldObject, _ node: Node?, at place: @autoclosure () -> [UInt8], with list: AccessList?,
    for caller: Caller
  ) throws(Errno) {
    let facts = object.facts
    try gate.require(caller, .setList(list), scene(facts))
    if facts.item.record == .sound, facts.item.list == list { return }
    let update = list.map { ListUpdate.store($0) } ?? .remove
    let descriptor = object.descriptor
    guard let node else {
      try store.write(facts.record, list: update, over: facts.stored, to: descriptor.descriptor)
      var after = facts.item
      after.list = list
      audit?.add(.change(PolicyChange(caller, place(), from: facts.item, to: after)))
      return
    }
    try changingPolicy(of: node, object, for: caller) { () throws(Errno) in
      try rewrite(facts.record, list: update, over: facts.stored, to: object)
    }
  }
}
