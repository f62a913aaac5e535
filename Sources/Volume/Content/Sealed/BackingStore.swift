// The backing file of an encrypted file.

import LinuxFiles
import Synchronization

/// A file of the upper directory, open for reading until it is changed for the first time.
final class BackingStore: SealedStore {
  /// Nil while nobody has the file open.
  private let held: Mutex<SharedDescriptor?>
  /// Whether the file was changed, or was to be, since it was asked.
  private let isTouched = Atomic<Bool>(false)

  /// Asked before each change, because what is owed is written late: who has lost the lock for writing changes nothing.
  private let live: LiveOptions?

  /// `descriptor` leads to the file, or is open for reading or for reading and writing.
  init(_ descriptor: SharedDescriptor, live: LiveOptions? = nil) {
    self.live = live
    held = Mutex(descriptor)
  }

  /// The file is used again, or with more.
  func wake(by descriptor: SharedDescriptor) {
    held.withLock { held in
      if held?.isWritable != true, held == nil || descriptor.isWritable { held = descriptor }
    }
  }

  /// Nobody uses the file any more; the descriptor, to be closed where that may take a while.
  func rest() -> SharedDescriptor? {
    held.withLock { held in
      defer { held = nil }
      return held
    }
  }

  private func taken() throws(Errno) -> SharedDescriptor {
    guard let held = held.withLock({ $0 }) else { throw .stale }
    return held
  }

  private func readable() throws(Errno) -> SharedDescriptor {
    let found = try taken()
    return found.descriptor.isPath ? try open(.readOnly) : found
  }

  /// Whether the file was changed since that was noted.
  var wasTouched: Bool { isTouched.load(ordering: .acquiring) }

  /// Takes note of that.
  func takeTouched() -> Bool { isTouched.exchange(false, ordering: .acquiringAndReleasing) }

  private func writable() throws(Errno) -> SharedDescriptor {
    if let live, live.lacksLock { throw .readOnly }
    isTouched.store(true, ordering: .releasing)
    let found = try taken()
    return found.isWritable ? found : try open(.readWrite)
  }

  private func open(_ flags: OpenFlags) throws(Errno) -> SharedDescriptor {
    let found = try taken()
    let opened = SharedDescriptor(
      try Errno.delayedByLease { () throws(Errno) in try found.descriptor.reopen(flags.union(.nonBlocking)) })
    return held.withLock { held in
      // Another thread may have been faster, and with more.
      if let held, held.isWritable { return held }
      held = opened
      return opened
    }
  }

  func read(into bytes: inout MutableSpan<UInt8>, at offset: UInt64) throws(Errno) -> Int {
    try readable().descriptor.readFully(into: &bytes, at: try Int64(checking: offset))
  }

  func write(
    _ head: Span<UInt8>, _ body: Span<UInt8>, _ tail: Span<UInt8>, at offset: UInt64
  ) throws(Errno) {
    let file = try writable()
    do throws(Errno) {
      try file.descriptor.writeAll(head, body, tail, at: try Int64(checking: offset))
    } catch {
      completeLastPage(of: file.descriptor)
      throw error
    }
  }

  /// Makes the file a number of whole pages after a write that stopped short: a copy of it that has lost its attributes is
  /// known by that.
  ///
  /// It gets longer: to cut it would give back the room that is reserved behind its end.
  private func completeLastPage(of file: borrowing Descriptor) {
    let page: UInt64 = 4096
    guard let size = try? file.status().size, size % page != 0 else { return }
    try? file.truncate(to: (size / page + 1) * page)
  }

  func size() throws(Errno) -> UInt64 { try taken().descriptor.status().size }

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

  func nextData(from offset: UInt64) throws(Errno) -> UInt64? {
    do throws(Errno) {
      let start = try Int64(checking: offset)
      return UInt64(try readable().descriptor.seek(offset: start, whence: .data))
    } catch .noDevice {
      return nil
    }
  }

  private func allocate(_ mode: AllocationMode, _ range: Range<UInt64>) throws(Errno) {
    try writable().descriptor.allocate(
      mode: mode, offset: try Int64(checking: range.lowerBound),
      length: try Int64(checking: UInt64(range.count)))
  }
}

extension SharedDescriptor {
  /// Whether it was opened in a way in which an encrypted file can be changed.
  var isWritable: Bool { descriptor.use == .readWrite }
}
