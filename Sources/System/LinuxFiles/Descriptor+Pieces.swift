import CLinux
import Glibc

// Bytes that lie apart in memory, and behind each other in a file.

extension Descriptor {
  /// Writes all three, one behind the other, in one call where the file takes them; on an error some of them may be in
  /// the file.
  package borrowing func writeAll(
    _ head: Span<UInt8>, _ body: Span<UInt8>, _ tail: Span<UInt8>, at offset: Int64
  ) throws(Errno) {
    var (head, body, tail) = (head, body, tail)
    var position = offset
    while true {
      var rest = try gather(head, body, tail, at: position)
      guard rest > 0 else { return }
      position += Int64(rest)
      for _ in 0..<3 where rest > 0 {
        let taken = min(rest, head.count)
        rest -= taken
        head = head.extracting(droppingFirst: taken)
        if head.isEmpty { (head, body, tail) = (body, tail, head) }
      }
    }
  }

  /// How many bytes were written; 0 when there are none.
  private borrowing func gather(
    _ head: Span<UInt8>, _ body: Span<UInt8>, _ tail: Span<UInt8>, at offset: Int64
  ) throws(Errno) -> Int {
    let count = head.count + body.count + tail.count
    guard count > 0 else { return 0 }
    let taken = try unsafe head.withUnsafeBytes { head throws(Errno) in
      try unsafe body.withUnsafeBytes { body throws(Errno) in
        try unsafe tail.withUnsafeBytes { tail throws(Errno) in
          let pieces = unsafe [piece(head), piece(body), piece(tail)] as InlineArray<3, iovec>
          return try unsafe pieces.span.withUnsafeBufferPointer { pieces throws(Errno) in
            guard let start = pieces.baseAddress else { throw .inputOutput }
            return try retrying { unsafe lv_pwritev(rawValue, start, CInt(pieces.count), offset) }
          }
        }
      }
    }
    // A file that takes nothing and names no reason would keep us here for ever.
    guard taken > 0 else { throw .inputOutput }
    return taken
  }
}

@unsafe private func piece(_ bytes: UnsafeRawBufferPointer) -> iovec {
  unsafe iovec(iov_base: UnsafeMutableRawPointer(mutating: bytes.baseAddress), iov_len: bytes.count)
}
