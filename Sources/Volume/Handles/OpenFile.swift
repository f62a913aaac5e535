// An open file: what it may do was decided at open and stays with it.

import LinuxFiles
import Synchronization

/// One open file.
final class OpenFile: Sendable {
  /// Where the bytes come from.
  private enum Content {
    /// The backing file; a descriptor that leads there may be all that is held of it.
    case plain(SharedDescriptor)
    /// A text made when the file was opened (`.varve/status`).
    case text
  }

  let node: Node?
  let text: [UInt8]?
  let mode: OpenMode
  /// How the kernel gets at the bytes.
  let route: Route
  private let content: Mutex<Content>

  /// `descriptor`: the backing file, opened as `mode` says, or an O_PATH one where the kernel reads alone.
  init(node: Node, _ descriptor: SharedDescriptor, mode: OpenMode, route: Route) {
    self.node = node
    self.mode = mode
    self.route = route
    text = nil
    content = Mutex(.plain(descriptor))
  }

  init(text: [UInt8], mode: OpenMode) {
    node = nil
    self.text = text
    self.mode = mode
    route = .direct
    content = Mutex(.text)
  }

  /// Leads to the backing file, if there is one; not always good for reading.
  var descriptor: SharedDescriptor? {
    content.withLock { content in
      if case .plain(let descriptor) = content { return descriptor }
      return nil
    }
  }

  /// The backing file itself has been opened, and takes the place of what only led there.
  func hold(_ opened: SharedDescriptor) {
    content.withLock { $0 = .plain(opened) }
  }

  var canRead: Bool { mode.contains(.read) || mode.contains(.execute) }
  var canWrite: Bool { mode.contains(.write) }
  /// mmap(2) wants both rights for a mapping that writes.
  var canMapForWriting: Bool { mode.contains(.read) && mode.contains(.write) }
}
