// An open directory: a position in a listing.

import LinuxFiles
import Synchronization

/// One open directory.
///
/// Two requests on one handle take turns: the position belongs to the descriptor.
final class OpenDirectory: Sendable {
  struct Stream: ~Copyable {
    var page = EntryBuffer()
    /// The offset after the entry that was handed out last; what the kernel asks for next, normally.
    var position: Int64 = 0
    /// Whether the kernel asks for names without their attributes.
    ///
    /// It begins every listing with attributes, and goes on without them unless somebody looks at the names.
    var isForNames = false
  }

  let node: Node
  let descriptor: SharedDescriptor
  let stream = Mutex(Stream())

  init(node: Node, descriptor: SharedDescriptor) {
    self.node = node
    self.descriptor = descriptor
  }
}
