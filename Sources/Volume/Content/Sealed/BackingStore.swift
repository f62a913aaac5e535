// The backing file of an encrypted file.

import LinuxFiles
import Synchronization

/// A file of the upper directory, open for reading until it is changed for the first time.
final class BackingStore: SealedStore {
  private struct Held {
    var descriptor: SharedDescriptor
    var isWritable: Bool
  }

  private let held: Mutex<Held>

  /// `descriptor` leads to the file, or is open for reading or for reading and writing.
  init(_ descriptor: SharedDescriptor, isWritable: Bool = false) {
    held = Mutex(Held(descriptor: descriptor, isWritable: isWritable))
  }

  /// Leads to the file.
  var object: SharedDescriptor { held.withLock { $0.descriptor } }

  private func readable() throws(Errno) -> SharedDescriptor {
    let found = object
    return found.descriptor.isPath ? try open(.readOnly) : found
  }

  private func writable() throws(Errno) -> SharedDescriptor {
    let found = held.withLock { $0 }
    return found.isWritable ? found.descriptor : try open(.readWrite)
  }

  private func open(_ flags: OpenFlags) throws(Errno) -> SharedDescriptor {
    let found = object
    let opened = SharedDescriptor(
      try Errno.delayedByLease { () throws(Errno) in try found.descriptor.reopen(flags.union(.nonBlocking)) })
    return held.withLock { held in
      // Somebody may have been faster, and with more.
      if held.isWritable { return held.descriptor }
      held = Held(descriptor: opened, isWritable: flags == .readWrite)
      return opened
    }
  }

  func read(into bytes: inout MutableSpan<UInt8>, at offset: UInt64) throws(Errno) -> Int {
    try readable().descriptor.readFully(into: &bytes, at: try Int64(checking: offset))
  }

  func write(
    _ head: Span<UInt8>, _ body: Span<UInt8>, _ tail: Span<UInt8>, at offset: UInt64
  ) throws(Errno) {
    try writable().descriptor.writeAll(head, body, tail, at: try Int64(checking: offset))
  }

  func size() throws(Errno) -> UInt64 { try object.descriptor.status().size }

  func synchronize(dataOnly: Bool) throws(Errno) { try readable().descriptor.sync(dataOnly: dataOnly) }

  func cut(to size: UInt64) throws(Errno) { try writable().descriptor.truncate(to: size) }

  func punch(_ range: Range<UInt64>) throws(Errno) {
    do throws(Errno) {
      try allocate([.punchHole, .keepSize], range)
    } catch .unsupported {
      // A file system without holes: the room is used again when the file grows.
    }
  }

  func reserve(_ range: Range<UInt64>) throws(Errno) { try allocate(.keepSize, range) }

  private func allocate(_ mode: AllocationMode, _ range: Range<UInt64>) throws(Errno) {
    try writable().descriptor.allocate(
      mode: mode, offset: try Int64(checking: range.lowerBound),
      length: try Int64(checking: UInt64(range.count)))
  }
}
