// `system.varve.posix`: the POSIX lists a file or directory has on the file system below, as text.
//
// They decide about nothing on the volume, where the group has what the mode shows, and that is the list's mask. `varve
// acl import` reads them here, stores entries that say the same, and removes them by an empty value.

import AccessControl
import Decisions
import DirectoryModes
import LinuxFiles

extension Volume {
  func posixListsBelow(of node: Node, for caller: Caller) throws(Errno) -> [UInt8] {
    try locks.holding(.shared(node.stripe)) { () throws(Errno) in
      let object = try hold(node)
      try gate.require(caller, .readList, on: object.facts.item)
      let lists = try posixLists(of: object)
      guard !lists.isEmpty else { throw .noData }
      return Array(lists.text.utf8)
    }
  }

  /// Stores lists, which sets the mode, or removes them: then the group has what the list gave it and no longer the mask.
  ///
  /// It takes the right to change the mode. An item that is still in a lower is brought up without its lists.
  func changePosixListsBelow(of node: Node, to text: String, for caller: Caller) throws(Errno) {
    guard let wanted = PosixLists(text) else { throw .invalid }
    guard wanted.initial == nil || node.isDirectory else { throw .invalid }
    try changing(node, for: caller) { () throws(Errno) in
      let object = try hold(node)
      let facts = object.facts
      let present = try posixLists(of: object)
      let bits = wanted.access?.shownModeBits ?? present.access?.modeBits ?? facts.item.mode.bits & 0o777
      let granted = try requirePermissions(bits, on: facts, for: caller)
      guard wanted != present else { return }
      try requireSettled(facts)
      let mode = keepingRecordsReadable(granted, of: facts.status.kind)
      try changingPolicy(of: node, object, for: caller) { () throws(Errno) in
        try carryOut(wanted, mode, over: present, of: object.descriptor)
        return facts.stored
      }
      link?.expireAttributes(node.id)
    }
  }

  /// First the special bits that go, then the lists, then what is left of the mode.
  ///
  /// The kernel sets the other nine bits together with the list. So whatever a crash leaves grants no more than what was there
  /// or than what was asked for. A step that fails takes the earlier ones back.
  private func carryOut(
    _ wanted: PosixLists, _ mode: Mode, over present: PosixLists, of file: SharedDescriptor
  ) throws(Errno) {
    let former = try file.descriptor.status().mode
    let kept = former & (mode.bits | 0o777)
    var done = PosixLists?.none
    do throws(Errno) {
      if kept != former { try file.descriptor.changeMode(kept) }
      done = present
      if wanted.initial != present.initial {
        try store(wanted.initial, as: .initialList, of: file)
        done?.initial = wanted.initial
      }
      if wanted.access != present.access {
        // The kernel keeps no list that says no more than a mode.
        let list = wanted.access ?? present.access.map { .minimal($0.modeBits) }
        try store(list, as: .accessList, of: file)
        done?.access = wanted.access
      }
      if try file.descriptor.status().mode != mode.bits { try file.descriptor.changeMode(mode.bits) }
    } catch {
      // What was done is taken back; the first error is the one to tell.
      guard let done else { throw error }
      if done.access != present.access {
        try? store(present.access ?? .minimal(former), as: .accessList, of: file)
      }
      if done.initial != present.initial { try? store(present.initial, as: .initialList, of: file) }
      if done.access != present.access || kept != former { try? file.descriptor.changeMode(former) }
      throw error
    }
  }

  private enum BelowName: String {
    case accessList = "system.posix_acl_access"
    case initialList = "system.posix_acl_default"
  }

  private func posixLists(of object: HeldObject) throws(Errno) -> PosixLists {
    var lists = PosixLists()
    guard object.facts.status.kind != .symbolicLink else { return lists }
    lists.access = try posixList(.accessList, of: object)
    if object.facts.status.kind == .directory { lists.initial = try posixList(.initialList, of: object) }
    // The mode says it all.
    if lists.access?.isExtended == false { lists.access = nil }
    return lists
  }

  private func posixList(_ name: BelowName, of object: HeldObject) throws(Errno) -> PosixList? {
    do throws(Errno) {
      let bytes = try AttributeName.with(Array(name.rawValue.utf8)) { name throws(Errno) in
        try object.descriptor.descriptor.attribute(name)
      }
      guard let bytes else { return nil }
      guard let list = PosixList(bytes: bytes) else { throw .badMessage }
      return list
    } catch .unsupported {
      // The file system below has none.
      return nil
    }
  }

  private func store(
    _ list: PosixList?, as name: BelowName, of file: SharedDescriptor
  ) throws(Errno) {
    try AttributeName.with(Array(name.rawValue.utf8)) { name throws(Errno) in
      if let list { return try file.descriptor.setAttribute(name, to: list.bytes) }
      do throws(Errno) { try file.descriptor.removeAttribute(name) } catch .noData {}
    }
  }
}

extension PosixList {
  /// One that says what the nine bits of a mode say.
  fileprivate static func minimal(_ mode: UInt16) -> PosixList {
    func bits(_ shift: UInt16) -> Bits { Bits(truncatingIfNeeded: mode >> shift & 7) }
    return PosixList(owner: bits(6), group: bits(3), other: bits(0))
  }
}
