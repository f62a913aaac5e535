// Extended attributes: ours are hidden, the doors of this volume answer by name, the rest is the file's.

import AccessControl
import Decisions
package import LinuxFiles
import Synchronization

/// What an attribute name means on the mount.
private enum AttributeRoom {
  /// A door of this volume: flags, list.
  case door(AttributeDoor)
  /// Where the daemon can be asked things; of the root alone.
  case control
  /// Verifies the content, from a byte on.
  case verification(UInt64)
  /// One bit of it is a flag.
  case finderInfo
  /// Whether the extension is shown; stored in two places.
  case extensionState
  /// What follows from the name; stored nowhere.
  case fact(NameFact)
  /// From which layers it is shown.
  case layers
  /// Our stored records: not there for anybody.
  case hidden
  /// No such thing here, and never will be.
  case unsupported
  /// The backing object's own, under this name.
  case stored([UInt8])
  /// Stored, and readable without a right: the kernel asks for it in the name of the user who runs a program.
  case system([UInt8])

  init(_ name: borrowing AttributeName) {
    if name.equals("system.varve.control") {
      self = .control
    } else if let start = VerifyDoor.start(name) {
      self = .verification(start)
    } else if name.hasPrefix("system.") {
      self = AttributeDoor(name).map(AttributeRoom.door) ?? AttributeRoom(told: name) ?? .unsupported
    } else if name.hasPrefix("trusted.varve.") || name.hasPrefix(ignoringCase: "user.varve.") {
      self = NameFact(name).map(AttributeRoom.fact) ?? .hidden
    } else if name.equals("com.apple.FinderInfo") || name.equals("user.com.apple.FinderInfo") {
      self = .finderInfo
    } else if name.hasPrefix("com.apple.") {
      // One attribute under two spellings: what macOS programs say, and what Linux can store.
      self = .stored(Array("user.".utf8) + name.copy())
    } else if name.hasPrefix("security.") {
      // With these encodings Samba keeps a list of its own, which would be shown and not enforced.
      let isForeignList = name.hasPrefix("security.nfs4acl_")
      self = isForeignList ? .unsupported : .system(name.copy())
    } else {
      self = .stored(name.copy())
    }
  }

  private init?(told name: borrowing AttributeName) {
    if name.equals("system.varve.extension") {
      self = .extensionState
    } else if let fact = NameFact(name) {
      self = .fact(fact)
    } else if name.equals("system.varve.layer") {
      self = .layers
    } else {
      return nil
    }
  }
}

extension Volume {
  package func extendedAttribute(
    _ name: borrowing AttributeName, of nodeID: NodeID, for caller: Caller
  ) throws(Errno) -> [UInt8] {
    guard SyntheticNode(rawValue: nodeID) == nil, !isMark(name) else { throw .noData }
    let node = try node(nodeID)
    switch AttributeRoom(name) {
    case .door(let door): return try read(door, of: node, for: caller)
    case .control:
      // The path is a secret of those who can enter the volume: it is told here and nowhere else.
      guard node.id == root.id else { throw .noData }
      try requireEntry(caller)
      guard let path = controlPath else { throw .noData }
      return path
    case .verification(let start): return try verify(node, from: start, for: caller)
    case .finderInfo: return try finderInfo(of: node, for: caller)
    case .extensionState: return try extensionState(of: node, for: caller)
    case .fact(let fact): return try read(fact, of: node, for: caller)
    case .layers: return try layers(of: node, for: caller)
    case .hidden: return try readTwin(name, of: node, for: caller)
    case .unsupported: throw .unsupported
    case .system(let stored):
      try requireThere(stored)
      return try value(stored, of: node, for: caller, needsRight: false)
    case .stored(let stored): return try value(stored, of: node, for: caller, needsRight: true)
    }
  }

