// From a node to its object: by directory and name, or by a descriptor that is held.

import LinuxFiles
import Synchronization

/// How an object is reached for one request.
///
/// Whatever is found there is compared with the node's identity before anything is believed or done.
enum Reach {
  case named(SharedDescriptor, [UInt8])
  case held(SharedDescriptor)
}

/// Finds the way to objects.
///
/// Never follows a link and never leaves the tree of the root.
struct Resolver: ~Copyable, Sendable {
  let root: Node
  let rootDescriptor: SharedDescriptor
  let directories: DirectoryCache
  let nodes: NodeTable
  /// Held while a directory is renamed, until its node is known under the new name.
  ///
  /// A request holds the lock of its object and not those of the directories above it. With this held, what is
  /// remembered of all directories is where they are.
  private let directoryMoves = Mutex(())

  init(root: Node, rootDescriptor: SharedDescriptor, directories: DirectoryCache, nodes: NodeTable) {
    self.root = root
    self.rootDescriptor = rootDescriptor
    self.directories = directories
    self.nodes = nodes
  }

  /// The way to a node.
  func reach(_ node: Node) throws(Errno) -> Reach {
    if node.id == root.id { return .held(rootDescriptor) }
    if let held = held(node) { return .held(held) }
    let place = node.place.withLock { $0 }
    // Without a name and without anything that holds it open, nothing leads there any more.
    guard let parent = place.parent else { throw .stale }
    return .named(try directory(parent), place.name)
  }

  /// A descriptor that leads to an object without a name: one that lost it, or never had one.
  private func held(_ node: Node) -> SharedDescriptor? {
    guard node.place.withLock({ $0.parent == nil }) else { return nil }
    return node.existingAttachment?.state.withLock { $0.openFiles.first?.object ?? $0.pin }
  }

  /// A directory to reach children by.
  ///
  /// A miss goes up to the nearest directory that is open and down again, one component at a time, each
  /// compared with the node it should be. Directories on the way may be renamed meanwhile; so a way that is not
  /// found is walked once more while none is.
  func directory(_ node: Node) throws(Errno) -> SharedDescriptor {
    if node.id == root.id { return rootDescriptor }
    guard node.isDirectory else { throw .notDirectory }
    if let descriptor = openDirectory(node) { return descriptor }
    do throws(Errno) {
      return try walk(to: node)
    } catch {
      // EXDEV is a mount point, or what was moved out of its directory while it was opened beneath that.
      guard error == .stale || error == .crossDevice else { throw error }
      return try directoryMoves.withLock { _ throws(Errno) in try walk(to: current(node), isSecond: true) }
    }
  }

  private func walk(to node: Node, isSecond: Bool = false) throws(Errno) -> SharedDescriptor {
    var missing: [Node] = []
    var current = node
    var descriptor = openDirectory(current)
    while descriptor == nil {
      missing.append(current)
      guard missing.count <= Resolver.deepest else { throw .tooManySymbolicLinks }
      guard let parent = current.place.withLock({ $0.parent }) else { throw .stale }
      current = isSecond ? self.current(parent) : parent
      descriptor = current.id == root.id ? rootDescriptor : openDirectory(current)
    }
    guard var descriptor else { throw .stale }
    for node in missing.reversed() {
      descriptor = try descend(from: descriptor, to: node)
    }
    return descriptor
  }

  /// The node of a directory that the kernel knows now.
  ///
  /// The kernel may have forgotten a directory and found it again, as another node, while something in it was last seen
  /// in the former one. Only the present one follows when the directory is renamed.
  private func current(_ directory: Node) -> Node { nodes.node(of: directory.identity) ?? directory }

  /// Renames a directory: `move` also tells its node, and that of another one it changes places with.
  ///
  /// `move` must not ask for a way, and takes no lock that a request holds while it asks for one.
  func movingDirectory(_ move: () throws(Errno) -> Void) throws(Errno) {
    try directoryMoves.withLock { _ throws(Errno) in try move() }
  }

  /// More levels than anybody makes; a circle of hints, which cannot be, would end here.
  private static let deepest = 1_000_000

  private func openDirectory(_ node: Node) -> SharedDescriptor? {
    guard let attachment = node.existingAttachment else { return nil }
    let descriptor = attachment.state.withLock { $0.directory ?? $0.pin }
    if descriptor != nil { attachment.wasUsed.store(true, ordering: .relaxed) }
    return descriptor
  }

  private func descend(from parent: SharedDescriptor, to node: Node) throws(Errno) -> SharedDescriptor {
    let name = node.place.withLock { $0.name }
    let opened: SharedDescriptor
    do throws(Errno) {
      opened = try FileName.with(name) { name throws(Errno) in
        SharedDescriptor(try parent.descriptor.openDirectoryPath(name))
      }
    } catch {
      // It was renamed meanwhile, or changed places with a link: that is no word about the name the request is about.
      let isElsewhere = error == .noSuchFile || error == .notDirectory || error == .tooManySymbolicLinks
      throw isElsewhere ? .stale : error
    }
    guard ObjectIdentity(try opened.descriptor.status()) == node.identity else { throw .stale }
    directories.keep(opened, for: node.attachment)
    return opened
  }

  /// What the object is now; ESTALE if something else stands where it was.
  func status(of node: Node, by reach: Reach) throws(Errno) -> FileStatus {
    let status: FileStatus
    switch reach {
    case .held(let descriptor):
      status = try descriptor.descriptor.status()
    case .named(let directory, let name):
      do throws(Errno) {
        status = try FileName.with(name) { name throws(Errno) in
          try directory.descriptor.status(of: name)
        }
      } catch {
        throw error == .noSuchFile || error == .notDirectory ? .stale : error
      }
    }
    guard ObjectIdentity(status) == node.identity else { throw .stale }
    return status
  }

  /// A descriptor of the object itself, so that what is decided and done next is about it and nothing else; with
  /// its status.
  func hold(_ node: Node) throws(Errno) -> (SharedDescriptor, FileStatus) {
    let reach = try reach(node)
    let descriptor: SharedDescriptor
    switch reach {
    case .held(let held):
      descriptor = held
    case .named(let directory, let name):
      do throws(Errno) {
        descriptor = try FileName.with(name) { name throws(Errno) in
          SharedDescriptor(try directory.descriptor.openPath(name))
        }
      } catch {
        // Something else stands there, or nothing: no word about the name the request is about.
        throw error == .noSuchFile || error == .notDirectory ? .stale : error
      }
    }
    return (descriptor, try status(of: node, by: .held(descriptor)))
  }

  /// Opens the object's content; the object that was opened is compared with the node.
  ///
  /// Without waiting: a FIFO that was put under the name behind the mount would hold the worker and its locks, and so
  /// would a lease, which delays the request.
  func open(
    _ node: Node, by reach: Reach, flags: OpenFlags
  ) throws(Errno) -> (SharedDescriptor, FileStatus) {
    let flags = flags.union(.nonBlocking)
    let opened = try Errno.delayedByLease { () throws(Errno) in
      switch reach {
      case .held(let descriptor):
        SharedDescriptor(try descriptor.descriptor.reopen(flags))
      case .named(let directory, let name):
        try FileName.with(name) { name throws(Errno) in
          SharedDescriptor(try directory.descriptor.open(name, flags))
        }
      }
    }
    return (opened, try status(of: node, by: .held(opened)))
  }
}
