// The bytes of an open file, in whatever form they are stored.
//
// A closed set, so that every operation says what it does with each form. Which locks an operation takes, and whether
// it may happen, is decided above (`Operations/ReadWrite.swift`); here bytes come and go.
//
// For reads and writes: a plain file pays one switch for the other forms; docs/performance.md has the rates beside the
// directory itself.

import LinuxFiles

/// Where the bytes of one open file come from.
enum Content: ~Copyable, Sendable {
  /// The backing file has them as they are.
  case plain(PlainContent)
  /// Encrypted; one for all handles of the file.
  case sealed(SealedObject)
  /// Compressed, when it was opened; one for all handles of the file.
  case compressed(CompressedFile)
  /// A text that was made when the file was opened (`.varve/status`).
  case text([UInt8])
}

extension Content {
  /// Leads to the backing file, if there is one; not always good for reading.
  var object: SharedDescriptor? {
    switch self {
    case .plain(let plain): plain.object
    case .sealed(let object): object.way
    case .compressed(let file): file.way
    case .text: nil
    }
  }

  /// The content of an encrypted file, if it is one.
  var sealed: SealedObject? {
    switch self {
    case .sealed(let object): object
    case .plain: nil
    case .compressed: nil
    case .text: nil
    }
  }

  /// The content of a file that was compressed when it was opened.
  var compressed: CompressedFile? {
    switch self {
    case .compressed(let file): file
    case .plain: nil
    case .sealed: nil
    case .text: nil
    }
  }

  /// Whether its bytes must stay in no memory that is not wiped, and a key in locked memory: what is stored is encrypted.
  var isSecret: Bool { sealed != nil }

  /// Whether the kernel, where it keeps a copy, is right about the end: other files can be written behind the mount.
  var hasKnownEnd: Bool { sealed != nil }

  /// How often something that was written could not be brought to the disk before its key was wiped.
  var losses: UInt64 { sealed?.losses ?? 0 }

  /// Whether a write would be refused now, because the file is locked.
  func refusesWrite(isWriteBack: Bool) -> Bool {
    sealed.map { !$0.mayServe(isWriteBack ? .writeBack : .bytes) } ?? false
  }

  /// Pages that a program wrote were refused, and nobody will bring them again.
  func noteLostPages() { sealed?.noteLostPages() }

  /// Whether the backing file has the bytes as they are.
  var isPlain: Bool {
    switch self {
    case .plain: true
    case .sealed: false
    case .compressed: false
    case .text: false
    }
  }

  /// Which way an opener would have the kernel take to the bytes, and whether it may be through the backing file at all.
  func wish(of mode: OpenMode, isAppendOnly: Bool) -> (way: OpenRoutes.Wish, mayShare: Bool) {
    switch self {
    case .plain:
      let writes = mode.contains(.write)
      // What is refused must not have been put into a copy before. And a mapping of the backing file could overwrite
      // what may only grow; to map for writing one must read as well.
      if isAppendOnly { return (.direct, !(writes && mode.contains(.read))) }
      // The kernel would open the backing file with O_APPEND for good, and a program may take that flag back
      // (F_SETFL). We are told at each write whether it is there, and then the end is where the backing file ends.
      return (writes && mode.contains(.append) ? .mapped : .backing, true)
    // The backing file has other bytes.
    case .sealed: return (isAppendOnly ? .direct : .cached, false)
    case .compressed: return (isAppendOnly ? .direct : .cached, false)
    case .text: return (.direct, false)
    }
  }

  /// Opens what has only been found so far: the opener of a file hears what forbids it.
  func open() throws(Errno) {
    switch self {
    case .plain(let plain): _ = try plain.opened()
    case .sealed(let object): try object.open()
    // Its table was read.
    case .compressed: return
    case .text: return
    }
  }

  /// The file was brought up to the upper.
  func follow(_ copy: SharedDescriptor) {
    switch self {
    case .plain(let plain): plain.follow(copy)
    // Brought up while nobody has it open.
    case .sealed: return
    case .compressed(let file): file.follow(copy)
    case .text: return
    }
  }

  /// Less than was asked for only at the end of the file: the kernel takes a short answer for it.
  func read(at offset: Int64, into bytes: inout MutableSpan<UInt8>) throws(Errno) -> Int {
    switch self {
    case .plain(let plain):
      return try plain.opened().descriptor.readFully(into: &bytes, at: offset)
    case .sealed(let object): return try object.read(at: offset, into: &bytes)
    case .compressed(let file): return try file.read(at: offset, into: &bytes)
    case .text(let text):
      guard offset < Int64(text.count) else { return 0 }
      let count = min(bytes.count, text.count - Int(offset))
      for index in 0..<count { bytes[index] = text[Int(offset) + index] }
      return count
    }
  }

