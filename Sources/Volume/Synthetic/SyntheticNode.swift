// Nodes that no object of a layer stands behind: `.varve` at the root of the mount, which is not listed, and what is in it.
//
// An operation that means one of these nodes asks it for the answer; everything that would change one, or make, link or
// remove something in it, gets EPERM from `Volume.node(_:)`.

package import AccessControl
import Decisions
package import LinuxFiles

/// A node of the volume's own; its number is never given to anything else.
enum SyntheticNode: NodeID {
  case directory = 2
  case status = 3

  /// The node of a name in the directory.
  init?(named name: borrowing FileName) {
    guard name.equals(SyntheticNode.statusName) else { return nil }
    self = .status
  }

  static let statusName = Array("status".utf8)

  /// Users may look at it and, if it is a file, read it.
  func attributes(since start: Timestamp) -> Attributes {
    let isDirectory = self == .directory
    var shown = Attributes(kind: isDirectory ? .directory : .regular, mode: isDirectory ? 0o555 : 0o444)
    shown.inode = UInt64.max - rawValue
    (shown.access, shown.modification, shown.change, shown.birth) = (start, start, start, start)
    return shown
  }

  /// access(2).
  func requireAccess(mask: UInt32) throws(Errno) {
    guard mask & 2 == 0 else { throw Errno(.readOnlyText) }
  }

  /// Whether it can be opened in this mode; directories cannot, so their names are not listed.
  func requireOpen(_ mode: OpenMode = .read) throws(Errno) {
    guard self == .status else { throw Errno(.unlistedNames) }
    guard !mode.contains(.write), !mode.contains(.truncate) else { throw Errno(.readOnlyText) }
  }
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

  /// Nil for names that mean an object.
  func lookupSynthetic(
    _ name: borrowing FileName, in parent: NodeID, for caller: Caller
  ) throws(Errno) -> LookupAnswer? {
    let node: SyntheticNode?
    switch parent {
    case Volume.rootNode where name.equals(VolumeDirectory.name):
      node = mounted.showsReservedDirectory ? .directory : nil
    case SyntheticNode.directory.rawValue: node = SyntheticNode(named: name)
    default: return nil
    }
    try requireEntry(caller)
    guard let node else { return .missing(.none) }
    return .found(
      Entry(
        node: node.rawValue, attributes: node.attributes(since: startedAt), nameValidity: .none,
        attributeValidity: .none))
  }

  /// Opening the status makes its text; the handle keeps it.
  func open(_ node: SyntheticNode, _ mode: OpenMode, for caller: Caller) throws(Errno) -> OpenAnswer {
    try node.requireOpen(mode)
    try requireEntry(caller)
    try handles.requireRoom(for: caller.user)
    // Without a copy: the size is not known beforehand, so reads must not be cut at it.
    let file = OpenFile(node: nil, .text(Array(statusText().utf8)), mode: mode, route: .direct)
    return OpenAnswer(handle: handles.add(file, for: caller.user), route: file.route)
  }
}
