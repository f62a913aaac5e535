import Glibc

// Names of extended attributes, with the same rules of borrowing as `FileName`.

/// The full name of an extended attribute, such as "user.comment", borrowed.
///
/// Valid while the bytes it was made from stay as they are; hence not copyable and only ever `borrowing`.
@safe package struct AttributeName: ~Copyable {
  @unsafe package let pointer: UnsafePointer<CChar>
  /// In bytes, without the terminator.
  package let count: Int

  /// `XATTR_NAME_MAX`.
  package static let longest = 255

  /// Checks `count` bytes that are followed by a NUL, all readable.
  ///
  /// ERANGE when empty or beyond 255 bytes (what Linux answers), EINVAL for NUL inside or a missing terminator.
  @unsafe package init(borrowing pointer: UnsafePointer<CChar>, count: Int) throws(Errno) {
    guard count > 0, count <= AttributeName.longest else { throw .range }
    guard unsafe pointer[count] == 0, unsafe memchr(pointer, 0, count) == nil else { throw .invalid }
    unsafe self.pointer = pointer
    self.count = count
  }

  /// Checks the C string at `pointer`; at most 256 bytes of it are looked at.
  @unsafe package init(borrowing pointer: UnsafePointer<CChar>) throws(Errno) {
    try unsafe self.init(borrowing: pointer, count: strnlen(pointer, AttributeName.longest + 1))
  }

  /// A name from the program text, which lives for ever.
  package init(_ literal: StaticString) throws(Errno) {
    let (pointer, count) = try unsafe terminatedText(of: literal)
    try unsafe self.init(borrowing: pointer, count: count)
  }

  /// Lends a stored name, which has no terminator, for the length of `body`; no heap is touched.
  package static func with<R: ~Copyable>(
    _ bytes: [UInt8], _ body: (borrowing AttributeName) throws(Errno) -> R
  ) throws(Errno) -> R {
    try with(prefix: "", bytes.span, body)
  }

  /// Lends `prefix` and `rest` set together, such as "trusted.x." before a caller's name; no heap is touched.
  package static func with<R: ~Copyable>(
    prefix: StaticString, _ rest: Span<UInt8>, _ body: (borrowing AttributeName) throws(Errno) -> R
  ) throws(Errno) -> R {
    let (start, count) = try unsafe terminatedText(of: prefix)
    guard count + rest.count <= longest else { throw .range }
    let prefix = unsafe UnsafeRawBufferPointer(start: start, count: count)
    return try unsafe withTerminated(prefix: prefix, rest) { (pointer, count) throws(Errno) -> R in
      try body(unsafe AttributeName(borrowing: pointer, count: count))
    }
  }

  /// Lends `prefix` and `rest` set together; no heap is touched.
  package static func with<R: ~Copyable>(
    prefix: StaticString, _ rest: [UInt8], _ body: (borrowing AttributeName) throws(Errno) -> R
  ) throws(Errno) -> R {
    try with(prefix: prefix, rest.span, body)
  }

  package borrowing func hasPrefix(_ prefix: StaticString) -> Bool {
    guard prefix.hasPointerRepresentation, prefix.utf8CodeUnitCount <= count else { return false }
    return unsafe memcmp(pointer, prefix.utf8Start, prefix.utf8CodeUnitCount) == 0
  }

  /// Some stores do not tell capitals from small letters in the names of attributes.
  package borrowing func hasPrefix(ignoringCase prefix: StaticString) -> Bool {
    guard prefix.hasPointerRepresentation, prefix.utf8CodeUnitCount <= count else { return false }
    for index in 0..<prefix.utf8CodeUnitCount {
      let (found, wanted) = unsafe (UInt8(bitPattern: pointer[index]), prefix.utf8Start[index])
      guard found | 0x20 == wanted | 0x20 else { return false }
    }
    return true
  }

  package borrowing func equals(_ other: StaticString) -> Bool {
    other.utf8CodeUnitCount == count && hasPrefix(other)
  }

  package borrowing func equals(_ other: [UInt8]) -> Bool {
    guard other.count == count else { return false }
    return unsafe other.withUnsafeBytes { bytes in
      guard let start = bytes.baseAddress else { return false }
      return unsafe memcmp(pointer, start, count) == 0
    }
  }

  /// The bytes after the first `dropped` in an array of their own, without the terminator.
  package borrowing func copy(droppingFirst dropped: Int = 0) -> [UInt8] {
    let skipped = min(max(dropped, 0), count)
    return unsafe [UInt8](UnsafeRawBufferPointer(start: pointer + skipped, count: count - skipped))
  }
}
