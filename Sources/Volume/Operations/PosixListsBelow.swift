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
        let file = object.descriptor
        if wanted.initial != present.initial { try store(wanted.initial, as: .initialList, of: file) }
        if wanted.access != present.access {
          // One call: the kernel sets the mode with the list, and keeps no list that says no more than a mode.
          let list =
            wanted.access
            ?? present.access.map { PosixList(owner: $0.owner, group: $0.maskedGroup, other: $0.other) }
          try store(list, as: .accessList, of: file)
        }
        if try file.descriptor.status().mode != mode.bits { try file.descriptor.changeMode(mode.bits) }
        return facts.stored
      }
      link?.expireAttributes(node.id)
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
