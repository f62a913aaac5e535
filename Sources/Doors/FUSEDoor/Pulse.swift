// What a worker lets others know of itself, at the price of a few stores.

import CFUSE
import LayeredVolume
import Synchronization

/// Whether a worker is busy, and whether with the same request as before.
final class Pulse: Sendable {
  /// Odd while a request is served.
  private let beats = Atomic<UInt64>(0)
  private let subject = Atomic<NodeID>(0)
  private let lastFile = Atomic<NodeID>(0)
  private let hasLeft = Atomic(false)
  private let relief: Relief?

  init(_ relief: Relief? = nil) {
    self.relief = relief
  }

  /// A request about `node` begins.
  func begin(_ node: NodeID) {
    subject.store(node, ordering: .relaxed)
    // In one order with what `Relief` does before it sleeps: it sees this, or this sees it asleep.
    beats.add(1, ordering: .sequentiallyConsistent)
    relief?.notice()
  }

  /// A request has to wait for a worker: more of them may be needed.
  func requestWaits() {
    relief?.notice()
  }

  func end() {
    beats.add(1, ordering: .releasing)
  }

  /// What the present request, or the last one, is about.
  var node: NodeID { subject.load(ordering: .relaxed) }

  var now: UInt64 { beats.load(ordering: .sequentiallyConsistent) }

  /// Remembers a plain file that the kernel knows, if a request was about one or its answer shows one.
  func note(_ request: borrowing Request, _ reply: borrowing ReplyBuffer) {
    switch Opcode(rawValue: request.opcodeNumber) {
    case .open, .read, .write, .flush, .fsync, .fallocate, .lseek:
      lastFile.store(request.node, ordering: .relaxed)
    case .lookup, .create, .link:
      guard let node = reply.number(NodeID.self, at: 0),
        let mode = reply.number(UInt32.self, at: Pulse.modePlace),
        mode & UInt32(S_IFMT) == UInt32(S_IFREG)
      else { return }
      lastFile.store(node, ordering: .relaxed)
    default: break
    }
  }

  /// Where the kind of what an entry leads to stands in it.
  private static let modePlace =
    (MemoryLayout<fuse_entry_out>.offset(of: \.attr) ?? 0) + (MemoryLayout<fuse_attr>.offset(of: \.mode) ?? 0)

  /// The plain file that was seen last; nil when there was none.
  var file: NodeID? {
    let node = lastFile.load(ordering: .relaxed)
    return node == 0 ? nil : node
  }

  /// The worker is none of its crew any more.
  func leave() {
    hasLeft.store(true, ordering: .releasing)
    // So that it is looked whether enough are left.
    relief?.notice()
  }

  var isGone: Bool { hasLeft.load(ordering: .acquiring) }

  /// The volume is not mounted any more: nobody is to be called to help.
  func sawTheEnd() {
    relief?.end()
  }
}
