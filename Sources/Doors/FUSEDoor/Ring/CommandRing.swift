// An io_uring for commands to the FUSE device, one at a time.

import CFUSE
import CLinux
import LinuxFiles

/// A ring of the kernel's, closed exactly once.
///
/// Any thread may make one; the first that starts it is the only one that may use it.
@safe struct CommandRing: ~Copyable, @unchecked Sendable {
  // Sendable: creating and destroying are bound to no thread, and one thread uses it in between.
  private let ring: OpaquePointer

  /// EPERM, ENOSYS: this process may not have one, or this kernel has none of this kind.
  init() throws(Errno) {
    var made: OpaquePointer?
    try retrying { unsafe lv_ring_create(&made) }
    guard let made = unsafe made else { throw .noMemory }
    unsafe ring = made
  }

  deinit {
    unsafe lv_ring_destroy(ring)
  }

  /// Binds the ring to the calling thread.
  borrowing func start() throws(Errno) {
    try retrying { unsafe lv_ring_start(ring) }
  }

  /// What is asked of the kernel.
  enum Command: Equatable {
    /// Gives the kernel the buffers of an entry, and waits for the first request.
    case register
    /// Hands over the reply to a request, and waits for the next.
    case commit(UInt64)
    /// Nothing: to learn whether commands get through.
    case probe
  }

  /// What became of a command.
  enum Outcome: Equatable {
    case done
    /// Whoever it was for refused it, or gave it up.
    case failed(Errno)
    /// It may be on its way or not: nothing more can be learnt through this ring.
    case broken(Errno)
  }

  /// Sends a command and waits for its result.
  ///
  /// `buffers` must stay where they are, and untouched, until this returns. `meanwhile` is called when the kernel
  /// has the command.
  @unsafe borrowing func run(
    _ command: Command, to device: CInt, queue: Int, buffers: UnsafeBufferPointer<iovec>,
    meanwhile: (() -> Void)? = nil
  ) -> Outcome {
    var words = lv_fuse_ring_command()
    words.queue = UInt16(clamping: queue)
    if case .commit(let identifier) = command { words.commit_id = identifier }
    unsafe lv_ring_prepare(
      ring, device, command.number, buffers.baseAddress, UInt32(clamping: buffers.count), &words,
      MemoryLayout<lv_fuse_ring_command>.size)
    if let meanwhile {
      // Should this fail, waiting sends as well.
      _ = unsafe lv_ring_send(ring)
      meanwhile()
    }
    var result: Int32 = 0
    let failure = unsafe lv_ring_wait(ring, &result)
    if failure < 0 { return .broken(Errno(rawValue: CInt(truncatingIfNeeded: -failure))) }
    return result < 0 ? .failed(Errno(rawValue: -result)) : .done
  }
}

extension CommandRing.Command {
  var number: UInt32 {
    switch self {
    case .register: LV_FUSE_RING_REGISTER
    case .commit: LV_FUSE_RING_COMMIT_AND_FETCH
    // The number the protocol keeps free.
    case .probe: 0
    }
  }
}
