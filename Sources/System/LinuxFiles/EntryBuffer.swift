import CLinux
import Glibc

// Listing a directory in pages, without a heap allocation per entry.
//
// The kernel fills the buffer with records; `next` walks them as plain values that say where a name
// lies, and `withName` lends the name. Everything is checked again on use, so that an entry from an
// earlier page gives a wrong name or an error, never a wild read.

/// Whether an entry is one of the directory's own.
package enum EntryRole: Sendable, Equatable {
  case child
  /// ".".
  case itself
  /// "..".
  case parent
  /// A child whose name no `FileName` can carry: some file systems store names beyond 255 bytes.
  case unusable
}

/// One entry of a page, without its name.
package struct DirectoryEntry: Sendable {
  package let inode: UInt64
  /// Where the listing goes on after this entry; for `seekDirectory` only, its value means nothing else.
  package let nextOffset: Int64
  /// Nil when the file system does not say without a `status(of:)`.
  package let kind: FileKind?
  package let role: EntryRole
  /// In bytes.
  package let nameCount: Int
  let start: Int
  var nameStart: Int { start + Record.name }
}

/// One page of a directory listing, with a place to go on from.
///
/// Reused from page to page.
@safe package struct EntryBuffer: ~Copyable, @unchecked Sendable {
  // Sendable: the memory has this one owner, which cannot be copied and changes it only as `inout`.
  private let memory: UnsafeMutableRawBufferPointer
  private var filled = 0
  private var position = 0

  /// Makes room for `capacity` bytes, at least 1,024 so that the longest name fits.
  package init(capacity: Int = 32_768) {
    unsafe memory = .allocate(byteCount: max(capacity, 1_024), alignment: 16)
  }

  deinit {
    unsafe memory.deallocate()
  }

  /// True when `next` has nothing more and the next page must be read.
  package var isExhausted: Bool { position >= filled }

  /// Forgets the page, so that the next one must be read.
  package mutating func clear() {
    (filled, position) = (0, 0)
  }

  @unsafe mutating func fill(_ read: (UnsafeMutableRawPointer, Int) -> Int) throws(Errno) -> Int {
    (filled, position) = (0, 0)
    guard let start = unsafe memory.baseAddress else { throw .noMemory }
    let count = try retrying { unsafe read(start, memory.count) }
    filled = unsafe min(count, memory.count)
    return filled
  }

  /// The next entry of this page; nil at its end.
  ///
  /// EIO when the page is not what getdents64 promises.
  package mutating func next() throws(Errno) -> DirectoryEntry? {
    guard position < filled else { return nil }
    let start = position
    guard filled - start > Record.name else { throw .inputOutput }
    let length = unsafe Int(memory.loadUnaligned(fromByteOffset: start + Record.length, as: UInt16.self))
    guard length > Record.name, length <= filled - start, let base = unsafe memory.baseAddress else {
      throw .inputOutput
    }
    let name = unsafe base + start + Record.name
    guard let end = unsafe memchr(name, 0, length - Record.name) else { throw .inputOutput }
    let count = unsafe UnsafeRawPointer(end) - UnsafeRawPointer(name)
    position = start + length
    return unsafe DirectoryEntry(
      inode: memory.loadUnaligned(fromByteOffset: start + Record.inode, as: UInt64.self),
      nextOffset: memory.loadUnaligned(fromByteOffset: start + Record.nextOffset, as: Int64.self),
      kind: FileKind(directoryType: memory[start + Record.kind]),
      role: role(ofNameAt: start + Record.name, count: count), nameCount: count, start: start)
  }

  private func role(ofNameAt start: Int, count: Int) -> EntryRole {
    if count == 0 || count > FileName.longest { return .unusable }
    let dot = UInt8(ascii: ".")
    guard count <= 2, unsafe memory[start] == dot, unsafe memory[start + count - 1] == dot else {
      return .child
    }
    return count == 1 ? .itself : .parent
  }

  /// Makes `entry` the next one again, for a reader whose own page was full.
  package mutating func goBack(to entry: DirectoryEntry) {
    if entry.start < filled { position = entry.start }
  }

  /// Lends the name of an entry of this page; EINVAL for "." and "..".
  package borrowing func withName<R: ~Copyable>(
    of entry: DirectoryEntry, _ body: (borrowing FileName) throws(Errno) -> R
  ) throws(Errno) -> R {
    // One more byte than the name: its terminator.
    guard let base = unsafe memory.baseAddress, entry.nameStart + entry.nameCount < filled else {
      throw .inputOutput
    }
    let name = unsafe UnsafeRawPointer(base + entry.nameStart).assumingMemoryBound(to: CChar.self)
    return try body(unsafe FileName(borrowing: name, count: entry.nameCount))
  }

  /// Lends the bytes of any entry's name, also of those that `FileName` refuses.
  package borrowing func withNameBytes<R: ~Copyable>(
    of entry: DirectoryEntry, _ body: (Span<UInt8>) throws(Errno) -> R
  ) throws(Errno) -> R {
    guard let base = unsafe memory.baseAddress, entry.nameStart + entry.nameCount < filled else {
      throw .inputOutput
    }
    let name = unsafe UnsafeRawPointer(base + entry.nameStart).assumingMemoryBound(to: CChar.self)
    return try unsafe body(byteBuffer(name, entry.nameCount).span)
  }

  /// A copy of the same.
  package borrowing func nameBytes(of entry: DirectoryEntry) throws(Errno) -> [UInt8] {
    try withNameBytes(of: entry) { name in
      var bytes: [UInt8] = []
      bytes.reserveCapacity(name.count)
      for index in name.indices { bytes.append(name[index]) }
      return bytes
    }
  }
}

/// Where the fields of `struct linux_dirent64` lie.
private enum Record {
  static let inode = 0
  static let nextOffset = 8
  static let length = 16
  static let kind = 18
  static let name = 19
}

extension Descriptor {
  /// Reads the next page of this directory, opened for reading; 0 at the end, else its bytes.
  ///
  /// The position belongs to the open directory: two readers need two descriptors.
  @discardableResult
  package borrowing func readEntries(into buffer: inout EntryBuffer) throws(Errno) -> Int {
    try unsafe buffer.fill { memory, count in unsafe lv_list(rawValue, memory, count) }
  }

  /// Goes to the beginning (0) or to the `nextOffset` of an entry.
  package borrowing func seekDirectory(to offset: Int64) throws(Errno) {
    try retrying { lv_seek(rawValue, offset, SEEK_SET) }
  }
}

extension Descriptor {
  /// The names of everything in this directory, however many: for small ones.
  package borrowing func names() throws(Errno) -> [[UInt8]] {
    var page = EntryBuffer()
    var names: [[UInt8]] = []
    try seekDirectory(to: 0)
    while try readEntries(into: &page) > 0 {
      while let entry = try page.next() {
        guard entry.role == .child else { continue }
        names.append(try page.withName(of: entry) { name throws(Errno) in name.copy() })
      }
    }
    return names
  }

  /// Whether there is anything in this directory but one name; reads no further than that takes.
  package borrowing func holdsName(otherThan expected: [UInt8]) throws(Errno) -> Bool {
    var page = EntryBuffer()
    try seekDirectory(to: 0)
    while try readEntries(into: &page) > 0 {
      while let entry = try page.next() {
        switch entry.role {
        case .child:
          let isExpected = try page.withName(of: entry) { name throws(Errno) in name.equals(expected) }
          guard isExpected else { return true }
        // A name this program cannot use is a name all the same.
        case .unusable: return true
        default: continue
        }
      }
    }
    return false
  }
}
