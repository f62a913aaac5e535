// An open file: what it may do was decided at open and stays with it.

import LinuxFiles
import Synchronization

/// One open file.
final class OpenFile: ObjectHandle {
  /// Nil for a file of the volume's own.
  let node: Node?
  let content: Content
  let mode: OpenMode
  /// How the kernel gets at the bytes.
  let route: Route
  /// The losses of the content that whoever opened this has heard of.
  private let knownLosses: Atomic<UInt64>

  init(node: Node?, _ content: consuming Content, mode: OpenMode, route: Route) {
    self.node = node
    knownLosses = Atomic(content.losses)
    self.content = content
    self.mode = mode
    self.route = route
  }

  /// Leads to the backing file, if there is one; not always good for reading.
  var object: SharedDescriptor? { content.object }

  func follow(_ copy: SharedDescriptor) { content.follow(copy) }

  /// Writes as the file was opened: with O_SYNC what was written is on the disk when this returns.
  func write(
    _ bytes: inout MutableSpan<UInt8>, at position: Descriptor.WritePosition, isWriteBack: Bool
  ) throws(Errno) -> Int {
    let durability = durability
    let count = try content.write(&bytes, at: position, isWriteBack: isWriteBack, durability)
    if durability != .later { try tellLoss() }
    return count
  }

  private var durability: Durability {
    mode.contains(.synchronous) ? .all : mode.contains(.dataSynchronous) ? .data : .later
  }

  /// Brings to the disk what was written; EIO once, if something was lost since this was opened, as from fsync(2) after
  /// pages could not be written.
  func synchronize(dataOnly: Bool) throws(Errno) {
    try content.synchronize(dataOnly: dataOnly)
    try tellLoss()
  }

  private func tellLoss() throws(Errno) {
    let losses = content.losses
    guard knownLosses.exchange(losses, ordering: .relaxed) == losses else { throw .inputOutput }
  }

  var canRead: Bool { mode.contains(.read) || mode.contains(.execute) }
  var canWrite: Bool { mode.contains(.write) }
  /// mmap(2) wants both rights for a mapping that writes.
  var canMapForWriting: Bool { mode.contains(.read) && mode.contains(.write) }
}
