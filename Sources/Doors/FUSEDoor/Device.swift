// The FUSE device: one request per read, one reply per write.

import CFUSE
import LinuxFiles

/// One open end of the connection to the kernel.
struct Device: Sendable {
  /// Open as long as the session's workers run, or as long as `owner` exists.
  let number: CInt
  /// Whether ``receive(into:)`` waits for a request.
  var blocks = true
  /// Keeps a clone open: the kernel takes a reply only at the end that read the request.
  private var owner: SharedDescriptor?

  /// An end that is borrowed.
  init(number: CInt) {
    self.number = number
  }

  /// An end that this keeps open.
  init(_ owner: SharedDescriptor, blocks: Bool = true) {
    number = owner.descriptor.rawValue
    self.blocks = blocks
    self.owner = owner
  }

  enum Received: Equatable {
    case request
    /// Interrupted, no request, or the request was taken back while it was read.
    case nothing
    /// The volume is not mounted any more.
    case unmounted
    case failed(Errno)
  }

  /// Waits for the next request.
  func receive(into buffer: inout RequestBuffer) -> Received {
    let result = unsafe buffer.fill { start, count in unsafe lv_fuse_read(number, start, count) }
    // 0 bytes are the end of a socket; tests use sockets in place of the device.
    if result >= 0 { return result > 0 ? .request : .unmounted }
    switch Errno(rawValue: CInt(truncatingIfNeeded: -result)) {
    case .noSuchDevice, .connectionAborted, .notConnected: return .unmounted
    case .interrupted, .noSuchFile: return .nothing
    case .again:
      // Only a non-blocking descriptor answers so: one for polling, or one that was made so from outside.
      if blocks { _ = lv_fuse_wait(number) }
      return .nothing
    case let error: return .failed(error)
    }
  }

  /// Polls for the next request, until `end` of the monotonic clock.
  func receive(into buffer: inout RequestBuffer, until end: UInt64) -> Received {
    repeat {
      let received = receive(into: &buffer)
      if received != .nothing { return received }
    } while Clock.monotonicNanoseconds < end
    return .nothing
  }

  /// A new end of the same connection; nil where the kernel refuses.
  ///
  /// Each end has a queue of its own for what was read there and is not answered yet.
  func clone(_ flags: OpenFlags = []) -> SharedDescriptor? {
    do throws(Errno) {
      let own = try Descriptor.open(path: "/dev/fuse", [.readWrite, flags])
      try retrying { lv_fuse_clone(own.rawValue, number) }
      return SharedDescriptor(own)
    } catch {
      return nil
    }
  }

  /// Hands a reply to the kernel in one piece; false when it did not take it.
  ///
  /// ENOENT: the caller is gone. ENODEV: the connection is; the worker sees that at its next read.
  func send(_ reply: Span<UInt8>) -> Bool {
    unsafe reply.withUnsafeBytes { bytes in
      guard let start = bytes.baseAddress else { return false }
      while true {
        let result = unsafe lv_fuse_write(number, start, bytes.count)
        if result != -Int(Errno.interrupted.rawValue) { return result >= 0 }
      }
    }
  }
}