  private func value(
    _ stored: [UInt8], of node: Node, for caller: Caller, needsRight: Bool
  ) throws(Errno) -> [UInt8] {
    try locks.holding(.shared(node.stripe)) { () throws(Errno) in
      let reach: Reach
      if needsRight {
        // The object itself: what is decided about and what is read must be one.
        let object = try hold(node)
        try gate.require(caller, .readExtended, on: object.facts.item)
        guard object.nameless == nil else { return try object.attribute(stored).orNoData() }
        reach = .held(object.descriptor)
      } else if let nameless = node.nameless, hasLostNames(node) {
        return try nameless.attribute(stored).orNoData()
      } else if let open = anyHandle(of: node) {
        reach = .held(open)
      } else {
        reach = try resolver.reach(node)
        _ = try resolver.status(of: node, by: reach)
      }
      let value = try AttributeName.with(stored) { attribute throws(Errno) -> [UInt8]? in
        try reach.attribute(attribute)
      }
      return try value.orNoData()
    }
  }

  /// Somebody may have given it another name behind the mount, or on another client, in the moment it lost its last.
  private func hasLostNames(_ node: Node) -> Bool {
    guard let open = anyHandle(of: node), let status = try? open.descriptor.status() else { return true }
    return status.linkCount == 0
  }

  /// EOPNOTSUPP for what the store does not have, or is taken not to have.
  private func requireThere(_ stored: [UInt8]) throws(Errno) {
    guard features.hasCapabilities || stored != Volume.capabilityName else { throw .unsupported }
  }

  static let capabilityName = Array("security.capability".utf8)

  package func setExtendedAttribute(
    _ name: borrowing AttributeName, of nodeID: NodeID, to value: Span<UInt8>, _ setting: AttributeSetting,
    for caller: Caller
  ) throws(Errno) {
    let node = try node(nodeID)
    if isMark(name) { throw .reserved }
    switch AttributeRoom(name) {
    // Nothing is refused for CREATE or REPLACE: what is behind a door is always there, and NFSv4 tools say REPLACE.
    case .door(let door):
      let value = copy(value)
      try changingRights(of: node, by: nodeID) { () throws(Errno) in
        try write(door, of: node, value, setting, for: caller)
      }
    case .finderInfo: try setFinderInfo(of: node, to: copy(value), setting, for: caller)
    case .extensionState: try setExtensionState(of: node, to: copy(value), for: caller)
    case .control, .verification, .fact, .layers: throw .reserved
    case .hidden:
      let value = copy(value)
      try changingRights(of: node, by: nodeID) { () throws(Errno) in
        try writeTwin(name, of: node, value, setting, for: caller)
      }
    case .unsupported: throw .unsupported
    case .system(let stored), .stored(let stored):
      try requireThere(stored)
      try changeStored(stored, setting, of: node, for: caller) { object throws(Errno) in
        if let nameless = object.nameless {
          try nameless.setAttribute(stored, to: copy(value), setting)
        } else {
          try AttributeName.with(stored) { attribute throws(Errno) in
            try object.descriptor.descriptor.setAttribute(attribute, to: value, setting)
          }
        }
        // Still under the lock: a capability that arrives must be stripped by the next unprivileged write.
        node.existingAttachment?.marks.mayHavePrivilege.store(true, ordering: .releasing)
      }
    }
  }

  package func removeExtendedAttribute(
    _ name: borrowing AttributeName, of nodeID: NodeID, for caller: Caller
  ) throws(Errno) {
    let node = try node(nodeID)
    if isMark(name) { throw .reserved }
    switch AttributeRoom(name) {
    case .door(let door):
      try changingRights(of: node, by: nodeID) { () throws(Errno) in try clear(door, of: node, for: caller) }
    case .finderInfo: try removeFinderInfo(of: node, for: caller)
    case .extensionState: try setExtensionState(of: node, to: [], for: caller)
    case .control, .verification, .fact, .layers: throw .reserved
    case .hidden:
      try changingRights(of: node, by: nodeID) { () throws(Errno) in
        try removeTwin(name, of: node, for: caller)
      }
    case .unsupported: throw .unsupported
    case .system(let stored), .stored(let stored):
      try requireThere(stored)
      try changeStored(stored, .replace, of: node, for: caller) { object throws(Errno) in
        if let nameless = object.nameless { return try nameless.removeAttribute(stored) }
        // Asked for by the kernel before a program writes.
        if stored == Volume.capabilityName { return try object.descriptor.descriptor.removeCapability() }
        try AttributeName.with(stored) { attribute throws(Errno) in
          try object.descriptor.descriptor.removeAttribute(attribute)
        }
      }
    }
  }

