// `system.varve.extension`: whether views hide the extension of a file or package, as far as that was set.
//
// `hide` is a bit of what the Finder knows, so Macs and Samba see it; `show` is kept in the names record. One takes the
// other away. Where both are stored, the bit counts.

import Decisions
import DisplayNames
import ItemKinds
import LinuxFiles
import RecordFormat
import Synchronization

extension Volume {
  func extensionState(of node: Node, for caller: Caller) throws(Errno) -> [UInt8] {
    try locks.holding(.shared(node.stripe)) { () throws(Errno) in
      let object = try hold(node)
      try gate.require(caller, .readAttributes, on: object.facts.item)
      // First: 'varve check' learns of damage by it, whatever the item is.
      let names = try names(of: object)
      let info = try storedFinderInfo(of: object)
      try requireExtension(node, info)
      if hidesExtension(info) { return Array("hide".utf8) }
      return names.showsExtension ? Array("show".utf8) : []
    }
  }

  /// An empty value says nothing again.
  func setExtensionState(of node: Node, to value: [UInt8], for caller: Caller) throws(Errno) {
    let state: ExtensionState
    switch value {
    case Array("hide".utf8): state = .hide
    case Array("show".utf8): state = .show
    case []: state = .unset
    default: throw .invalid
    }
    try changing(node, for: caller) { () throws(Errno) in
      let object = try hold(node)
      try gate.require(caller, .writeExtended, on: object.facts.item)
      let info = try storedFinderInfo(of: object)
      try requireExtension(node, info)
      try requireUp(node)
      try set(state, of: node, object, info)
    }
  }

  private func set(
    _ state: ExtensionState, of node: Node, _ object: HeldObject, _ info: [UInt8]?
  ) throws(Errno) {
    var names = try namesOrShown(of: object)
    let isNew = names.showsExtension != (state == .show)
    names.showsExtension = state == .show
    let changed = finderInfo(info, hidingExtension: state == .hide)
    if changed != info { try storeFinderInfo(changed, to: object) }
    // A damaged record says `show` as well, and goes when that is set anew.
    guard isNew || state == .show || object.facts.record.hasNames != !names.isVoid else { return }
    forgetFacts(of: node)
    do throws(Errno) {
      _ = try rewrite(names, over: object.facts.stored, to: object)
    } catch {
      // Both or neither; the first error is the one to tell.
      if changed != info { try? storeFinderInfo(info, to: object) }
      throw error
    }
  }

  /// Damage counts as `show`: the whole name lies to nobody.
  private func namesOrShown(of object: HeldObject) throws(Errno) -> NamesRecord {
    do throws(Errno) {
      return try names(of: object)
    } catch .inputOutput {
      var shown = NamesRecord()
      shown.showsExtension = true
      return shown
    }
  }

  /// A record that is not announced says nothing; EIO of one that is missing or damaged.
  private func names(of object: HeldObject) throws(Errno) -> NamesRecord {
    guard object.facts.record.hasNames else { return NamesRecord() }
    return try store.namesRecord(of: object.facts.status) { name throws(Errno) in
      if let nameless = object.nameless { return nameless.attribute(name.copy()) }
      return try object.descriptor.descriptor.attribute(name)
    }
  }

  /// Only files and packages have an extension that a view could hide.
  private func requireExtension(_ node: Node, _ info: [UInt8]?) throws(Errno) {
    guard node.kind != .regular else { return }
    let name = node.lastName.withLock { $0.name }
    let finder = info.flatMap { FinderFacts($0, isDirectory: true) } ?? FinderFacts()
    let isPackage = viewRules.kinds.isPackage(
      name.span, isRoot: node.id == root.id, hasBundleBit: finder.flags.contains(.bundle))
    guard node.isDirectory, isPackage else { throw .unsupported }
  }

  private func hidesExtension(_ info: [UInt8]?) -> Bool {
    info.flatMap { FinderFacts($0, isDirectory: false) }?.flags.contains(.extensionHidden) ?? false
  }

  /// The stored bytes with the bit set or clear; nil for nothing but zeros.
  private func finderInfo(_ info: [UInt8]?, hidingExtension hides: Bool) -> [UInt8]? {
    guard hides != hidesExtension(info) else { return info }
    var bytes = info?.count == FinderFacts.size ? info ?? [] : [UInt8](repeating: 0, count: FinderFacts.size)
    // The lower half of the flags, which are big-endian.
    bytes[9] ^= UInt8(truncatingIfNeeded: FinderFacts.Flags.extensionHidden.rawValue)
    return bytes.allSatisfy { $0 == 0 } ? nil : bytes
  }
}
