// One request as the kernel sent it, read with every length checked.
//
// This file and `ReplyBuffer.swift` are the only ones that touch the memory of the wire. A request that
// is shorter than it says, or has a name without an end, is an error here and never a trap.
//
// For the door, in place of libfuse's parser, which loses bits (docs/design/serving.md). Nothing of a request is copied;
// `AllocationTests` hold it.

import CFUSE
import Glibc
import LayeredVolume
import LinuxFiles

/// A request, borrowed from the memory it was received in.
///
/// Valid while that memory stays as it is; hence not copyable and only ever `borrowing`.
@safe struct Request: ~Copyable {
  /// As sent: it may be a number that ``Opcode`` does not have.
  let opcodeNumber: UInt32
  /// What the reply must repeat.
  let unique: UInt64
  let node: NodeID
  let caller: Caller
  /// The lengths in the header are not those of what arrived.
  let isDamaged: Bool
  /// The operation's structure.
  private let body: UnsafeRawBufferPointer
  /// What follows it: names and data.
  private let payload: UnsafeRawBufferPointer

  /// Parts a request that lies in one piece, as the device sends it; nil when there is not even a header.
  @unsafe init?(borrowing bytes: UnsafeRawBufferPointer) {
    guard bytes.count >= MemoryLayout<fuse_in_header>.size else { return nil }
    let header = unsafe bytes.loadUnaligned(as: fuse_in_header.self)
    opcodeNumber = header.opcode
    unique = header.unique
    node = header.nodeid
    var sender = Caller(user: header.uid, group: header.gid, thread: Int32(bitPattern: header.pid))
    sender.request = header.unique
    caller = sender

    // Extensions (security contexts, groups) come last. None is asked for, so they are only cut off.
    let extensions = Int(header.total_extlen) * 8
    let bodySize = Opcode(rawValue: header.opcode)?.bodySize ?? 0
    let rest = unsafe UnsafeRawBufferPointer(rebasing: bytes[MemoryLayout<fuse_in_header>.size...])
    guard Int(header.len) == bytes.count, rest.count >= bodySize + extensions else {
      isDamaged = true
      unsafe body = UnsafeRawBufferPointer(start: nil, count: 0)
      unsafe payload = body
      return
    }
    isDamaged = false
    unsafe body = UnsafeRawBufferPointer(rebasing: rest[..<bodySize])
    unsafe payload = UnsafeRawBufferPointer(rebasing: rest[bodySize..<(rest.count - extensions)])
  }

  /// The operation's structure; EIO when the request is too short for it.
  ///
  /// `T` must be one of the kernel's structures, for which any bytes are a value.
  borrowing func read<T: BitwiseCopyable>(_ type: T.Type) throws(Errno) -> T {
    guard unsafe body.count >= MemoryLayout<T>.size else { throw .inputOutput }
    return unsafe body.loadUnaligned(as: T.self)
  }

  /// A structure inside the payload; EIO when it does not lie inside.
  borrowing func readPayload<T: BitwiseCopyable>(_ type: T.Type, at offset: Int) throws(Errno) -> T {
    let size = MemoryLayout<T>.size
    guard offset >= 0, payloadSize >= size, offset <= payloadSize - size else { throw .inputOutput }
    return unsafe payload.loadUnaligned(fromByteOffset: offset, as: T.self)
  }

  private var payloadSize: Int { unsafe payload.count }

  /// Lends the first `count` bytes of the payload; EIO when there are fewer.
  borrowing func withData<R: ~Copyable>(
    count: UInt32, _ use: (Span<UInt8>) throws(Errno) -> R
  ) throws(Errno) -> R {
    try withData(at: 0, count: count, use)
  }

  /// Lends the first `count` bytes of the payload to be used up: what is written may be encrypted where it is.
  ///
  /// The memory belongs to this request alone until it is answered. EIO when there are fewer bytes.
  borrowing func withWritableData<R: ~Copyable>(
    count: UInt32, _ use: (inout MutableSpan<UInt8>) throws(Errno) -> R
  ) throws(Errno) -> R {
    guard Int(count) <= payloadSize else { throw .inputOutput }
    let data = unsafe UnsafeMutableRawBufferPointer(
      mutating: UnsafeRawBufferPointer(rebasing: payload[..<Int(count)]))
    var span = unsafe MutableSpan<UInt8>(_unsafeBytes: data)
    return try use(&span)
  }

