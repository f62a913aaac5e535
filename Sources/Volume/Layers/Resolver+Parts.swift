// The parts of a directory: made when something is first looked for in it, and kept beside its node.

import LayerRules
import LinuxFiles
import RecordFormat
import Synchronization

extension Resolver {
  /// The directories of the layers that make a directory of the volume.
  ///
  /// EIO where a mark on the way cannot be followed.
  func parts(_ node: Node) throws(Errno) -> DirectoryParts {
    guard let stack else { return DirectoryParts(try directory(node).part, shape: 0) }
    guard node.isDirectory else { throw .notDirectory }
    if let known = knownParts(node, stack) { return known }
    do throws(Errno) {
      return try makeParts(of: node, stack)
    } catch {
      guard error == .stale || error == .crossDevice else { throw error }
      return try directoryMoves.withLock { _ throws(Errno) in
        try makeParts(of: current(node), stack, isSecond: true)
      }
    }
  }

  /// Whether a directory of which this was found out already is in the upper alone.
  func isKnownPure(_ node: Node) -> Bool {
    guard let stack, node.isDirectory, let parts = knownParts(node, stack) else { return false }
    return parts.isPure
  }

  private func knownParts(_ node: Node, _ stack: LayerStack) -> DirectoryParts? {
    guard let attachment = node.existingAttachment else { return nil }
    let (parts, pin) = attachment.state.withLock { ($0.directory.parts, $0.pin.way) }
    attachment.wasUsed.store(true, ordering: .relaxed)
    // Without a name it shows nothing, and nothing is made in it.
    if let pin { return parts ?? DirectoryParts(LayerPart(layer: node.layer, descriptor: pin), shape: .max) }
    guard let parts, parts.shape == stack.shape else { return nil }
    return parts
  }

  private func makeParts(
    of node: Node, _ stack: LayerStack, isSecond: Bool = false
  ) throws(Errno) -> DirectoryParts {
    let shape = stack.shape
    var missing: [Node] = []
    var current = node
    var nearest = knownParts(current, stack)
    while nearest == nil {
      if current.id == root.id {
        nearest = try rootParts(stack, shape)
        break
      }
      missing.append(current)
      guard missing.count <= Resolver.deepest else { throw .tooManySymbolicLinks }
      guard let parent = current.lastName.withLock({ $0.parent }) else { throw .stale }
      current = isSecond ? self.current(parent) : parent
      nearest = knownParts(current, stack)
    }
    guard var parts = nearest else { throw .stale }
    for node in missing.reversed() {
      parts = try descend(from: parts, to: node, stack, shape)
    }
    return parts
  }

  private func rootParts(_ stack: LayerStack, _ shape: UInt64) throws(Errno) -> DirectoryParts {
    guard let parts = try stack.rootParts(shape: shape) else { throw .inputOutput }
    root.attachment.state.withLock { $0.directory.parts = parts }
    return parts
  }

  private func descend(
    from parent: DirectoryParts, to node: Node, _ stack: LayerStack, _ shape: UInt64
  ) throws(Errno) -> DirectoryParts {
    let name = node.lastName.withLock { $0.name }
    guard let found = try stack.allParts(of: name, in: parent.all, hidden: parent.hidden) else {
      Log.damage("a mark of a directory cannot be followed")
      throw .inputOutput
    }
    guard let parts = DirectoryParts(found.shown, hidden: found.hidden, shape: shape) else { throw .stale }
    let identity = ObjectIdentity(try parts.top.descriptor.descriptor.status())
    let slot = BackingSlot(identity, in: parts.top.layer)
    guard slot == node.slot else { throw .stale }
    directories.keep(parts.top.descriptor, parts, for: node.attachment)
    // It may have been brought up while its parts were made: then those of now must be made, by the next request.
    guard slot == node.slot else {
      directories.drop(node.attachment)
      throw .stale
    }
    return parts
  }

  /// What stands under a name of a directory that is made of these parts, held, with the parts of that; ENOENT if nothing
  /// does.
  func findHeld(
    _ name: borrowing FileName, in parts: [LayerPart]
  ) throws(Errno) -> (FoundObject, [LayerPart]) {
    switch try Found<FoundObject>.find(name, in: parts) {
    case .missing, .removed: throw .noSuchFile
    case .file(let found, let place): return try successor(of: found, in: parts[place].layer)
    case .directory(let found, let place):
      guard let stack else { return (found, [LayerPart(layer: 0, descriptor: found.descriptor)]) }
      guard let all = try stack.parts(of: name.copy(), in: parts, known: (found.descriptor, place)) else {
        throw .inputOutput
      }
      return (found, all)
    }
  }

  /// What is not a directory, or the object that took its place in a layer above.
  private func successor(
    of found: FoundObject, in layer: UInt8
  ) throws(Errno) -> (FoundObject, [LayerPart]) {
    let links = try stack?.trace(found.status, in: layer) { () throws(Errno) in
      try stack?.record(of: found.descriptor, in: layer).core ?? CoreRecord()
    }
    guard let entry = links?.object else {
      return (found, [LayerPart(layer: layer, descriptor: found.descriptor)])
    }
    return (
      FoundObject(descriptor: entry.object, status: entry.status),
      [LayerPart(layer: entry.layer, descriptor: entry.object)]
    )
  }

  /// Where the layers below have a directory: what a redirect of it says once it is moved.
  ///
  /// Nil where the path would be longer than any attribute.
  func lowerPath(of node: Node) throws(Errno) -> LowerPath? {
    guard let stack else { return nil }
    var names: [[UInt8]] = []
    var current = node
    while current.id != root.id {
      let last = current.lastName.withLock { $0 }
      guard let parent = last.parent, names.count < Resolver.deepest else { throw .stale }
      var name = last.name
      if current.layer == 0 {
        switch try stack.redirect(of: try parts(current).top.descriptor) {
        case .says(nil): break
        case .says(.oneName(let other)): name = other
        case .says(.absolute(let path)): return append(names, to: path)
        case .unusable: throw .inputOutput
        }
      }
      names.append(name)
      current = parent
    }
    return append(names, to: .root)
  }

  private func append(_ names: [[UInt8]], to path: LowerPath) -> LowerPath? {
    names.reversed().reduce(path) { path, name in path?.appending(name.span) }
  }
}
