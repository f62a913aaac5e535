import CLinux

// Bytes in and out, always at a stated offset: a shared file position is a race.

extension Descriptor {
  /// Reads at most the buffer's length; fewer bytes near the end, 0 at the end.
  @unsafe package borrowing func read(
    into buffer: UnsafeMutableRawBufferPointer, at offset: Int64
  ) throws(Errno) -> Int {
    try retrying { unsafe lv_pread(rawValue, buffer.baseAddress, buffer.count, offset) }
  }

  /// Writes at most the buffer's length and answers how much was taken.
  ///
  /// On a file opened for appending Linux ignores `offset` and appends.
  @unsafe package borrowing func write(
    _ buffer: UnsafeRawBufferPointer, at offset: Int64
  ) throws(Errno) -> Int {
    try retrying { unsafe lv_pwrite(rawValue, buffer.baseAddress, buffer.count, offset) }
  }

  /// Reads at most the span's length; fewer bytes near the end, 0 at the end.
  package borrowing func read(
    into span: inout MutableSpan<UInt8>, at offset: Int64
  ) throws(Errno) -> Int {
    try unsafe span.withUnsafeMutableBytes { buffer throws(Errno) in
      try unsafe read(into: buffer, at: offset)
    }
  }

  /// Reads until the span is full or the file ends.
  package borrowing func readFully(
    into span: inout MutableSpan<UInt8>, at offset: Int64
  ) throws(Errno) -> Int {
    var done = 0
    while done < span.count {
      let position = try moved(offset, by: done)
      let count = try unsafe span.withUnsafeMutableBytes { bytes throws(Errno) in
        try unsafe read(into: UnsafeMutableRawBufferPointer(rebasing: bytes[done...]), at: position)
      }
      if count == 0 { break }
      done += count
    }
    return done
  }

  /// Reads until `count` bytes are there or the file ends.
  ///
  /// Allocates `count` bytes first: the caller bounds it.
  package borrowing func read(upTo count: Int, at offset: Int64 = 0) throws(Errno) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: max(count, 0))
    var filled = 0
    while filled < bytes.count {
      let position = try moved(offset, by: filled)
      var space = bytes.mutableSpan
      let taken = try unsafe space.withUnsafeMutableBytes { space throws(Errno) in
        try unsafe read(into: UnsafeMutableRawBufferPointer(rebasing: space[filled...]), at: position)
      }
      if taken == 0 { break }
      filled += taken
    }
    bytes.removeLast(bytes.count - filled)
    return bytes
  }

  /// Writes at most the span's length and answers how much was taken.
  package borrowing func write(_ span: Span<UInt8>, at position: WritePosition) throws(Errno) -> Int {
    switch position {
    case .offset(let offset): return try write(span, at: offset)
    case .end:
      return try unsafe span.withUnsafeBytes { bytes throws(Errno) in
        try retrying { unsafe lv_append(rawValue, bytes.baseAddress, bytes.count) }
      }
    }
  }

  /// Where in a file to write.
  package enum WritePosition: Equatable, Sendable {
    case offset(Int64)
    /// Behind the last byte, wherever that is when the write happens.
    case end

    /// The position after some bytes have been written; one that no file has is as far as there is.
    package func moved(by count: Int) -> WritePosition {
      guard case .offset(let offset) = self else { return .end }
      let (sum, overflow) = offset.addingReportingOverflow(Int64(count))
      return .offset(overflow ? .max : sum)
    }
  }

  package borrowing func write(_ span: Span<UInt8>, at offset: Int64) throws(Errno) -> Int {
    try unsafe span.withUnsafeBytes { buffer throws(Errno) in try unsafe write(buffer, at: offset) }
  }

  /// Writes all bytes; on an error some of them may be in the file.
  package borrowing func writeAll(_ span: Span<UInt8>, at offset: Int64) throws(Errno) {
    var written = 0
    while written < span.count {
      let rest = span.extracting(droppingFirst: written)
      let taken = try write(rest, at: try moved(offset, by: written))
      // A file that takes nothing and names no reason would keep us here for ever.
      guard taken > 0 else { throw .inputOutput }
      written += taken
    }
  }

  /// Writes all bytes; on an error some of them may be in the file.
  package borrowing func writeAll(_ bytes: [UInt8], at offset: Int64) throws(Errno) {
    try writeAll(bytes.span, at: offset)
  }
}

private func moved(_ offset: Int64, by count: Int) throws(Errno) -> Int64 {
  let (sum, overflow) = offset.addingReportingOverflow(Int64(count))
  guard !overflow else { throw .fileTooBig }
  return sum
}
