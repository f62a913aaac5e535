// The list of an object's attribute names, and reading what may grow while it is read.

/// The names of an object's attributes, as the kernel packs them: each with a NUL behind it.
package struct AttributeNames: Sendable, Equatable {
  package let bytes: [UInt8]

  package init(bytes: [UInt8]) { self.bytes = bytes }

  /// The same of names that nobody has packed.
  package init(_ names: [[UInt8]]) { bytes = names.flatMap { $0 + [0] } }

  /// Lends each name in turn.
  package func forEach(_ body: (borrowing AttributeName) throws(Errno) -> Void) throws(Errno) {
    var start = 0
    while start < bytes.count {
      let end = bytes[start...].firstIndex(of: 0) ?? bytes.count
      let name = bytes.span.extracting(start..<end)
      try AttributeName.with(prefix: "", name, body)
      start = end + 1
    }
  }

  package func contains(_ name: [UInt8]) -> Bool {
    guard bytes.count > name.count else { return false }
    var start = 0
    while start < bytes.count {
      let end = bytes[start...].firstIndex(of: 0) ?? bytes.count
      if bytes[start..<end].elementsEqual(name) { return true }
      start = end + 1
    }
    return false
  }

  /// Every name in an array of its own.
  package var copies: [[UInt8]] {
    bytes.split(separator: 0).map([UInt8].init)
  }
}

/// Calls `read` with a buffer that fits, also when the value grows between two calls.
///
/// The first buffer is on the stack and fits nearly everything we store. The kernel's limit is 64 KiB,
/// so a value that is still too large there will not come to rest: ERANGE is passed on.
@safe func growing(
  _ read: (UnsafeMutableRawBufferPointer) throws(Errno) -> Int
) throws(Errno) -> [UInt8] {
  do throws(Errno) {
    return try copying(roomFor: 512, read)
  } catch .range {
    return try copying(roomFor: 65_536, read)
  }
}

@safe private func copying(
  roomFor count: Int, _ read: (UnsafeMutableRawBufferPointer) throws(Errno) -> Int
) throws(Errno) -> [UInt8] {
  try unsafe withUnsafeTemporaryAllocation(byteCount: count, alignment: 8) {
    buffer throws(Errno) -> [UInt8] in
    let filled = try unsafe read(buffer)
    return unsafe [UInt8](UnsafeRawBufferPointer(rebasing: buffer[..<min(filled, count)]))
  }
}
