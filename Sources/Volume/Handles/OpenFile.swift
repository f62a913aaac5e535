// An open file: what it may do was decided at open and stays with it.

import LinuxFiles

/// One open file.
final class OpenFile: ObjectHandle {
  /// Nil for a file of the volume's own.
  let node: Node?
  let content: Content
  let mode: OpenMode
  /// How the kernel gets at the bytes.
  let route: Route

  init(node: Node?, _ content: consuming Content, mode: OpenMode, route: Route) {
    self.node = node
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
    let count = try content.write(&bytes, at: position, isWriteBack: isWriteBack)
    // The backing file of a plain one was opened so itself.
    if let object = content.sealed, !mode.isDisjoint(with: [.synchronous, .dataSynchronous]) {
      try object.synchronize(dataOnly: !mode.contains(.synchronous))
    }
    return count
  }

  var canRead: Bool { mode.contains(.read) || mode.contains(.execute) }
  var canWrite: Bool { mode.contains(.write) }
  /// mmap(2) wants both rights for a mapping that writes.
  var canMapForWriting: Bool { mode.contains(.read) && mode.contains(.write) }
}
