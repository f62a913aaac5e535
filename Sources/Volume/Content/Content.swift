// The bytes of an open file, in whatever form they are stored.
//
// A closed set, so that every operation says what it does with each form. Which locks an operation takes, and whether
// it may happen, is decided above (`Operations/ReadWrite.swift`); here bytes come and go.

import LinuxFiles

/// Where the bytes of one open file come from.
enum Content: ~Copyable, Sendable {
  /// The backing file has them as they are.
  case plain(PlainContent)
  /// A text that was made when the file was opened (`.varve/status`).
  case text([UInt8])
}

extension Content {
  // Files are cut by path as well as by handle.

  /// A file that nobody needs to have open, to be cut.
  static func openForWriting(_ file: SharedDescriptor) throws(Errno) -> SharedDescriptor {
    try Errno.delayedByLease { () throws(Errno) in
      SharedDescriptor(try file.descriptor.reopen([.writeOnly, .nonBlocking]))
    }
  }

  /// Cuts or extends a file that is open for writing.
  static func truncate(_ file: SharedDescriptor, to size: UInt64) throws(Errno) {
    try file.descriptor.truncate(to: size)
  }
}

extension Content {
  /// Leads to the backing file, if there is one; not always good for reading.
  var object: SharedDescriptor? {
    switch self {
    case .plain(let plain): plain.object
    case .text: nil
    }
  }

  /// Opens what has only been found so far: whoever opens a file hears what stands against it.
  func open() throws(Errno) {
    switch self {
    case .plain(let plain): _ = try plain.opened()
    case .text: return
    }
  }

  /// Less than was asked for only at the end of the file: the kernel takes a short answer for it.
  func read(at offset: Int64, into bytes: inout MutableSpan<UInt8>) throws(Errno) -> Int {
    switch self {
    case .plain(let plain):
      return try plain.opened().descriptor.readFully(into: &bytes, at: offset)
    case .text(let text):
      guard offset < Int64(text.count) else { return 0 }
      let count = min(bytes.count, text.count - Int(offset))
      for index in 0..<count { bytes[index] = text[Int(offset) + index] }
      return count
    }
  }

  /// How many bytes arrived; an error only if none did.
  func write(_ bytes: Span<UInt8>, at place: Descriptor.Place) throws(Errno) -> Int {
    switch self {
    case .plain(let plain): try plain.write(bytes, at: place)
    case .text: throw .badDescriptor
    }
  }

  /// The size as programs see it.
  func size() throws(Errno) -> UInt64 {
    switch self {
    case .plain(let plain): try plain.object.descriptor.status().size
    case .text(let text): UInt64(text.count)
    }
  }

  func allocate(_ mode: AllocationMode, offset: Int64, length: Int64) throws(Errno) {
    switch self {
    case .plain(let plain): try plain.object.descriptor.allocate(mode: mode, offset: offset, length: length)
    case .text: throw .badDescriptor
    }
  }

  /// Where data or a hole begins.
  func seek(from offset: Int64, _ origin: SeekOrigin) throws(Errno) -> UInt64 {
    switch self {
    case .plain(let plain): UInt64(try plain.opened().descriptor.seek(offset: offset, whence: origin))
    case .text: throw .invalid
    }
  }

  /// Copies a range within the file system below; how many bytes it took over.
  func copy(
    from offset: Int64, to target: borrowing Content, at targetOffset: Int64, length: Int
  ) throws(Errno) -> Int {
    guard let target = target.object else { throw .badDescriptor }
    switch self {
    case .plain(let plain):
      return try plain.opened().descriptor.copyRange(
        from: offset, to: target.descriptor, at: targetOffset, length: length)
    case .text: throw .badDescriptor
    }
  }

  /// Puts on the disk what was written.
  func synchronize(dataOnly: Bool) throws(Errno) {
    switch self {
    case .plain(let plain): try plain.opened().descriptor.sync(dataOnly: dataOnly)
    case .text: return
    }
  }
}
