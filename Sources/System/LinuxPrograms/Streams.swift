import CLinux
import CPrograms
package import LinuxFiles

// Bytes in and out of descriptors that are read and written from front to back.

/// The two ends of a pipe.
package struct Pipe: ~Copyable {
  package let reading: Descriptor
  package let writing: Descriptor

  package init() throws(Errno) {
    var (first, second): (CInt, CInt) = (-1, -1)
    try retrying { unsafe lv_pipe(&first, &second) }
    reading = Descriptor(adopting: first)
    writing = Descriptor(adopting: second)
  }

  /// Keeps the end for reading and closes the other, so that the end of the writer shows.
  package consuming func intoReadingEnd() -> Descriptor {
    reading
  }
}

extension Descriptor {
  /// A file without a name that goes away with its last descriptor.
  package static func memoryFile(_ name: StaticString) throws(Errno) -> Descriptor {
    let name = Array("\(name)".utf8)
    let made = try unsafe withTerminatedText(name) { name throws(Errno) in
      try retrying { unsafe lv_memory_file(name) }
    }
    return Descriptor(adopting: CInt(truncatingIfNeeded: made))
  }

  /// Reads up to the end of a line, or up to the end.
  package borrowing func readLine(limit: Int) throws(Errno) -> [UInt8] {
    try LinuxPrograms.readLine(from: rawValue, limit: limit)
  }

  /// Reads up to the end, or up to `limit` bytes.
  package borrowing func readToEnd(limit: Int = 1 << 24) throws(Errno) -> [UInt8] {
    try readAll(from: rawValue, limit: limit)
  }

  /// Reads up to the end, or until the span is full, straight into memory of the caller's.
  package borrowing func readToEnd(into span: inout MutableSpan<UInt8>) throws(Errno) -> Int {
    let number = rawValue
    return try unsafe span.withUnsafeMutableBytes { bytes throws(Errno) in
      var done = 0
      while done < bytes.count {
        let rest = unsafe UnsafeMutableRawBufferPointer(rebasing: bytes[done...])
        guard let start = rest.baseAddress else { break }
        let count = try retrying { unsafe lv_read(number, start, rest.count) }
        if count == 0 { break }
        done += count
      }
      return done
    }
  }

  /// A second descriptor of what the caller of this program has open under a number; EBADF if that is nothing.
  package static func inherited(_ number: CInt) throws(Errno) -> Descriptor {
    let opened = try retrying { lv_duplicate(number, 10) }
    return Descriptor(adopting: CInt(truncatingIfNeeded: opened))
  }
}

/// The three streams of this program.
package enum StandardStream: CInt, Sendable {
  case input = 0
  case output = 1
  case error = 2

  package var isTerminal: Bool { lv_is_terminal(rawValue) == 1 }

  /// How many letters a line of the terminal has; COLUMNS goes before what the terminal says.
  ///
  /// Nil for anything but a terminal.
  package var columns: Int? {
    guard isTerminal else { return nil }
    if let wish = environment("COLUMNS"), let columns = Int(String(decoding: wish, as: UTF8.self)),
      columns > 0
    {
      return columns
    }
    let columns = Int(lv_columns(rawValue))
    return columns > 0 ? columns : 80
  }

  package func readToEnd(limit: Int) throws(Errno) -> [UInt8] {
    try readAll(from: rawValue, limit: limit)
  }

  /// Reads what is there, a page at most; empty at the end.
  package func read() throws(Errno) -> [UInt8] {
    try readPage(from: rawValue, limit: 16_384)
  }

  /// Reads up to the end of a line, or up to the end.
  package func readLine(limit: Int) throws(Errno) -> [UInt8] {
    try LinuxPrograms.readLine(from: rawValue, limit: limit)
  }

  /// Writes everything.
  package func write(_ bytes: [UInt8]) throws(Errno) {
    try writeToStream(bytes, number: rawValue)
  }
}

private func readLine(from fd: CInt, limit: Int) throws(Errno) -> [UInt8] {
  var line: [UInt8] = []
  while line.count < limit, line.last != UInt8(ascii: "\n") {
    let byte = try readPage(from: fd, limit: 1)
    if byte.isEmpty { break }
    line += byte
  }
  return line
}

private func readAll(from fd: CInt, limit: Int) throws(Errno) -> [UInt8] {
  var all: [UInt8] = []
  while all.count < limit {
    let page = try readPage(from: fd, limit: limit - all.count)
    if page.isEmpty { break }
    all += page
  }
  return all
}

private func readPage(from fd: CInt, limit: Int) throws(Errno) -> [UInt8] {
  try unsafe withUnsafeTemporaryAllocation(byteCount: 16384, alignment: 8) {
    room throws(Errno) -> [UInt8] in
    guard let start = room.baseAddress else { throw .noMemory }
    let count = try retrying { unsafe lv_read(fd, start, min(room.count, limit)) }
    return unsafe Array(UnsafeRawBufferPointer(start: start, count: count))
  }
}
