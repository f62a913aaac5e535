// Where an object was last seen: for messages, logs and questions, and never to reach it.

import Synchronization

extension Volume {
  /// The path under which an object was last seen, from the root of the volume and without a first slash.
  func lastKnownPath(of id: NodeID) -> [UInt8] {
    guard id != root.id else { return [] }
    return (nodes.node(id) ?? views.directory(id)?.node).map { lastKnownPath(of: $0) } ?? []
  }

  func lastKnownPath(of node: Node) -> [UInt8] {
    var names: [[UInt8]] = []
    var count = 0
    var current = node
    while current.id != root.id {
      let last = current.lastName.withLock { $0 }
      count += last.name.count + 1
      // The lower end tells more.
      guard count <= DeepPath.longest - DeepPath.mark.count else {
        names.append(DeepPath.mark)
        break
      }
      names.append(last.name)
      guard let parent = last.parent else { break }
      current = parent
    }
    return Array(names.reversed().joined(separator: [UInt8(ascii: "/")]))
  }
}

/// How a path is written that is too deep for any call.
enum DeepPath {
  /// What the kernel takes for a path; nesting has no bound, and thousands of paths may wait to be told.
  static let longest = 4_095
  /// Stands for the names above those that are left.
  static let mark = Array("…".utf8)

  static func isShortened(_ path: [UInt8]) -> Bool { path.starts(with: mark + [UInt8(ascii: "/")]) }
}
