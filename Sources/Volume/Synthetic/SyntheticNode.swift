// Nodes that no object of a layer stands behind: `.varve` at the root of the mount, which is not listed, and what is in it.
//
// A closed set, so that every operation says what it does with each. An operation that means one of these nodes asks it
// for the answer; everything that would change one, or make, link or remove something in it, gets EPERM from
// `Volume.node(_:)`.
//
// For programs that ask a mount about itself, and for views. An ordinary name pays one comparison for it, at the root
// alone; `GuardTests` hold that it costs no call.

package import AccessControl
import Decisions
package import LinuxFiles

/// A node of the volume's own; its number is never given to anything else.
enum SyntheticNode: NodeID {
  case directory = 2
  case status = 3
  case views = 4

  /// What a name in this node means.
  func child(named name: borrowing FileName) -> SyntheticNode? {
    switch self {
    case .directory: SyntheticNode.named.first { name.equals($0.name) }?.node
    // A view is no node of these: what is shown there are objects.
    case .status, .views: nil
    }
  }

  /// The same along the names of a path.
  func descendant(named names: some Sequence<[UInt8]>) -> SyntheticNode? {
    var here = self
    for name in names {
      guard let next = try? FileName.with(name, { name in here.child(named: name) }) else { return nil }
      here = next
    }
    return here
  }

  /// From the root of the volume on.
  var path: [UInt8] {
    SyntheticNode.named.first { $0.node == self }.map { OwnDirectory.bytes.path(to: $0.name) }
      ?? OwnDirectory.bytes
  }

  static let viewsName = Array("view".utf8)
  private static let named: [(name: [UInt8], node: SyntheticNode)] = [
    (Array("status".utf8), .status), (viewsName, .views),
  ]

  var isDirectory: Bool {
    switch self {
    case .directory, .views: true
    case .status: false
    }
  }

  /// Users may look at it and, if it is a file, read it.
  func attributes(since start: Timestamp) -> Attributes {
    var shown = Attributes(kind: isDirectory ? .directory : .regular, mode: isDirectory ? 0o555 : 0o444)
    shown.inode = UInt64.max - rawValue
    (shown.access, shown.modification, shown.change, shown.birth) = (start, start, start, start)
    return shown
  }

  /// What stands against a deed, for the operations and for `why`.
  ///
  /// The names in a directory are not listed, so it cannot be opened.
  func obstacle(to deed: Deed) -> Obstacle? {
    switch deed {
    case .search: isDirectory ? nil : .notDirectory
    case .read where isDirectory: .unlistedNames
    case .read, .readAttributes, .readExtended, .readList: nil
    case .list: isDirectory ? .unlistedNames : .notDirectory
    case .write, .append, .execute: .readOnlyText
    case .create, .mkdir: isDirectory ? .reserved : .taken
    case .delete, .rename, .link, .writeAttributes, .writeExtended, .writeList, .changeOwner, .changeMode,
      .changeFlags:
      .reserved
    }
  }

  func require(_ deed: Deed) throws(Errno) {
    if let obstacle = obstacle(to: deed) { throw Errno(obstacle) }
  }

  /// access(2).
  func requireAccess(mask: UInt32) throws(Errno) {
    if mask & 2 != 0 { try require(.write) }
  }

  /// open(2) and opendir(3).
  func requireOpen(_ mode: OpenMode = .read) throws(Errno) {
    try require(isDirectory ? .list : .read)
    if mode.contains(.write) || mode.contains(.truncate) { try require(.write) }
  }
}

extension Errno {
  /// What is the volume's own is given to nobody.
  static var reserved: Errno { Errno(.reserved) }
}

extension Volume {
  /// The directory of a number the kernel sent, in which a name is about to be made, given or taken away.
  ///
  /// EROFS, before anything else is asked, where that is a directory of a view.
  func directory(ofNames id: NodeID, for caller: Caller) throws(Errno) -> Node {
    let node = try node(id)
    if ViewTable.isNumber(id) {
      let item = try locks.holding(.shared(node.stripe)) { () throws(Errno) in try directoryFacts(node).item }
      try gate.require(caller, .changeView, on: item)
    }
    return node
  }

  /// The same for a name, which is not one of the volume's own.
  func directory(
    of name: borrowing FileName, in id: NodeID, for caller: Caller
  ) throws(Errno) -> Node {
    let node = try directory(ofNames: id, for: caller)
    if node.id == root.id, name.equals(OwnDirectory.bytes) { throw .reserved }
    return node
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

  /// Refuses to list what has names that are not listed; noted, because people ask why.
  func requireListed(_ node: SyntheticNode, for caller: Caller) throws(Errno) {
    if let obstacle = node.obstacle(to: .list), obstacle == .unlistedNames {
      let item = try locks.holding(.shared(root.stripe)) { () throws(Errno) in try directoryFacts(root).item }
      gate.noteRefusal(by: obstacle, of: caller, at: node.path, on: item)
    }
    try node.requireOpen()
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
