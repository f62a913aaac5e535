// `user.varve.flags` and `user.varve.acl`, with the mount option `twins`: flags and lists as attributes that
// copying and backup programs carry along without knowing of them.
//
// A list is set at once. Of flags, those that lock nothing are set at once; locks wait until a user puts them into
// force, because programs that bring an attribute (rsync, tar, cp) then rename, chmod and fill what was made.

import AccessControl
import Decisions
import FlagRules
import LinuxFiles
import RecordFormat

/// An attribute that says in portable text what another door says.
private enum Twin {
  case flags
  case list

  init?(_ name: borrowing AttributeName) {
    if name.equals("user.varve.flags") {
      self = .flags
    } else if name.equals("user.varve.acl") {
      self = .list
    } else {
      return nil
    }
  }

  var reading: Operation { self == .flags ? .readRecord : .readList }
}

extension FileFlags {
  /// Flags under which the rest of a copy could not be made.
  fileprivate static let locks: FileFlags = immutable.union(appendOnly).union(.systemNoUnlink)
  /// Flags that say how bytes are stored; a copy has its own.
  fileprivate static let ofStorage: FileFlags = synthetic.union(.compressed)
}

extension Volume {
  func readTwin(_ name: borrowing AttributeName, of node: Node, for caller: Caller) throws(Errno) -> [UInt8] {
    guard mounted.showsTwins, let twin = Twin(name) else { throw .noData }
    return try locks.holding(.shared(node.stripe)) { () throws(Errno) in
      let object = try hold(node)
      try gate.require(caller, twin.reading, on: object.facts.item)
      guard let text = try text(of: twin, object, node) else { throw .noData }
      return text
    }
  }

  func writeTwin(
    _ name: borrowing AttributeName, of node: Node, _ value: [UInt8], _ setting: AttributeSetting,
    for caller: Caller
  ) throws(Errno) {
    guard mounted.showsTwins, let twin = Twin(name) else { throw .reserved }
    switch setting {
    case .createOrReplace: break
    case .create: if try has(twin, node, for: caller) { throw .exists }
    case .replace: if try !has(twin, node, for: caller) { throw .noData }
    }
    switch twin {
    case .list:
      guard let list = TwinText.readList(value) else { throw .invalid }
      try changeList(of: node, to: list.unlessVoid, for: caller)
    case .flags:
      guard let flags = TwinText.readFlags(value) else { throw .invalid }
      try bringFlags(flags, to: node, for: caller)
    }
  }

  func removeTwin(_ name: borrowing AttributeName, of node: Node, for caller: Caller) throws(Errno) {
    guard mounted.showsTwins, let twin = Twin(name) else { throw .reserved }
    guard try has(twin, node, for: caller) else { throw .noData }
    switch twin {
    case .list: try changeList(of: node, to: nil, for: caller)
    case .flags: try bringFlags([], to: node, for: caller)
    }
  }

  /// The names of the twins an object has, each with a NUL behind it.
  ///
  /// The caller holds the node's lock. Linux lets nobody read `user.` attributes of anything but files and
  /// directories, so what could not be read is not listed.
  func twinNames(of object: HeldObject, _ node: Node) -> [UInt8] {
    guard mounted.showsTwins, node.kind == .regular || node.kind == .directory else { return [] }
    var names: [UInt8] = []
    // What cannot be read now cannot be copied either: it is left out.
    if (try? text(of: .flags, object, node)) != nil { names += "user.varve.flags".utf8 + [0] }
    if (try? text(of: .list, object, node)) != nil { names += "user.varve.acl".utf8 + [0] }
    return names
  }

  /// The locks that wait until now, if they are others than these and the caller may see to it that these do.
  func mayLetWait(
    _ waiting: FileFlags, for object: HeldObject, of caller: Caller
  ) throws(Errno) -> FileFlags? {
    guard mounted.showsTwins else { return nil }
    let present = try waitingLocks(of: object)
    guard present != waiting else { return nil }
    // Who may not set them may not take them back.
    let locked = object.facts.item.flags.union(present).union(waiting)
    try gate.require(caller, .setFlags(locked), scene(object.facts))
    return present
  }

  private func has(_ twin: Twin, _ node: Node, for caller: Caller) throws(Errno) -> Bool {
    try locks.holding(.shared(node.stripe)) { () throws(Errno) in
      let object = try hold(node)
      // Whether there is a list is part of what only some may read.
      try gate.require(caller, twin.reading, on: object.facts.item)
      return try text(of: twin, object, node) != nil
    }
  }

  private func text(of twin: Twin, _ object: HeldObject, _ node: Node) throws(Errno) -> [UInt8]? {
    let item = object.facts.item
    switch twin {
    case .flags:
      guard item.record != .damaged else { return nil }
      let flags = item.flags.subtracting(.ofStorage).union(try waitingLocks(of: object))
      return flags.isEmpty ? nil : TwinText.flags(flags)
    case .list:
      guard item.record == .sound else { return nil }
      return item.list.map { TwinText.list($0, for: node.isDirectory ? .directory : .file) }
    }
  }

  /// Sets what locks nothing, and lets the locks wait.
  ///
  /// Who may not set all of them sets none. Locks that are in force stay.
  private func bringFlags(_ brought: FileFlags, to node: Node, for caller: Caller) throws(Errno) {
    let brought = brought.subtracting(.ofStorage)
    try changing(node, for: caller) { () throws(Errno) in
      let object = try hold(node)
      let item = object.facts.item
      let inForce = item.flags.intersection(.locks)
      try gate.require(caller, .setFlags(brought.union(inForce)), scene(object.facts))
      try setFlags(
        of: node, object, to: brought.subtracting(.locks).union(inForce),
        waiting: brought.intersection(.locks).subtracting(inForce), for: caller)
    }
  }

  private func waitingLocks(of object: HeldObject) throws(Errno) -> FileFlags {
    let bytes = try object.attribute(waitingName)
    // They lock nothing yet, so what cannot be read is as good as nothing.
    return bytes.flatMap { TwinText.readFlags($0) }?.intersection(.locks) ?? []
  }

  /// Lets these locks wait and no others; under the node's exclusive lock.
  func letWait(_ waiting: FileFlags, for object: HeldObject) throws(Errno) {
    // Nobody copies from it any more.
    guard object.nameless == nil else { return }
    let place = object.descriptor
    try store.writing(to: place.descriptor) { () throws(Errno) in
      try AttributeName.with(waitingName) { name throws(Errno) in
        guard waiting.isEmpty else {
          return try place.descriptor.setAttribute(name, to: TwinText.flags(waiting).span)
        }
        do throws(Errno) {
          try place.descriptor.removeAttribute(name)
        } catch .noData {
          // Nothing waited.
        }
      }
    }
  }

  private var waitingName: [UInt8] { Array("\(store.namespace.rawValue).varve.flags".utf8) }
}
