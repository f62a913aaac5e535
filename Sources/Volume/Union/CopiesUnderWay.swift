// One copy of an object at a time, and none for longer than a request waits for it.

import LinuxFiles
import Synchronization

/// Which objects are being brought up now.
///
/// Another request that needs one waits, and finds it in the upper then.
final class CopiesUnderWay: Sendable {
  private let nodes: Mutex<Set<NodeID>> = Mutex([])
  private let itemCount = Atomic<UInt64>(0)
  private let byteCount = Atomic<UInt64>(0)
  /// A bit for each layer of which no file shares its blocks with the upper.
  private let unshared = Atomic<UInt64>(0)
  private let interrupts = Mutex(Asker { _ in false })

  /// A function in a struct: taken out of a mutex by itself it is wrapped anew each time, and in the wrapping of before.
  private struct Asker: Sendable {
    let isInterrupted: @Sendable (UInt64) -> Bool
  }

  /// Runs `copy` with nobody else bringing up this node; EINTR once the caller is interrupted while it waits.
  ///
  /// No lock of the volume is held meanwhile.
  func alone(
    _ node: NodeID, for caller: Caller, _ copy: () throws(Errno) -> Void
  ) throws(Errno) {
    while !nodes.withLock({ $0.insert(node).inserted }) {
      try requireWanted(caller)
      Clock.pause(milliseconds: 1)
    }
    defer { nodes.withLock { _ = $0.remove(node) } }
    try copy()
  }

  func askForInterrupts(_ isInterrupted: @escaping @Sendable (UInt64) -> Bool) {
    interrupts.withLock { $0 = Asker(isInterrupted: isInterrupted) }
  }

  /// EINTR if nobody waits for the answer of a request any more.
  func requireWanted(_ caller: Caller) throws(Errno) {
    if isUnwanted(caller) { throw .interrupted }
  }

  func isUnwanted(_ caller: Caller) -> Bool {
    caller.request != 0 && interrupts.withLock { $0 }.isInterrupted(caller.request)
  }

  /// Whether it is worth trying to share blocks with files of a layer.
  func mayShare(_ layer: UInt8) -> Bool { unshared.load(ordering: .relaxed) & 1 << UInt64(layer & 63) == 0 }

  func noteUnshared(_ layer: UInt8) {
    unshared.bitwiseOr(1 << UInt64(layer & 63), ordering: .relaxed)
  }

  func count(bytes: UInt64) {
    itemCount.add(1, ordering: .relaxed)
    byteCount.add(bytes, ordering: .relaxed)
  }

  /// How many were brought up since the volume was mounted.
  var items: UInt64 { itemCount.load(ordering: .relaxed) }
  var bytes: UInt64 { byteCount.load(ordering: .relaxed) }
}
