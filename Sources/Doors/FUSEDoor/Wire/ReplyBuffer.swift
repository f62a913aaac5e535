// The memory a worker makes its replies in.

import CFUSE
import Glibc
import LinuxFiles

/// The body of one reply, with room for the header in front of it.
///
/// Made once per worker and filled anew for each request. The body begins on a page boundary, so that a
/// read goes from the backing file to the kernel without another copy in between.
@safe struct ReplyBuffer: ~Copyable {
  /// The header lies in the last bytes of this, directly before the body.
  private static let front = 4096

  private let memory: UnsafeMutableRawBufferPointer
  let capacity: Int
  /// The bytes of the body so far.
  private(set) var count = 0
  /// How far something was filled in that must not stay.
  private var filled = 0
  private var isSecret = false

  /// Makes room for `capacity` bytes behind the header.
  init(capacity: Int) {
    self.capacity = max(capacity, 0)
    unsafe memory = .allocate(byteCount: ReplyBuffer.front + self.capacity, alignment: ReplyBuffer.front)
  }

  deinit {
    unsafe memory.deallocate()
  }

  private var body: UnsafeMutableRawBufferPointer {
    unsafe UnsafeMutableRawBufferPointer(rebasing: memory[ReplyBuffer.front...])
  }

  /// Starts over.
  mutating func clear() {
    count = 0
  }

  /// Adds one of the kernel's structures; EIO when there is no room, which only a mistake here can cause.
  mutating func append<T: BitwiseCopyable>(_ value: T) throws(Errno) {
    let size = MemoryLayout<T>.size
    guard size <= capacity - count else { throw .inputOutput }
    unsafe body.storeBytes(of: value, toByteOffset: count, as: T.self)
    count += size
  }

  /// Adds bytes as they are; EIO when there is no room.
  mutating func append(_ bytes: Span<UInt8>) throws(Errno) {
    guard bytes.count <= capacity - count else { throw .inputOutput }
    unsafe bytes.withUnsafeBytes { bytes in
      unsafe UnsafeMutableRawBufferPointer(rebasing: body[count...]).copyMemory(from: bytes)
    }
    count += bytes.count
  }

  /// Adds `extra` bytes of zero; EIO when there is no room.
  mutating func appendZeros(_ extra: Int) throws(Errno) {
    guard extra >= 0, extra <= capacity - count else { throw .inputOutput }
    if extra > 0, let start = unsafe body.baseAddress { unsafe memset(start + count, 0, extra) }
    count += extra
  }

  /// Lets `write` fill up to `limit` bytes and answer how many of them it used.
  mutating func fill(
    upTo limit: Int, _ write: (inout MutableSpan<UInt8>) throws(Errno) -> Int
  ) throws(Errno) {
    let end = count + max(0, min(limit, capacity - count))
    filled = end
    let room = unsafe UnsafeMutableRawBufferPointer(rebasing: body[count..<end])
    var span = unsafe MutableSpan<UInt8>(_unsafeBytes: room)
    count += max(0, min(try write(&span), room.count))
  }

  /// What was filled in is to be overwritten when the reply is sent.
  mutating func wipeAfterwards() { isSecret = true }

  /// Overwrites what must not stay.
  mutating func wipe() {
    guard isSecret else { return }
    isSecret = false
    if let start = unsafe body.baseAddress { unsafe explicit_bzero(start, filled) }
  }

  /// A number in the body; nil when it does not lie inside.
  borrowing func number<T: FixedWidthInteger & BitwiseCopyable>(_ type: T.Type, at offset: Int) -> T? {
    guard offset >= 0, count >= MemoryLayout<T>.size, offset <= count - MemoryLayout<T>.size else {
      return nil
    }
    return unsafe body.loadUnaligned(fromByteOffset: offset, as: T.self)
  }

  /// Sets the header before the body and lends both in one piece, as the device wants them.
  mutating func withFramed<R>(
    unique: UInt64, failure: CInt, _ send: (Span<UInt8>) -> R
  ) -> R {
    let headerSize = MemoryLayout<fuse_out_header>.size
    let total = headerSize + count
    let header = fuse_out_header(len: UInt32(clamping: total), error: -failure, unique: unique)
    let start = ReplyBuffer.front - headerSize
    unsafe memory.storeBytes(of: header, toByteOffset: start, as: fuse_out_header.self)
    let whole = unsafe UnsafeRawBufferPointer(rebasing: memory[start..<(start + total)])
    return send(unsafe Span(_unsafeBytes: whole))
  }
}
