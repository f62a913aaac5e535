import Glibc

// Names, checked once at the edge and then passed on without copying.

/// One path component, borrowed: it never owns its bytes and never outlives them.
///
/// Code that makes one from a pointer promises that the bytes stay as they are while it exists. It cannot
/// be copied and is only ever passed `borrowing`, so it ends with the request that brought the bytes.
/// Any bytes but NUL and "/" are a name; no encoding is assumed.
@safe package struct FileName: ~Copyable {
  @unsafe package let pointer: UnsafePointer<CChar>
  /// In bytes, without the terminator.
  package let count: Int

  /// The longest name the Linux file systems accept.
  package static let longest = 255

  /// Checks `count` bytes that are followed by a NUL, all readable.
  ///
  /// ENOENT when empty (as Linux answers for an empty path); EINVAL for ".", "..", "/" or NUL inside, or a
  /// missing terminator; ENAMETOOLONG beyond 255 bytes.
  @unsafe package init(borrowing pointer: UnsafePointer<CChar>, count: Int) throws(Errno) {
    guard count > 0 else { throw .noSuchFile }
    guard count <= FileName.longest else { throw .nameTooLong }
    guard unsafe pointer[count] == 0 else { throw .invalid }
    guard unsafe memchr(pointer, 0, count) == nil, unsafe memchr(pointer, slash, count) == nil else {
      throw .invalid
    }
    if count <= 2, unsafe pointer[0] == dot, unsafe pointer[count - 1] == dot { throw .invalid }
    unsafe self.pointer = pointer
    self.count = count
  }

  /// Checks the C string at `pointer`; at most 256 bytes of it are looked at.
  @unsafe package init(borrowing pointer: UnsafePointer<CChar>) throws(Errno) {
    try unsafe self.init(borrowing: pointer, count: strnlen(pointer, FileName.longest + 1))
  }

  /// A name from the program text, which lives for ever.
  package init(_ literal: StaticString) throws(Errno) {
    let (pointer, count) = try unsafe terminatedText(of: literal)
    try unsafe self.init(borrowing: pointer, count: count)
  }

  /// Lends a stored name, which has no terminator, for the length of `body`; no heap is touched.
  package static func with<R: ~Copyable>(
    _ bytes: Span<UInt8>, _ body: (borrowing FileName) throws(Errno) -> R
  ) throws(Errno) -> R {
    guard bytes.count <= longest else { throw .nameTooLong }
    return try unsafe withTerminated(bytes) { (pointer, count) throws(Errno) -> R in
      try body(unsafe FileName(borrowing: pointer, count: count))
    }
  }

  /// Lends a stored name, which has no terminator, for the length of `body`; no heap is touched.
  package static func with<R: ~Copyable>(
    _ bytes: [UInt8], _ body: (borrowing FileName) throws(Errno) -> R
  ) throws(Errno) -> R {
    try with(bytes.span, body)
  }

  /// The bytes in an array of their own, without the terminator.
  package borrowing func copy() -> [UInt8] {
    unsafe [UInt8](UnsafeRawBufferPointer(start: pointer, count: count))
  }

  /// A number that names rarely share (FNV-1a), not for anything where forging it would be a gain.
  package borrowing func mixed(with seed: UInt64) -> UInt64 {
    var hash = 0xCBF2_9CE4_8422_2325 ^ seed
    for index in 0..<count {
      hash = unsafe (hash ^ UInt64(UInt8(bitPattern: pointer[index]))) &* 0x100_0000_01B3
    }
    return hash ^ (hash >> 32)
  }

  package borrowing func equals(_ other: [UInt8]) -> Bool {
    equals(other.span)
  }

  package borrowing func equals(_ other: Span<UInt8>) -> Bool {
    guard other.count == count else { return false }
    return unsafe other.withUnsafeBytes { bytes in
      guard let start = bytes.baseAddress else { return false }
      return unsafe memcmp(pointer, start, count) == 0
    }
  }
}

private let slash = CInt(UInt8(ascii: "/"))
private let dot = CChar(bitPattern: UInt8(ascii: "."))