  /// Whether an attribute says what layers are to one another: of a layered volume these are its own.
  private func isMark(_ name: borrowing AttributeName) -> Bool {
    guard name.hasPrefix("trusted.overlay.") || name.hasPrefix("user.overlay.") else { return false }
    return resolver.stack != nil || directory.isLayered
  }

  private func copy(_ value: Span<UInt8>) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(value.count)
    for index in value.indices { bytes.append(value[index]) }
    return bytes
  }

  private func changeStored(
    _ name: [UInt8], _ setting: AttributeSetting, of node: Node, for caller: Caller,
    _ change: (HeldObject) throws(Errno) -> Void
  ) throws(Errno) {
    try changing(node, for: caller) { () throws(Errno) in
      let object = try hold(node)
      try gate.require(caller, .writeExtended, on: object.facts.item)
      if node.layer != 0 {
        // What the system would refuse is to leave no copy.
        try require(setting, name, of: object)
        try requireUp(node)
      }
      if name == Volume.capabilityName { try requireSettled(object.facts) }
      try change(object)
    }
  }

  private func require(
    _ setting: AttributeSetting, _ name: [UInt8], of object: HeldObject
  ) throws(Errno) {
    // The kernel lets nothing but files and directories have attributes of users; root is no exception.
    let isOrdinary = [.regular, .directory].contains(object.facts.status.kind)
    if !isOrdinary, name.starts(with: "user.".utf8) { throw .reserved }
    guard setting != .createOrReplace else { return }
    let isThere = try AttributeName.with(name) { name throws(Errno) in
      try object.descriptor.descriptor.attribute(name) != nil
    }
    if setting == .create, isThere { throw .exists }
    if setting == .replace, !isThere { throw .noData }
  }

  /// The names, each with a NUL behind it.
  ///
  /// Doors are not listed: programs that copy what is listed must not fail on them. The list for NFSv4 tools is,
  /// where there is one, because that is how backups find it.
  package func listExtendedAttributes(of nodeID: NodeID, for caller: Caller) throws(Errno) -> [UInt8] {
    guard SyntheticNode(rawValue: nodeID) == nil else { return [] }
    let node = try node(nodeID)
    return try locks.holding(.shared(node.stripe)) { () throws(Errno) in
      let object = try hold(node)
      try gate.require(caller, .readExtended, on: object.facts.item)
      let names =
        if let nameless = object.nameless {
          AttributeNames(nameless.attributeNames)
        } else {
          try object.descriptor.descriptor.attributeNames()
        }
      // That something is there is part of what only some may read.
      let tells = gate.allows(caller, .readAttributes, on: object.facts.item)
      var shown = tells ? twinNames(of: object, node) : []
      var seesTrusted: Bool?
      try names.forEach { name throws(Errno) in
        if isMark(name) { return }
        switch AttributeRoom(name) {
        case .door, .control, .verification, .finderInfo, .extensionState, .fact, .layers, .hidden,
          .unsupported:
          return
        case .system(let stored) where stored == Volume.capabilityName && !features.hasCapabilities: return
        case .stored, .system: break
        }
        // Root's own attributes are for root to see; the kernel has the same rule for reading them.
        if name.hasPrefix("trusted.") {
          let sees = seesTrusted ?? gate.isRoot(caller, withAnyOf: .sysAdmin)
          seesTrusted = sees
          guard sees else { return }
        }
        shown += name.copy()
        shown.append(0)
      }
      if tells, object.facts.item.list != nil { shown += Array("system.nfs4_acl\0".utf8) }
      if try listsFinderInfo(object, for: caller) { shown += Volume.finderInfoName + [0] }
      return shown
    }
  }
}

extension [UInt8]? {
  fileprivate func orNoData() throws(Errno) -> [UInt8] {
    guard let self else { throw .noData }
    return self
  }
}
