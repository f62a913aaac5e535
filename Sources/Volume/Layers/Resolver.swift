// From a node to its object, through the directories it is in.
//
// For every request, which names its object by a number: what is in use is held open, so that a request reaches it in
// one call. `GuardTests` hold the calls of each operation.

import LayerRules
import LinuxFiles
import Synchronization

/// Finds the way to objects.
///
/// Never follows a link and never leaves the tree of the root.
struct Resolver: ~Copyable, Sendable {
  let root: Node
  let top: LayerDirectory
  /// Nil where there is one layer.
  let stack: LayerStack?
  let directories: DirectoryCache
  let nodes: NodeTable
  let unsettled: UnsettledNames
  /// Held while a directory is renamed, until its node is known under the new name.
  ///
  /// A request holds the lock of its object and not those of the directories above it. With this held, what is
  /// remembered of all directories is where they are.
  let directoryMoves = Mutex(())

  init(
    root: Node, top: LayerDirectory, stack: LayerStack?, directories: DirectoryCache, nodes: NodeTable,
    unsettled: UnsettledNames
  ) {
    self.root = root
    self.top = top
    self.stack = stack
    self.directories = directories
    self.nodes = nodes
    self.unsettled = unsettled
  }

  /// The way to a node.
  func reach(_ node: Node) throws(Errno) -> Reach {
    if node.id == root.id { return .held(top.descriptor) }
    if let held = held(node) ?? unsettled.way(to: node) { return .held(held) }
    if let way = indexed(node) { return way }
    let last = node.lastName.withLock { $0 }
    // Without a name and without anything that holds it open, nothing leads there any more.
    guard let parent = last.parent else { throw .stale }
    guard stack != nil else { return .named(try directory(parent), last.name) }
    // The directory has a part in each layer that something in it is found in.
    let layer = node.layer
    guard let part = try parts(parent).all.first(where: { $0.layer == layer }) else { throw .stale }
    return .named(LayerDirectory(part), last.name)
  }

  /// A descriptor that leads to an object without a name: one that lost it, or never had one.
  private func held(_ node: Node) -> SharedDescriptor? {
    guard node.lastName.withLock({ $0.parent == nil }) else { return nil }
    return node.existingAttachment?.state.withLock { $0.file.handles.first?.object ?? $0.pin.way }
  }

  /// The entry of the index, for what has names that do not lead to it.
  private func indexed(_ node: Node) -> Reach? {
    guard let stack, let entry = node.indexed, entry.layer == node.layer,
      let directory = stack.layer(entry.layer)?.index?.directory
    else { return nil }
    return .named(directory, entry.name.bytes)
  }

  /// A directory to reach children by.
  ///
  /// A miss goes up to the nearest directory that is open and down again, one component at a time, each
  /// compared with the node it should be. Directories on the way may be renamed meanwhile; so a way that is not
  /// found is walked once more while none is.
  ///
  /// Of a directory that several layers have, the topmost one.
  func directory(_ node: Node) throws(Errno) -> LayerDirectory {
    if node.id == root.id { return top }
    if stack != nil { return LayerDirectory(try parts(node).top) }
    guard node.isDirectory else { throw .notDirectory }
    if let directory = openDirectory(node) { return directory }
    do throws(Errno) {
      return try walk(to: node)
    } catch {
      // EXDEV is a mount point, or what was moved out of its directory while it was opened beneath that.
      guard error == .stale || error == .crossDevice else { throw error }
      return try directoryMoves.withLock { _ throws(Errno) in try walk(to: current(node), isSecond: true) }
    }
  }

  private func walk(to node: Node, isSecond: Bool = false) throws(Errno) -> LayerDirectory {
    var missing: [Node] = []
    var current = node
    var nearest = openDirectory(current)
    while nearest == nil {
      missing.append(current)
      guard missing.count <= Resolver.deepest else { throw .tooManySymbolicLinks }
      guard let parent = current.lastName.withLock({ $0.parent }) else { throw .stale }
      current = isSecond ? self.current(parent) : parent
      nearest = current.id == root.id ? top : openDirectory(current)
    }
    guard var directory = nearest else { throw .stale }
    for node in missing.reversed() {
      do throws(Errno) { directory = try descend(from: directory, to: node) } catch {
        if isSecond { unsettled.sawChange() }
        throw error
      }
    }
    return directory
  }

  /// The node of a directory that the kernel knows now.
  ///
  /// The kernel may have forgotten a directory and found it again, as another node, while something in it was last seen
  /// in the former one. Only the present one follows when the directory is renamed.
  func current(_ directory: Node) -> Node { nodes.node(of: directory.backing) ?? directory }

  /// Renames a directory: `move` also tells its node, and that of another one it changes places with.
  ///
  /// `move` must not ask for a way, and takes no lock that a request holds while it asks for one.
  func movingDirectory(_ move: () throws(Errno) -> Void) throws(Errno) {
    try directoryMoves.withLock { _ throws(Errno) in try move() }
  }

  /// More levels than anybody makes; a circle of hints, which cannot be, would end here.
  static let deepest = 1_000_000

