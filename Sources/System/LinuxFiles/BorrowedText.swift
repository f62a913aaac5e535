// Turning stored bytes and literals into C strings: names, attribute names and paths.

/// Lends a terminated copy of at most 255 bytes that lies on the stack.
@unsafe func withTerminated<R: ~Copyable>(
  _ bytes: Span<UInt8>, _ body: (UnsafePointer<CChar>, Int) throws(Errno) -> R
) throws(Errno) -> R {
  try unsafe withTerminated(prefix: UnsafeRawBufferPointer(start: nil, count: 0), bytes, body)
}

/// Lends a terminated copy of two pieces set together, at most 255 bytes, that lies on the stack.
@unsafe func withTerminated<R: ~Copyable>(
  prefix: UnsafeRawBufferPointer, _ bytes: Span<UInt8>,
  _ body: (UnsafePointer<CChar>, Int) throws(Errno) -> R
) throws(Errno) -> R {
  let count = prefix.count + bytes.count
  guard count <= 255 else { throw .nameTooLong }
  return try unsafe withUnsafeTemporaryAllocation(byteCount: 256, alignment: 8) {
    (room) throws(Errno) -> R in
    guard let start = room.baseAddress else { throw .noMemory }
    unsafe room.copyMemory(from: prefix)
    unsafe bytes.withUnsafeBytes { bytes in
      unsafe UnsafeMutableRawBufferPointer(rebasing: room[prefix.count...]).copyMemory(from: bytes)
    }
    unsafe room[count] = 0
    return try unsafe body(UnsafePointer(start.bindMemory(to: CChar.self, capacity: 256)), count)
  }
}

/// Lends a terminated copy of a text of any length, such as a path; EINVAL if it holds a terminator itself.
@unsafe package func withTerminatedText<R>(
  _ path: [UInt8], _ body: (UnsafePointer<CChar>) throws(Errno) -> R
) throws(Errno) -> R {
  guard !path.contains(0) else { throw .invalid }
  let bytes = path + [0]
  return try unsafe bytes.span.withUnsafeBytes { buffer throws(Errno) -> R in
    guard let start = buffer.baseAddress else { throw .invalid }
    return try unsafe body(start.assumingMemoryBound(to: CChar.self))
  }
}

/// The bytes of a literal: terminated, and valid for ever.
///
/// EINVAL for the one form of literal that has no bytes in the program text (a single scalar).
@unsafe func terminatedText(of literal: StaticString) throws(Errno) -> (UnsafePointer<CChar>, Int) {
  guard literal.hasPointerRepresentation else { throw .invalid }
  let start = unsafe UnsafeRawPointer(literal.utf8Start).assumingMemoryBound(to: CChar.self)
  return unsafe (start, literal.utf8CodeUnitCount)
}

/// The same bytes, seen as unsigned.
@unsafe func byteBuffer(_ start: UnsafePointer<CChar>, _ count: Int) -> UnsafeBufferPointer<UInt8> {
  unsafe UnsafeBufferPointer(start: UnsafeRawPointer(start).assumingMemoryBound(to: UInt8.self), count: count)
}
