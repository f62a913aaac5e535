// A request that is kept while others are served: a copy of its bytes, and where its answer has to go.

import CFUSE
import LayeredVolume

/// Whom the work on a request counts for.
enum ShareOwner: Hashable, Sendable {
  case user(UInt32)
  /// The kernel by itself, such as when it writes back pages.
  case kernel
}

/// A request that was received and waits for its turn, or for something that delays it.
final class HeldRequest: Sendable {
  let owner: ShareOwner
  let unique: UInt64
  let node: NodeID
  /// Whether the kernel holds the lock of a directory until it is answered.
  let holdsDirectory: Bool
  /// The end of the connection it came from, which takes the answer; kept open until then.
  let device: Device
  let bytes: RequestBuffer

  /// Copies what `buffer` holds, which is this request.
  init(_ buffer: borrowing RequestBuffer, _ request: borrowing Request, from device: Device) {
    owner = request.shareOwner
    unique = request.unique
    node = request.node
    holdsDirectory = Opcode(rawValue: request.opcodeNumber)?.holdsDirectory ?? false
    self.device = device
    bytes = RequestBuffer(copying: buffer, isWrite: request.opcodeNumber == Opcode.write.rawValue)
  }

  /// The memory it takes.
  var size: Int { bytes.size + 256 }
}

extension Request {
  var shareOwner: ShareOwner {
    caller.user == 0 && caller.thread == 0 ? .kernel : .user(caller.user)
  }

  /// Whether it is served at once, whatever its sender has under way.
  ///
  /// These give back what others may wait for, or expect no answer.
  var isNeverQueued: Bool {
    switch Opcode(rawValue: opcodeNumber) {
    case .forget, .batchForget, .release, .releasedir, .flush, .interrupt, .notifyReply, .destroy: true
    default: false
    }
  }
}

extension Opcode {
  /// Whether the kernel holds the lock of a directory, shared or alone, while it waits for the answer.
  fileprivate var holdsDirectory: Bool {
    switch self {
    case .lookup, .mknod, .mkdir, .symlink, .link, .create, .unlink, .rmdir, .rename, .rename2, .readdir,
      .readdirplus:
      true
    default: false
    }
  }
}