  private borrowing func withData<R: ~Copyable>(
    at offset: Int, count: UInt32, _ use: (Span<UInt8>) throws(Errno) -> R
  ) throws(Errno) -> R {
    guard offset <= payloadSize, Int(count) <= payloadSize - offset else { throw .inputOutput }
    let data = unsafe UnsafeRawBufferPointer(rebasing: payload[offset..<(offset + Int(count))])
    return try use(unsafe Span(_unsafeBytes: data))
  }
}

// MARK: Names

extension Request {
  /// The terminated text that begins at `offset` of the payload; EIO when it has no end.
  @unsafe private borrowing func text(
    at offset: Int
  ) throws(Errno) -> (start: UnsafePointer<CChar>, count: Int) {
    guard let base = unsafe payload.baseAddress, offset < payloadSize else { throw .inputOutput }
    let start = unsafe base + offset
    guard let end = unsafe memchr(start, 0, payloadSize - offset) else { throw .inputOutput }
    let count = unsafe UnsafeRawPointer(end) - start
    return unsafe (start.assumingMemoryBound(to: CChar.self), count)
  }

  /// Lends the name the request brought.
  borrowing func withName<R: ~Copyable>(
    _ use: (borrowing FileName) throws(Errno) -> R
  ) throws(Errno) -> R {
    let (start, count) = try unsafe text(at: 0)
    return try use(unsafe FileName(borrowing: start, count: count))
  }

  /// Lends both names of a rename.
  borrowing func withNames<R: ~Copyable>(
    _ use: (borrowing FileName, borrowing FileName) throws(Errno) -> R
  ) throws(Errno) -> R {
    let (first, firstCount) = try unsafe text(at: 0)
    let (second, secondCount) = try unsafe text(at: firstCount + 1)
    return try use(
      unsafe FileName(borrowing: first, count: firstCount),
      unsafe FileName(borrowing: second, count: secondCount))
  }

  /// Lends the name of a new symbolic link together with a copy of its target.
  borrowing func withNameAndTarget<R: ~Copyable>(
    _ use: (borrowing FileName, [UInt8]) throws(Errno) -> R
  ) throws(Errno) -> R {
    let (name, nameCount) = try unsafe text(at: 0)
    let (target, targetCount) = try unsafe text(at: nameCount + 1)
    let bytes = unsafe [UInt8](UnsafeRawBufferPointer(start: target, count: targetCount))
    return try use(unsafe FileName(borrowing: name, count: nameCount), bytes)
  }

  /// Lends the name of an extended attribute.
  borrowing func withAttributeName<R: ~Copyable>(
    _ use: (borrowing AttributeName) throws(Errno) -> R
  ) throws(Errno) -> R {
    let (start, count) = try unsafe text(at: 0)
    return try use(unsafe AttributeName(borrowing: start, count: count))
  }

  /// Lends the name of an extended attribute and the value that follows it.
  borrowing func withAttribute<R: ~Copyable>(
    valueCount: UInt32, _ use: (borrowing AttributeName, Span<UInt8>) throws(Errno) -> R
  ) throws(Errno) -> R {
    let (start, count) = try unsafe text(at: 0)
    let name = try unsafe AttributeName(borrowing: start, count: count)
    return try withData(at: count + 1, count: valueCount) { (value) throws(Errno) in try use(name, value) }
  }

  /// The first text of the payload with odd bytes made visible, for `debug`.
  borrowing func describeName() -> String {
    guard let (start, count) = unsafe try? text(at: 0) else { return "?" }
    let bytes = unsafe UnsafeRawBufferPointer(start: start, count: min(count, 255))
    return unsafe String(decoding: bytes, as: UTF8.self).debugDescription
  }
}
