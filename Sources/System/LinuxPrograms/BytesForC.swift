import LinuxFiles

// Byte strings, lent to C.

/// Lends `bytes` with a terminator; EINVAL if they hold one themselves.
@unsafe func withTerminated<R>(
  _ bytes: [UInt8], _ body: (UnsafePointer<CChar>) throws(Errno) -> R
) throws(Errno) -> R {
  guard !bytes.contains(0) else { throw .invalid }
  return try unsafe (bytes + [0]).withUnsafeBytes { buffer throws(Errno) -> R in
    guard let start = buffer.baseAddress else { throw .invalid }
    return try unsafe body(start.assumingMemoryBound(to: CChar.self))
  }
}

/// Lends the words one after the other, each with a terminator.
@unsafe func withTerminated<R>(
  _ words: [[UInt8]], _ body: (UnsafePointer<CChar>) throws(Errno) -> R
) throws(Errno) -> R {
  guard !words.contains(where: { $0.contains(0) }) else { throw .invalid }
  return try unsafe withJoined(Array(words.joined(separator: [0])), body)
}

@unsafe private func withJoined<R>(
  _ bytes: [UInt8], _ body: (UnsafePointer<CChar>) throws(Errno) -> R
) throws(Errno) -> R {
  try unsafe (bytes + [0]).withUnsafeBytes { buffer throws(Errno) -> R in
    guard let start = buffer.baseAddress else { throw .invalid }
    return try unsafe body(start.assumingMemoryBound(to: CChar.self))
  }
}
