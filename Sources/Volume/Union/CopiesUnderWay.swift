// One copy of an object at a time.

import LinuxFiles
import Synchronization

/// Which objects are being brought up now.
///
/// Whoever else needs one waits, and finds it in the upper then.
final class CopiesUnderWay: Sendable {
  private let nodes: Mutex<Set<NodeID>> = Mutex([])
  private let itemCount = Atomic<UInt64>(0)
  private let byteCount = Atomic<UInt64>(0)

  /// Runs `copy` with nobody else bringing up this node.
  ///
  /// No lock of the volume is held meanwhile.
  func alone(_ node: NodeID, _ copy: () throws(Errno) -> Void) throws(Errno) {
    while !nodes.withLock({ $0.insert(node).inserted }) { Clock.pause(milliseconds: 1) }
    defer { nodes.withLock { _ = $0.remove(node) } }
    try copy()
  }

  func count(bytes: UInt64) {
    itemCount.add(1, ordering: .relaxed)
    byteCount.add(bytes, ordering: .relaxed)
  }

  /// How many were brought up since the volume was mounted.
  var items: UInt64 { itemCount.load(ordering: .relaxed) }
  var bytes: UInt64 { byteCount.load(ordering: .relaxed) }
}
