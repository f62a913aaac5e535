// A file that nobody has, and what tells whether somebody had it since: for what replaces its bytes without its lock.

import LinuxFiles
import Synchronization

/// A file that was found in nobody's use.
final class UnusedFile: Sendable {
  /// Stays the file's own while this lives: who comes is counted in it.
  private let attachment: Attachment
  private let writeOpens: UInt64

  /// Under the lock of the file, exclusive.
  init(_ node: Node) {
    attachment = node.attachment
    writeOpens = attachment.marks.writeOpens.load(ordering: .acquiring)
    attachment.state.withLock { $0.file.watchers += 1 }
  }

  deinit { attachment.state.withLock { $0.file.watchers -= 1 } }

  /// Whether somebody has it, or had it to write.
  ///
  /// On tmpfs what is written through a mapping does not move the change time.
  var isUsed: Bool {
    attachment.anyHandle != nil || attachment.marks.writeOpens.load(ordering: .acquiring) != writeOpens
  }
}

extension Volume {
  /// Makes sure that nobody has a file, also not the kernel and the daemon itself; under its lock, exclusive.
  @discardableResult
  func requireUnused(_ node: Node) throws(Errno) -> UnusedFile {
    guard !isInUse(node) else { throw .busy }
    endRest(of: node)
    try forgetUnusedContent(of: node)
    return UnusedFile(node)
  }

  func isInUse(_ node: Node) -> Bool { node.existingAttachment?.anyHandle != nil }
}
