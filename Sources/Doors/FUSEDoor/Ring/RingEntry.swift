// One request on a ring and its reply: the two buffers they share.

import CFUSE
import Glibc
import LinuxFiles

/// The buffers of one place for requests.
///
/// The kernel writes a request into `header` and the room of `reply`, and fetches the reply from
/// the same places. So a request that brings no names or data is answered where it lies, a READ from the
/// backing file into the kernel's hands; the reply to any other is made aside, and is short.
@safe struct RingEntry: ~Copyable {
  /// Longer than every reply to a request that brings a name or data: the value of an attribute.
  private static let asideSize = 65_536 + 4096

  private let header: UnsafeMutablePointer<lv_fuse_ring_header>
  private let pieces: UnsafeMutableBufferPointer<iovec>
  private var reply: ReplyBuffer
  private var aside = ReplyBuffer(capacity: RingEntry.asideSize)

  /// Makes room for `payloadSize` bytes of a request, or of a reply.
  ///
  /// Memory nobody has written to yet is only promised: an entry costs what was the longest that went
  /// through it.
  init(payloadSize: Int) {
    unsafe header = .allocate(capacity: 1)
    unsafe header.initialize(to: lv_fuse_ring_header())
    reply = ReplyBuffer(capacity: payloadSize)
    unsafe pieces = .allocate(capacity: 2)
    unsafe pieces[0] = iovec(
      iov_base: UnsafeMutableRawPointer(header), iov_len: MemoryLayout<lv_fuse_ring_header>.size)
    unsafe pieces[1] = iovec(iov_base: reply.room.baseAddress, iov_len: reply.room.count)
  }

  deinit {
    unsafe header.deallocate()
    unsafe pieces.deallocate()
  }

  /// What the kernel is to know of the buffers.
  @unsafe var buffers: UnsafeBufferPointer<iovec> { unsafe UnsafeBufferPointer(pieces) }

  /// What the reply to the request here must be handed over with.
  var commitIdentifier: UInt64 { unsafe header.pointee.transfer.commit_id }

  /// Lends the request that has arrived to `handle`, and leaves the reply in its place.
  ///
  /// Answers what has to be taken back should the kernel not take the reply.
  mutating func answer(_ handle: (borrowing Request, inout ReplyBuffer) -> Reply) -> Undo {
    let size = min(Int(unsafe header.pointee.transfer.payload_size), reply.capacity)
    let start = unsafe UnsafeRawPointer(header)
    let body = unsafe UnsafeRawBufferPointer(
      start: start + RingEntry.bodyOffset, count: RingEntry.bodyRoom)
    let request = unsafe Request(
      header: start.loadUnaligned(as: fuse_in_header.self), body: body,
      payload: UnsafeRawBufferPointer(rebasing: reply.room[..<size]))
    if size == 0 { return frame(handle(request, &reply), isAside: false) }
    let undo = frame(handle(request, &aside), isAside: true)
    // Now nobody reads the request any more.
    reply.replace(with: aside)
    return undo
  }

  /// Lends the reply, to find in it what has to be taken back.
  borrowing func withReply(_ use: (borrowing ReplyBuffer) -> Void) {
    use(reply)
  }

  /// Puts the header of a reply in the place of the request's.
  private mutating func frame(_ answered: consuming Reply, isAside: Bool) -> Undo {
    let undo = answered.answer == .success ? answered.undo : .nothing
    // What nobody waits for is handed over empty: without that the next request could not come.
    var out = fuse_out_header(
      len: UInt32(MemoryLayout<fuse_out_header>.size), error: 0, unique: answered.unique)
    var size = 0
    let note: (Span<UInt8>) -> Bool = { bytes in
      unsafe bytes.withUnsafeBytes { unsafe out = $0.loadUnaligned(as: fuse_out_header.self) }
      size = bytes.count - MemoryLayout<fuse_out_header>.size
      return true
    }
    _ = isAside ? answered.send(&aside, note) : answered.send(&reply, note)
    unsafe UnsafeMutableRawPointer(header).storeBytes(of: out, as: fuse_out_header.self)
    unsafe header.pointee.transfer.payload_size = UInt32(clamping: size)
    return undo
  }

  private static let bodyOffset = 128
  private static let bodyRoom = 128
}
