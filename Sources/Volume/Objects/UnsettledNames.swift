// Objects whose names are changed behind the mount again and again, while programs look at them.
//
// A request names its object by a number, and the object is reached by its last name. When something else came to be
// under that name since it was looked up, the answer is ESTALE, and the kernel looks it up again; but only once, and
// meanwhile the name may have changed a second time. So when names are seen to change, what is looked up is held for a
// moment: like in any other directory, a name that was walked leads to its object, whatever becomes of the name.
//
// For programs that save and exchange files in the upper directory while others read them through the mount.

import LinuxFiles
import Synchronization

/// A bounded number of ways to what was looked up while names change behind the mount.
final class UnsettledNames: Sendable {
  private struct Ways {
    /// Since the last sweep, and from before it.
    var late: [NodeID: SharedDescriptor] = [:]
    var early: [NodeID: SharedDescriptor] = [:]

    mutating func turn() -> [NodeID: SharedDescriptor] {
      defer { (early, late) = (late, [:]) }
      return early
    }
  }

  let capacity: Int
  private let unrest: UInt64
  private let isSwept = Atomic(false)
  private let until = Atomic<UInt64>(0)
  private let ways = Mutex(Ways())

  /// `unrest`: how long names are taken to change after one was seen to, in nanoseconds.
  init(capacity: Int, unrest: UInt64 = 1_000_000_000) {
    self.capacity = max(capacity, 16)
    self.unrest = unrest
  }

  /// From now on `sweep` is called twice a second while anything is kept, or never again.
  func willBeSwept(_ will: Bool) {
    isSwept.store(will, ordering: .relaxed)
    if !will { until.store(0, ordering: .relaxed) }
  }

  /// Whether an object was not found where it had been, a moment ago.
  var areChanging: Bool {
    let until = until.load(ordering: .relaxed)
    return until > 0 && Clock.monotonicNanoseconds < until
  }

  /// Something else was under the name of an object.
  func sawChange() {
    guard isSwept.load(ordering: .relaxed) else { return }
    // Of a name that was looked up before, the kernel may have been told a time meanwhile.
    if !areChanging { letGo() }
    until.store(Clock.monotonicNanoseconds &+ unrest, ordering: .relaxed)
  }

  /// An object was looked up, and the kernel was told no time for its name.
  func keep(_ object: SharedDescriptor, for node: Node) {
    // Closed after the lock: that may take as long as emptying its file.
    let former: [NodeID: SharedDescriptor] = ways.withLock { ways in
      ways.late[node.id] = object
      return ways.late.count < capacity / 2 ? [:] : ways.turn()
    }
    _ = former
  }

  /// Leads to an object that was looked up a moment ago.
  func way(to node: Node) -> SharedDescriptor? {
    guard areChanging else { return nil }
    return ways.withLock { $0.late[node.id] ?? $0.early[node.id] }
  }

  private func letGo() {
    let former = ways.withLock { ways in
      defer { ways = Ways() }
      return ways
    }
    _ = former
  }

  var isEmpty: Bool { ways.withLock { $0.late.isEmpty && $0.early.isEmpty } }

  /// Lets go of what was not looked up since the last time.
  func sweep() {
    let former = ways.withLock { $0.turn() }
    _ = former
  }
}
