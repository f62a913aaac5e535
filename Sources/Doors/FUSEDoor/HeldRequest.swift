// A request that is kept while others are served: a copy of its bytes, and the end that takes its answer.

import CFUSE
import LayeredVolume

/// The user for whom a request counts.
enum ShareOwner: Hashable, Sendable {
  case user(UInt32)
  /// The kernel itself, for example when it writes back pages.
  case kernel
}

/// A request that is queued or delayed.
final class HeldRequest: Sendable {
  let owner: ShareOwner
  let unique: UInt64
  let node: NodeID
  /// Whether the kernel holds the lock of a directory until this is answered.
  let holdsDirectory: Bool
  /// The end of the connection that read it and takes the answer; kept open until then.
  let device: Device
  let bytes: RequestBuffer
  /// Nil for another request than a WRITE.
  let write: HeldWrite?

  /// Copies what `buffer` holds, which is this request.
  init(_ buffer: borrowing RequestBuffer, _ request: borrowing Request, from device: Device) {
    owner = request.shareOwner
    unique = request.unique
    node = request.node
    holdsDirectory = Opcode(rawValue: request.opcodeNumber)?.holdsDirectory ?? false
    self.device = device
    let isWrite = request.opcodeNumber == Opcode.write.rawValue
    write = isWrite ? (try? request.read(fuse_write_in.self)).map { HeldWrite($0) } : nil
    bytes = RequestBuffer(copying: buffer, isWrite: isWrite)
  }

  /// The memory it takes.
  var size: Int { bytes.size + 256 }
}

/// What a WRITE says of the bytes that it brings.
struct HeldWrite {
  let handle: HandleID
  /// Whether a program wrote them through a mapping.
  let isWriteBack: Bool

  init(_ input: fuse_write_in) { (handle, isWriteBack) = (input.fh, input.isWriteBack) }
}

extension Request {
  var shareOwner: ShareOwner {
    caller.user == 0 && caller.thread == 0 ? .kernel : .user(caller.user)
  }

  /// Whether it is served at once, however many requests of its sender are under way.
  ///
  /// Such a request gives back what others may wait for, or expects no answer.
  var isNeverQueued: Bool {
    switch Opcode(rawValue: opcodeNumber) {
    case .forget, .batchForget, .release, .releasedir, .flush, .interrupt, .notifyReply, .destroy: true
    default: false
    }
  }
}

extension Opcode {
  /// Whether the kernel holds the lock of a directory, shared or exclusive, while it waits for the answer.
  fileprivate var holdsDirectory: Bool {
    switch self {
    case .lookup, .mknod, .mkdir, .symlink, .link, .create, .unlink, .rmdir, .rename, .rename2, .readdir,
      .readdirplus:
      true
    default: false
    }
  }
}
