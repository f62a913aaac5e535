import LinuxFiles

// Command lines, lent to C.

/// Lends the words one after the other, each with a terminator; EINVAL if one holds a terminator itself.
@unsafe func withTerminated<R>(
  _ words: [[UInt8]], _ body: (UnsafePointer<CChar>) throws(Errno) -> R
) throws(Errno) -> R {
  guard !words.contains(where: { $0.contains(0) }) else { throw .invalid }
  let joined = Array(words.joined(separator: [0])) + [0]
  return try unsafe joined.span.withUnsafeBytes { buffer throws(Errno) -> R in
    guard let start = buffer.baseAddress else { throw .invalid }
    return try unsafe body(start.assumingMemoryBound(to: CChar.self))
  }
}
