// Which names the kernel was told of lately in views.
//
// It remembers a name of a view for a second, and does not know that a change in the ordinary tree is one of the view as
// well. So a name is noted before it is looked for in a view, with the real directory that it is looked for in, and whoever
// has given or taken a name asks whether it was noted. Only then all names that the kernel remembers are made stale, once
// for everything that was noted before. (A notice about one name would wait for lookups in the view; see `Notices`.)
//
// The room is fixed. Names that share a slot cost a notice that was not needed, nothing else.

import LinuxFiles
import Synchronization

/// The names that lookups in views were about lately.
final class ToldViewNames: Sendable {
  private final class Part: Sendable {
    /// When a name of each slot was noted last, in monotonic nanoseconds; empty before the first.
    let times: Mutex<[UInt64]> = Mutex([])
  }

  private static let partCount = 64
  /// In each part: 32,768 in all, which take 256 KiB once views are in use.
  private static let slotCount = 512
  /// The second for which the kernel remembers what it is told of views, and much time for the answer to get there.
  static let lifetime: UInt64 = 5_000_000_000

  private let parts = (0..<partCount).map { _ in Part() }
  private let isUsed = Atomic(false)
  /// What was noted before has been made stale.
  private let staleBefore = Atomic<UInt64>(0)

  private static func slot(_ hash: UInt64) -> (part: Int, slot: Int) {
    (Int(hash % UInt64(partCount)), Int(hash / UInt64(partCount) % UInt64(slotCount)))
  }

  /// A name is about to be looked for in a view of a real directory.
  func note(_ name: borrowing FileName, in directory: NodeID) {
    let (part, slot) = ToldViewNames.slot(name.mixed(with: directory))
    isUsed.store(true, ordering: .sequentiallyConsistent)
    parts[part].times.withLock { times in
      if times.isEmpty { times = [UInt64](repeating: 0, count: ToldViewNames.slotCount) }
      times[slot] = Clock.monotonicNanoseconds
    }
  }

  /// Whether the kernel may remember this name in a view of a real directory.
  func mayInclude(_ name: borrowing FileName, in directory: NodeID) -> Bool {
    guard isUsed.load(ordering: .sequentiallyConsistent) else { return false }
    let (part, slot) = ToldViewNames.slot(name.mixed(with: directory))
    let noted = parts[part].times.withLock { $0.isEmpty ? 0 : $0[slot] }
    return noted > 0 && noted >= staleBefore.load(ordering: .sequentiallyConsistent)
      && Clock.monotonicNanoseconds &- noted < ToldViewNames.lifetime
  }

  /// All that was noted before `time` has been made stale.
  func forget(before time: UInt64) { staleBefore.max(time, ordering: .sequentiallyConsistent) }
}
