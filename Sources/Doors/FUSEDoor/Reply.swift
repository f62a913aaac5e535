// The end of a request: one answer, or none where none is expected.

import LayeredVolume
import LinuxFiles

/// What to take back when an answer does not arrive: the kernel then knows nothing of what was opened or
/// found for it.
enum Undo: Equatable {
  case nothing
  case forget(NodeID)
  case release(HandleID)
  case forgetAndRelease(NodeID, HandleID)
  /// Every node of a READDIRPLUS reply, which is still in the buffer.
  case forgetListed
}

/// What one request came to.
///
/// Made once for each attempt at a request, and consumed by sending, so that each request is answered exactly once.
struct Reply: ~Copyable {
  enum Answer: Equatable {
    /// The body is in the buffer.
    case success
    case failure(Errno)
    /// The kernel does not wait for one.
    case none
    /// There is none yet: the request is to be run again.
    case delayed(Delay)
  }

  let unique: UInt64
  let answer: Answer
  let undo: Undo

  init(to unique: UInt64, _ answer: Answer, undo: Undo = .nothing) {
    self.unique = unique
    self.answer = answer
    self.undo = undo
  }

  /// Sends the answer through `transmit` and says what must be taken back.
  ///
  /// `transmit` gets the framed reply, header first, and answers whether the kernel took it.
  consuming func send(_ buffer: inout ReplyBuffer, _ transmit: (Span<UInt8>) -> Bool) -> Undo {
    switch answer {
    case .none, .delayed:
      return .nothing
    case .success:
      return buffer.withFramed(unique: unique, failure: 0, transmit) ? .nothing : undo
    case .failure(let error):
      // What was half made is no part of the answer.
      buffer.clear()
      _ = buffer.withFramed(unique: unique, failure: error.forKernel, transmit)
      return .nothing
    }
  }
}

extension Errno {
  /// The number the kernel accepts in a reply.
  ///
  /// It takes 1 to 511; with any other it would refuse the reply and leave the caller waiting. And a program that hears that a
  /// mount is not connected takes its daemon for dead, and the mount away: a store that has lost its servers says the
  /// same of itself, and is EIO here.
  var forKernel: CInt {
    switch self {
    case .notConnected, .shutDown, .connectionAborted: Errno.inputOutput.rawValue
    default: (1..<512).contains(rawValue) ? rawValue : Errno.inputOutput.rawValue
    }
  }
}
