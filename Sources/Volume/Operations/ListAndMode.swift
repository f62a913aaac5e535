// A list and a mode that change together: what other tools call "the access list" is both.

import AccessControl
import Decisions
import DirectoryModes
import LinuxFiles

/// What is to become of an object's list and of its nine permission bits.
struct ListAndMode {
  var list: ListUpdate
  /// None: the mode stays.
  var permissions: UInt16?
}

extension Volume {
  /// Changes list and mode as one: both parts are decided first, and both happen or neither.
  ///
  /// Each asks for the right its own command asks for.
  func changeListAndMode(
    of node: Node, for caller: Caller, _ wanted: (Item) throws(Errno) -> ListAndMode
  ) throws(Errno) {
    try changing(node, for: caller) { () throws(Errno) in
      let object = try hold(node)
      let facts = object.facts
      let wanted = try wanted(facts.item)
      let list = try planList(wanted.list, on: facts, for: caller)
      let mode = try planPermissions(wanted.permissions, on: facts, for: caller)
      guard list != nil || mode != nil else { return }
      if mode != nil { try requireSettled(facts) }
      try changingPolicy(of: node, object, for: caller) { () throws(Errno) in
        try carryOut(list, mode ?? facts.item.mode, on: object)
      }
      if mode != nil { link?.expireAttributes(node.id) }
    }
  }

  /// What to do about the list, by the rules of `chmod +a`; `nil` if it stays.
  private func planList(
    _ update: ListUpdate, on facts: Facts, for caller: Caller
  ) throws(Errno) -> ListUpdate? {
    let wanted: AccessList?
    switch update {
    case .keep: return nil
    case .remove: wanted = nil
    case .store(let list): wanted = list
    }
    let isThere = facts.item.record == .sound && facts.item.list == wanted
    try gate.require(caller, .setList(wanted), scene(facts))
    return isThere ? nil : update
  }

  /// The mode to set, by the rules of chmod; `nil` if it stays.
  private func planPermissions(
    _ permissions: UInt16?, on facts: Facts, for caller: Caller
  ) throws(Errno) -> Mode? {
    let present = facts.item.shownMode
    guard let permissions else { return nil }
    guard permissions != present.bits & 0o777 else {
      try gate.require(caller, .keepMode, on: facts.item)
      return nil
    }
    return try requirePermissions(permissions & 0o777, on: facts, for: caller)
  }

  /// The mode to set with other permissions, by the rules of chmod.
  func requirePermissions(
    _ permissions: UInt16, on facts: Facts, for caller: Caller
  ) throws(Errno) -> Mode {
    let asked = Mode(facts.item.shownMode.without(0o777).bits | permissions)
    let judge = try gate.require(caller, .setMode(asked), on: facts.item)
    return granted(asked, by: judge, on: facts.item, for: caller)
  }

  /// First only the bits that both modes have, then the list, then the rest of the bits.
  ///
  /// So whatever a crash leaves grants no more than what was there or than what was asked for. A step that fails
  /// takes the earlier ones back.
  private func carryOut(
    _ list: ListUpdate?, _ mode: Mode, on object: HeldObject
  ) throws(Errno) -> StoredRecord {
    let former = object.facts.item.mode
    let common = Mode(former.bits & mode.bits)
    if common != former { try setMode(common, of: object) }
    var stored = object.facts.stored
    do throws(Errno) {
      if let list { stored = try rewrite(list, over: stored, of: object) }
      if common != mode { try setMode(mode, of: object) }
    } catch {
      // What was done is taken back; the first error is the one to tell.
      if stored !== object.facts.stored, object.facts.item.record == .sound {
        let back = object.facts.item.list.map(ListUpdate.store) ?? .remove
        _ = try? rewrite(back, over: stored, of: object)
      }
      if common != former { try? setMode(former, of: object) }
      throw error
    }
    return stored
  }

  private func rewrite(
    _ list: ListUpdate, over stored: StoredRecord, of object: HeldObject
  ) throws(Errno) -> StoredRecord {
    try rewrite(object.facts.record, list: list, over: stored, to: object)
  }

  func setMode(_ mode: Mode, of object: HeldObject) throws(Errno) {
    try object.changeMode(keepingRecordsReadable(mode, of: object.facts.status.kind).bits)
  }
}
