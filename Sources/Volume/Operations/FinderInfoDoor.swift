// `com.apple.FinderInfo` and `user.com.apple.FinderInfo`: stored, all but the invisible bit, which is the flag `hidden`.

import Decisions
import FlagRules
import LinuxFiles
import RecordFormat

extension Volume {
  func finderInfo(of node: Node, for caller: Caller) throws(Errno) -> [UInt8] {
    try locks.holding(.shared(node.stripe)) { () throws(Errno) in
      let object = try hold(node)
      try gate.require(caller, .readExtended, on: object.facts.item)
      let info = FinderInfo(
        stored: try storedFinderInfo(of: object), flags: tellableFlags(of: object, to: caller))
      guard !info.isEmpty else { throw .noData }
      return info.bytes
    }
  }

  /// Whether the attribute is to be listed; Linux lets nobody read `user.` attributes of links and devices.
  func listsFinderInfo(_ object: HeldObject, for caller: Caller) throws(Errno) -> Bool {
    guard object.facts.item.kind == .file || object.facts.item.kind == .directory else { return false }
    if tellableFlags(of: object, to: caller).contains(.hidden) { return true }
    return try !FinderInfo(stored: storedFinderInfo(of: object), flags: []).isEmpty
  }

  /// The flags, as far as the caller may know them by any door: reading them takes another right than reading attributes
  /// like this one.
  private func tellableFlags(of object: HeldObject, to caller: Caller) -> FileFlags {
    let item = object.facts.item
    return gate.allows(caller, .readAttributes, on: item) ? item.flags : []
  }

  func setFinderInfo(
    of node: Node, to bytes: [UInt8], _ setting: AttributeSetting, for caller: Caller
  ) throws(Errno) {
    guard let wanted = FinderInfo(bytes) else { throw .invalid }
    try changeFinderInfo(of: node, to: wanted, setting, for: caller)
  }

  /// As if nothing but zeros were set: the flag goes too.
  func removeFinderInfo(of node: Node, for caller: Caller) throws(Errno) {
    try changeFinderInfo(of: node, to: FinderInfo(stored: nil, flags: []), .replace, for: caller)
  }

  /// Asks for the right to extended attributes, and for that of chflags if the flag changes.
  private func changeFinderInfo(
    of node: Node, to wanted: FinderInfo, _ setting: AttributeSetting, for caller: Caller
  ) throws(Errno) {
    try changing(node, for: caller) { () throws(Errno) in
      let object = try hold(node)
      let (item, record) = (object.facts.item, object.facts.record)
      try gate.require(caller, .writeExtended, on: item)
      let former = try storedFinderInfo(of: object)
      let isThere = !FinderInfo(stored: former, flags: tellableFlags(of: object, to: caller)).isEmpty
      if setting == .create, isThere { throw .exists }
      if setting == .replace, !isThere { throw .noData }
      let change = FlagChange(from: item.flags, to: wanted.applied(to: item.flags))
      try gate.require(caller, .setFlags(change.after), scene(object.facts))
      try requireUp(node)
      let rest = wanted.isRestEmpty ? nil : wanted.rest
      if rest != former { try storeFinderInfo(rest, to: object) }
      guard !change.isNothing else { return }
      var changed = record
      changed.flags = change.after
      try changingPolicy(of: node, object, for: caller) { () throws(Errno) in
        do throws(Errno) {
          return try rewrite(changed, list: .keep, over: object.facts.stored, to: object)
        } catch {
          // Both or neither; the first error is the one to tell.
          if rest != former { try? storeFinderInfo(former, to: object) }
          throw error
        }
      }
    }
  }

  func storedFinderInfo(of object: HeldObject) throws(Errno) -> [UInt8]? {
    try object.attribute(Volume.finderInfoName)
  }

  func storeFinderInfo(_ bytes: [UInt8]?, to object: HeldObject) throws(Errno) {
    try object.storeAttribute(Volume.finderInfoName, bytes)
  }
}
