// The reserved name `.varve` at the root of the mount: not listed, not ours to give away, and a place where
// the volume tells about itself.

package import AccessControl
import Decisions
package import LinuxFiles

/// The nodes behind the reserved name.
///
/// Their numbers are never given to anything else.
enum Reserved {
  static let directoryNode: NodeID = 2
  static let statusNode: NodeID = 3

  static func contains(_ node: NodeID) -> Bool { node == directoryNode || node == statusNode }
}

extension Errno {
  /// What is the volume's own is given to nobody.
  static var reserved: Errno { Errno(.reserved) }
}

extension Volume {
  /// Refuses names that belong to the volume's bookkeeping.
  func requireUnreserved(_ name: borrowing FileName, in parent: Node) throws(Errno) {
    if parent.id == root.id, name.equals(VolumeDirectory.name) { throw .reserved }
  }

  /// access(2) on the volume's own nodes, which nobody writes; false for any other node.
  func allowsReserved(_ node: NodeID, mask: UInt32) throws(Errno) -> Bool {
    guard Reserved.contains(node) else { return false }
    guard mask & 2 == 0 else { throw .accessDenied }
    return true
  }

  func requireListable(_ node: NodeID) throws(Errno) {
    if node == Reserved.directoryNode { throw .accessDenied }
  }

  /// The volume tells about itself only to users who may search its root.
  func requireEntry(_ caller: Caller) throws(Errno) {
    try locks.holding(.shared(root.stripe)) { () throws(Errno) in
      let facts = try directoryFacts(root)
      try gate.require(caller, .search, on: facts.item)
    }
  }

  /// The same for the peer of the control socket.
  package func mayEnter(_ subject: Subject) throws(Errno) -> Bool {
    try locks.holding(.shared(root.stripe)) { () throws(Errno) in
      let item = try directoryFacts(root).item
      return Judge(rules: options.rules, subject: subject).decide(.search, on: item).isAllowed
    }
  }

  func reservedLookup(
    _ name: borrowing FileName, in parent: NodeID, for caller: Caller
  ) throws(Errno) -> LookupAnswer? {
    switch parent {
    case Volume.rootNode where name.equals(VolumeDirectory.name):
      try requireEntry(caller)
      guard mounted.showsReservedDirectory else { return .missing(.none) }
      return .found(reservedEntry(Reserved.directoryNode))
    case Reserved.directoryNode:
      try requireEntry(caller)
      guard name.equals(Array("status".utf8)) else { return .missing(.none) }
      return .found(reservedEntry(Reserved.statusNode))
    default:
      return nil
    }
  }

  private func reservedEntry(_ node: NodeID) -> Entry {
    Entry(
      node: node, attributes: reservedAttributesValue(node), nameValidity: .none, attributeValidity: .none)
  }

  func reservedAttributes(_ node: NodeID) throws(Errno) -> AttributeAnswer? {
    guard Reserved.contains(node) else { return nil }
    return AttributeAnswer(attributes: reservedAttributesValue(node), validity: .none)
  }

  private func reservedAttributesValue(_ node: NodeID) -> Attributes {
    let isDirectory = node == Reserved.directoryNode
    return Attributes(
      inode: UInt64.max - node, size: 0, blocks: 0, blockSize: 4096, access: startedAt,
      modification: startedAt, change: startedAt, birth: startedAt,
      kind: isDirectory ? .directory : .regular, mode: isDirectory ? 0o555 : 0o444, linkCount: 1, user: 0,
      group: 0, deviceMajor: 0, deviceMinor: 0)
  }

  /// Opening the status makes its text; the handle keeps it.
  func reservedOpen(_ node: NodeID, _ mode: OpenMode, for caller: Caller) throws(Errno) -> OpenAnswer? {
    guard node == Reserved.statusNode else { return nil }
    guard !mode.contains(.write), !mode.contains(.truncate) else { throw .accessDenied }
    try requireEntry(caller)
    try handles.requireRoom(for: caller.user)
    // Without a copy: the size is not known beforehand, so reads must not be cut at it.
    let file = OpenFile(node: nil, .text(Array(statusText().utf8)), mode: mode, route: .direct)
    return OpenAnswer(handle: handles.add(file, for: caller.user), route: file.route)
  }
}