  private func openDirectory(_ node: Node) -> LayerDirectory? {
    guard let attachment = node.existingAttachment else {
      return unsettled.way(to: node).map { LayerDirectory($0) }
    }
    let descriptor =
      attachment.state.withLock { $0.directory.descriptor ?? $0.pin.way } ?? unsettled.way(to: node)
    guard let descriptor else { return nil }
    attachment.wasUsed.store(true, ordering: .relaxed)
    return LayerDirectory(descriptor)
  }

  private func descend(from parent: LayerDirectory, to node: Node) throws(Errno) -> LayerDirectory {
    let name = node.lastName.withLock { $0.name }
    let found: LayerDirectory
    do throws(Errno) {
      found = try FileName.with(name) { name throws(Errno) in try parent.descend(name) }
    } catch {
      // It was renamed meanwhile, or changed places with a link: that is no word about the name the request is about.
      let isElsewhere = error == .noSuchFile || error == .notDirectory || error == .tooManySymbolicLinks
      throw isElsewhere ? .stale : error
    }
    guard ObjectIdentity(try found.descriptor.descriptor.status()) == node.backing else { throw .stale }
    directories.keep(found.descriptor, for: node.attachment)
    return found
  }

  /// What stands under a name of a directory; nil if nothing does.
  ///
  /// The one way from a name to what it means, whatever layers there are.
  func find(_ name: borrowing FileName, in node: Node) throws(Errno) -> FoundName? {
    guard stack != nil else {
      let directory = try directory(node)
      return try directory.find(name).map { FoundName(directory: directory, status: $0) }
    }
    return try find(name, in: try parts(node).all[...])
  }

  /// The same for a name that was just read from the part of one layer: those of lowers above it do not have it.
  func findListed(
    _ name: borrowing FileName, in node: Node, by layer: UInt8
  ) throws(Errno) -> FoundName? {
    let parts = try parts(node).all
    guard let place = parts.firstIndex(where: { $0.layer == layer }) else {
      return try find(name, in: parts[...])
    }
    if place > 0, parts[0].layer == 0 {
      guard case .missing = try Found.find(name, in: parts[..<1]) else {
        return try find(name, in: parts[..<1])
      }
    }
    return try find(name, in: parts[place...])
  }

  /// The same of a directory that is made of these parts.
  func find(_ name: borrowing FileName, in parts: ArraySlice<LayerPart>) throws(Errno) -> FoundName? {
    guard let seen = try FoundName(name, in: parts) else { return nil }
    return try found(seen.status, name, in: seen.directory)
  }

  /// What a name leads to, of which the object is this.
  private func found(
    _ status: FileStatus, _ name: borrowing FileName, in directory: LayerDirectory
  ) throws(Errno) -> FoundName {
    guard let stack, directory.layer > 0, status.kind != .directory else {
      return FoundName(directory: directory, status: status)
    }
    let links = try stack.trace(status, in: directory.layer) { () throws(Errno) in
      guard let store = stack.layer(directory.layer)?.store else { throw .stale }
      return try store.record(of: status) { attribute throws(Errno) in
        try directory.attribute(attribute, of: name)
      }.core
    }
    return FoundName(directory: directory, status: links?.object?.status ?? status, links: links)
  }

  /// What the object is now; ESTALE if something else stands where it was.
  func status(of node: Node, by reach: Reach) throws(Errno) -> FileStatus {
    let status = try notMoved { () throws(Errno) in try reach.status() }
    guard ObjectIdentity(status) == node.backing else {
      unsettled.sawChange()
      throw .stale
    }
    guard status.linkCount == 0, let nameless = node.nameless else { return status }
    return nameless.shown(status)
  }

  /// A descriptor of the object itself, so that what is decided and done next is about it and nothing else; with
  /// its status.
  func hold(_ node: Node) throws(Errno) -> (SharedDescriptor, FileStatus) {
    let reach = try reach(node)
    let object = try notMoved { () throws(Errno) in try reach.hold() }
    return (object, try status(of: node, by: .held(object)))
  }

  /// Something else under the name, or nothing, is no word about the name that the request is about.
  private func notMoved<Found>(_ find: () throws(Errno) -> Found) throws(Errno) -> Found {
    do throws(Errno) {
      return try find()
    } catch {
      guard error == .noSuchFile || error == .notDirectory else { throw error }
      unsettled.sawChange()
      throw .stale
    }
  }

  /// Opens the object's content; the object that was opened is compared with the node.
  ///
  /// Without waiting: a FIFO that was put under the name behind the mount would hold the worker and its locks, and so
  /// would a lease, which delays the request.
  func open(
    _ node: Node, by reach: Reach, flags: OpenFlags
  ) throws(Errno) -> (SharedDescriptor, FileStatus) {
    // A lower keeps its access times.
    let flags = node.layer == 0 ? flags.union(.nonBlocking) : flags.union([.nonBlocking, .noAccessTime])
    let opened = try Errno.delayedByLease { () throws(Errno) in
      try flags.openLeniently { flags throws(Errno) in try reach.open(flags) }
    }
    return (opened, try status(of: node, by: .held(opened)))
  }
}