  /// How many bytes arrived; an error only if none did.
  ///
  /// After success the bytes may be others: what is encrypted is encrypted where it is. `isWriteBack`: the kernel brings
  /// pages that a program wrote before. `durability`: the backing file of a plain file was opened so itself.
  func write(
    _ bytes: inout MutableSpan<UInt8>, at position: Descriptor.WritePosition, isWriteBack: Bool = false,
    _ durability: Durability = .later
  ) throws(Errno) -> Int {
    switch self {
    case .plain(let plain): try plain.write(bytes.span, at: position)
    case .sealed(let object): try object.write(&bytes, at: position, isWriteBack: isWriteBack, durability)
    // An open for writing comes after it was expanded.
    case .compressed: throw .badDescriptor
    case .text: throw .badDescriptor
    }
  }

  /// The size as programs see it.
  func size() throws(Errno) -> UInt64 {
    switch self {
    case .plain(let plain): try plain.object.descriptor.status().size
    case .sealed(let object): try object.using(.bytes) { (file) throws(Errno) in file.size }
    case .compressed(let file): try file.size()
    case .text(let text): UInt64(text.count)
    }
  }

  /// Cuts or extends a file; a plain one is open for writing.
  func truncate(to size: UInt64) throws(Errno) {
    switch self {
    case .plain(let plain): try plain.object.descriptor.truncate(to: size)
    case .sealed(let object): try object.truncate(to: size)
    // It is expanded before, or its frames are cut away (`Operations/Expand.swift`).
    case .compressed: throw .badDescriptor
    case .text: throw .badDescriptor
    }
  }

  /// Takes all bytes away; of an encrypted file also those that cannot be read.
  func makeEmpty() throws(Errno) {
    switch self {
    case .sealed(let object): try object.makeEmpty()
    case .plain: try truncate(to: 0)
    case .compressed: try truncate(to: 0)
    case .text: try truncate(to: 0)
    }
  }

  func allocate(_ mode: AllocationMode, offset: Int64, length: Int64) throws(Errno) {
    switch self {
    case .plain(let plain): try plain.object.descriptor.allocate(mode: mode, offset: offset, length: length)
    case .sealed(let object): try object.allocate(mode, offset: offset, length: length)
    case .compressed: throw .badDescriptor
    case .text: throw .badDescriptor
    }
  }

  /// Where data or a hole begins.
  func seek(from offset: Int64, _ origin: SeekOrigin) throws(Errno) -> UInt64 {
    switch self {
    case .plain(let plain): UInt64(try plain.opened().descriptor.seek(offset: offset, whence: origin))
    case .sealed(let object): try object.seek(from: offset, origin)
    case .compressed(let file): try file.seek(from: offset, origin)
    case .text: throw .invalid
    }
  }

  /// Copies a range; how many bytes it took over.
  func copy(
    from offset: Int64, to target: borrowing Content, at targetOffset: Int64, length: Int
  ) throws(Errno) -> Int {
    guard isPlain, target.isPlain else {
      return try copyBytes(from: offset, to: target, at: targetOffset, length: length)
    }
    guard let target = target.object else { throw .badDescriptor }
    switch self {
    case .plain(let plain):
      // Within the file system below, which may share the blocks.
      return try plain.opened().descriptor.copyRange(
        from: offset, to: target.descriptor, at: targetOffset, length: length)
    case .sealed: throw .badDescriptor
    case .compressed: throw .badDescriptor
    case .text: throw .badDescriptor
    }
  }

  /// The same through memory, where one of the two is stored otherwise.
  private func copyBytes(
    from offset: Int64, to target: borrowing Content, at targetOffset: Int64, length: Int
  ) throws(Errno) -> Int {
    var buffer = [UInt8](repeating: 0, count: min(length, 1 << 18))
    var bytes = buffer.mutableSpan
    // Nothing of it stays in freed memory.
    defer { bytes.wipe() }
    var done = 0
    while done < length {
      var part = bytes._mutatingExtracting(0..<min(length - done, bytes.count))
      let count = try read(at: offset + Int64(done), into: &part)
      guard count > 0 else { break }
      var read = part._mutatingExtracting(0..<count)
      do throws(Errno) {
        let written = try target.write(&read, at: .offset(targetOffset + Int64(done)))
        done += written
        guard written == count else { return done }
      } catch {
        guard done > 0 else { throw error }
        return done
      }
    }
    return done
  }

  /// Puts on the disk what was written.
  func synchronize(dataOnly: Bool) throws(Errno) {
    switch self {
    case .plain(let plain): try plain.opened().descriptor.sync(dataOnly: dataOnly)
    case .sealed(let object): try object.synchronize(dataOnly: dataOnly)
    case .compressed(let file): try file.way.descriptor.sync(dataOnly: dataOnly)
    case .text: return
    }
  }
}
