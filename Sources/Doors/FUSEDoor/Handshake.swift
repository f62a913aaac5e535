// The one exchange that libfuse holds and this door changes on its way: INIT.

import CFUSE
import Synchronization

/// What is known of INIT while it goes through libfuse's hands.
final class Handshake: Sendable {
  private struct State {
    var offer: Offer?
    var unique: UInt64 = 0
    var agreement: Agreement?
  }

  private let state = Mutex(State())
  private let disabled: Set<String>
  private let pageSize: Int
  private let stackDepth: UInt32
  private let encrypts: Bool

  /// As ``Agreement/init(to:disabled:pageSize:stackDepth:encrypts:)``.
  init(disabled: Set<String>, pageSize: Int, stackDepth: UInt32, encrypts: Bool = false) {
    self.disabled = disabled
    self.pageSize = pageSize
    self.stackDepth = stackDepth
    self.encrypts = encrypts
  }

  /// What was agreed; nil until the reply is with the kernel.
  var agreement: Agreement? { state.withLock { $0.agreement } }

  /// What the kernel last said, also when nothing was agreed.
  var offer: Offer? { state.withLock { $0.offer } }

  /// Remembers what the kernel offers, if `bytes` are an INIT request.
  @unsafe func sawRequest(_ bytes: UnsafeRawBufferPointer) {
    let headerSize = MemoryLayout<fuse_in_header>.size
    guard bytes.count >= headerSize else { return }
    let header = unsafe bytes.loadUnaligned(as: fuse_in_header.self)
    guard header.opcode == Opcode.initialize.rawValue else { return }
    // Older kernels send a shorter structure: what is missing is zero.
    var request = fuse_init_in()
    unsafe withUnsafeMutableBytes(of: &request) { room in
      let sent = unsafe UnsafeRawBufferPointer(rebasing: bytes[headerSize...].prefix(room.count))
      unsafe room.copyMemory(from: sent)
    }
    let offer = Offer(request)
    state.withLock {
      $0.offer = offer
      $0.unique = header.unique
    }
  }

  /// Changes the reply to INIT in place; nil when `pieces` are something else.
  ///
  /// libfuse sends it in two pieces: the header and `fuse_init_out`.
  @unsafe func changeReply(_ pieces: UnsafeMutableBufferPointer<iovec>) -> Agreement? {
    guard pieces.count == 2,
      let head = unsafe pieces[0].iov_base, let body = unsafe pieces[1].iov_base,
      unsafe pieces[0].iov_len == MemoryLayout<fuse_out_header>.size,
      unsafe pieces[1].iov_len == MemoryLayout<fuse_init_out>.size
    else { return nil }
    let header = unsafe head.loadUnaligned(as: fuse_out_header.self)
    var reply = unsafe body.loadUnaligned(as: fuse_init_out.self)
    let (offer, unique) = state.withLock { ($0.offer, $0.unique) }
    guard let offer, header.unique == unique, header.error == 0 else { return nil }
    // A kernel of another major version gets libfuse's answer and asks again.
    guard offer.major == UInt32(FUSE_KERNEL_VERSION), offer.minor >= Offer.oldestMinor else { return nil }

    let agreement = Agreement(
      to: offer, disabled: disabled, pageSize: pageSize, stackDepth: stackDepth, encrypts: encrypts)
    agreement.write(into: &reply)
    unsafe body.storeBytes(of: reply, as: fuse_init_out.self)
    return agreement
  }

  /// The changed reply is with the kernel.
  func conclude(_ agreement: Agreement) {
    state.withLock { $0.agreement = agreement }
  }
}
