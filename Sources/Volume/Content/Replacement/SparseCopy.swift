// The bytes of a work file over those of another file, holes as holes; and room for them before.

import Ciphers
import LinuxFiles

enum SparseCopy {
  private static let pieceSize = 8 << 20
  private static let bufferSize = 256 << 10

  /// Makes `target` exactly the first `length` bytes of `source`; `before` each piece asks whether that may go on.
  static func copy(
    _ length: UInt64, of source: borrowing Descriptor, to target: borrowing Descriptor,
    before: () throws(Errno) -> Void = {}
  ) throws(Errno) {
    let size = try target.status().size
    var position: UInt64 = 0
    var copiesInKernel = true
    while let data = try data(in: source, from: position, to: length) {
      try before()
      try clear(position..<data.lowerBound, in: target, size: size)
      if copiesInKernel {
        position = try copyInKernel(data, of: source, to: target, before)
        copiesInKernel = position == data.upperBound
      } else {
        position = data.lowerBound
      }
      // Where the kernel cannot copy between these files.
      if position < data.upperBound {
        try copyByHand(position..<data.upperBound, of: source, to: target, before)
      }
      position = data.upperBound
    }
    try before()
    try clear(position..<length, in: target, size: size)
    try target.truncate(to: length)
  }

  /// Reserves room in `target` for what `copy` will write there.
  static func reserve(
    _ length: UInt64, of source: borrowing Descriptor, in target: borrowing Descriptor
  ) throws(Errno) {
    var position: UInt64 = 0
    while let data = try data(in: source, from: position, to: length) {
      do throws(Errno) {
        try target.allocate(
          mode: .keepSize, offset: try Int64(checking: data.lowerBound), length: Int64(data.count))
      } catch .unsupported {
        // A file system that does not reserve: if room runs out, the file is settled when there is some.
        return
      }
      position = data.upperBound
    }
  }

  /// The next piece of data before `end`; nil if there is nothing but a hole.
  static func data(
    in file: borrowing Descriptor, from position: UInt64, to end: UInt64
  ) throws(Errno) -> Range<UInt64>? {
    guard position < end else { return nil }
    do throws(Errno) {
      let start = UInt64(try file.seek(offset: try Int64(checking: position), whence: .data))
      guard start < end else { return nil }
      let hole = UInt64(try file.seek(offset: try Int64(checking: start), whence: .hole))
      return start..<min(max(hole, start + 1), end)
    } catch .noDevice {
      return nil
    } catch .invalid {
      // A file system that does not tell.
      return position..<end
    }
  }

  /// Makes a range zeros, as far as the file has anything there, and frees its room.
  private static func clear(
    _ range: Range<UInt64>, in file: borrowing Descriptor, size: UInt64
  ) throws(Errno) {
    let range = range.clamped(to: 0..<size)
    guard !range.isEmpty else { return }
    do throws(Errno) {
      try file.allocate(
        mode: [.punchHole, .keepSize], offset: try Int64(checking: range.lowerBound),
        length: Int64(range.count))
    } catch .unsupported {
      let zeros = [UInt8](repeating: 0, count: min(bufferSize, range.count))
      var position = range.lowerBound
      while position < range.upperBound {
        let count = Int(min(UInt64(zeros.count), range.upperBound - position))
        try file.writeAll(zeros.span.extracting(0..<count), at: try Int64(checking: position))
        position += UInt64(count)
      }
    }
  }

  /// Where it ended: before the end where the kernel does not copy between these files.
  private static func copyInKernel(
    _ range: Range<UInt64>, of source: borrowing Descriptor, to target: borrowing Descriptor,
    _ before: () throws(Errno) -> Void
  ) throws(Errno) -> UInt64 {
    var position = range.lowerBound
    while position < range.upperBound {
      try before()
      let offset = try Int64(checking: position)
      do throws(Errno) {
        let count = try source.copyRange(
          from: offset, to: target, at: offset,
          length: Int(min(UInt64(pieceSize), range.upperBound - position)))
        // Shorter than its trailer says.
        guard count > 0 else { throw .inputOutput }
        position += UInt64(count)
      } catch {
        guard [.crossDevice, .invalid, .unsupported, .notImplemented].contains(error) else { throw error }
        return position
      }
    }
    return position
  }

  /// Through memory that is wiped: it may be plaintext.
  static func copyByHand(
    _ range: Range<UInt64>, of source: borrowing Descriptor, to target: borrowing Descriptor,
    _ before: () throws(Errno) -> Void = {}
  ) throws(Errno) {
    var buffer = [UInt8](repeating: 0, count: min(bufferSize, range.count))
    var bytes = buffer.mutableSpan
    defer { bytes.wipe() }
    var position = range.lowerBound
    while position < range.upperBound {
      let count = Int(min(UInt64(bytes.count), range.upperBound - position))
      var part = bytes._mutatingExtracting(0..<count)
      try before()
      guard try source.readFully(into: &part, at: try Int64(checking: position)) == count else {
        throw .inputOutput
      }
      try target.writeAll(part.span, at: try Int64(checking: position))
      position += UInt64(count)
    }
  }
}
