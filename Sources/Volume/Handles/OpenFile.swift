// An open file: what it may do was decided at open and stays with it.

import LinuxFiles

/// Where the bytes of an open file come from.
enum Content: Sendable {
  /// The backing file itself.
  case plain(SharedDescriptor)
  /// A text made when the file was opened (`.varve/status`).
  case text([UInt8])
}

/// One open file.
final class OpenFile: Sendable {
  let node: Node?
  let content: Content
  let mode: OpenMode
  /// How the kernel gets at the bytes.
  let route: Route

  init(node: Node?, content: Content, mode: OpenMode, route: Route) {
    self.node = node
    self.content = content
    self.mode = mode
    self.route = route
  }

  /// The backing descriptor, if the content has one.
  var descriptor: SharedDescriptor? {
    if case .plain(let descriptor) = content { return descriptor }
    return nil
  }

  var canRead: Bool { mode.contains(.read) || mode.contains(.execute) }
  var canWrite: Bool { mode.contains(.write) }
  /// mmap(2) wants both rights for a mapping that writes.
  var canMapForWriting: Bool { mode.contains(.read) && mode.contains(.write) }
}
