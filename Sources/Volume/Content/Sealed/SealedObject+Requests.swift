// The requests about the bytes of an encrypted file.

import Decisions
import LinuxFiles
import SealedFormat

extension MutableSpan<UInt8> {
  fileprivate mutating func wipe(_ range: Range<Int>) {
    var part = _mutatingExtracting(range)
    part.wipe()
  }
}

/// What a request wants of an encrypted file.
enum ContentUse {
  case bytes
  /// Pages that a program wrote before, brought by the kernel; or a sync.
  case writeBack
}

/// What of a write is on the disk when it returns.
enum Durability {
  case later, data, all
}

extension SealedObject {
  func read(at offset: Int64, into bytes: inout MutableSpan<UInt8>) throws(Errno) -> Int {
    try using(.bytes) { (file) throws(Errno) in
      try file.read(at: UInt64(max(offset, 0)), into: &bytes)
    }
  }

  /// A write and its sync are one request to a lock: a sync that waited for the lock, with the locks of the node held,
  /// would be waited for by it.
  func write(
    _ bytes: inout MutableSpan<UInt8>, at position: Descriptor.WritePosition, isWriteBack: Bool,
    _ durability: Durability
  ) throws(Errno) -> Int {
    do throws(Errno) {
      let count = try using(isWriteBack ? .writeBack : .bytes) { (file) throws(Errno) in
        let count = try file.write(&bytes, at: position)
        if durability != .later { try file.synchronize(dataOnly: durability == .data) }
        return count
      }
      // The blocks that were written in part are still as they came.
      bytes.wipe(0..<min(bytes.count, Block.size))
      bytes.wipe(max(0, bytes.count - Block.size)..<bytes.count)
      return count
    } catch {
      // A request that is delayed comes again.
      guard error.delay == nil else { throw error }
      bytes.wipe()
      if isWriteBack { noteLostPages() }
      throw error
    }
  }

  /// Needs the key of the old class, and of the new one what makes a file.
  func changeClass(to wanted: ProtectionClass, restoreTimes: () throws(Errno) -> Void) throws(Errno) {
    try using(.bytes) { (file) throws(Errno) in
      _ = try file.changeClass(restoreTimes: restoreTimes) { (keys) throws(Errno) in
        try context.sector(for: keys, wanted)
      }
    }
    context.protection = wanted
  }

  func truncate(to size: UInt64) throws(Errno) {
    guard size > 0 else {
      try requireServed()
      return try makeEmpty()
    }
    try using(.bytes) { (file) throws(Errno) in try file.truncate(to: size) }
  }

  func allocate(_ mode: AllocationMode, offset: Int64, length: Int64) throws(Errno) {
    guard offset >= 0, length > 0 else { throw .invalid }
    try using(.bytes) { (file) throws(Errno) in
      try file.allocate(mode, offset: UInt64(offset), length: UInt64(length))
    }
  }

  func seek(from offset: Int64, _ origin: SeekOrigin) throws(Errno) -> UInt64 {
    guard offset >= 0 else { throw .noDevice }
    return try using(.bytes) { (file) throws(Errno) in try file.seek(from: UInt64(offset), origin) }
  }

  // MARK: Whether it is served

  /// For what is done without the header, which may be damaged.
  func requireServed() throws(Errno) {
    guard mayServe(.bytes) else { throw .noKey }
  }

  func mayServe(_ use: ContentUse) -> Bool {
    switch context.keeper.keyring.state(of: context.format) {
    case .open: return true
    case .draining: return use == .writeBack || isOpenUnlessOpen
    case .locked: return isOpenUnlessOpen
    }
  }

  /// For the lock that comes by itself: of files that it does not close nobody is asked.
  func noteUse() {
    if ClassSet.locking.contains(ClassSet(context.format)) { context.keeper.noteUse() }
  }
}
