// What builds of indexes leave of memory: each takes many small pieces for every item, on whichever thread makes it, and the
// C library keeps them for that thread when they are free again.

import LinuxFiles
import Synchronization

/// Gives free memory back to the system a moment after builds that took much, on a thread of its own.
final class BuildLeftovers: Sendable {
  /// Of indexes, in bytes: some 25,000 items.
  private static let much = 1 << 20
  /// In milliseconds: builds often follow each other, and what they leave is used again by the next.
  private static let pause: UInt32 = 1_000

  /// What was made since memory was given back last.
  private let made = Atomic(0)
  private let isAwaited = Atomic(false)

  /// `bytes`: of the index that was made.
  func add(_ bytes: Int) {
    guard made.add(bytes, ordering: .relaxed).newValue >= BuildLeftovers.much,
      !isAwaited.exchange(true, ordering: .relaxed)
    else { return }
    do throws(Errno) {
      _ = try PlainThread(name: "varve-memory") {
        // Not at the mount: who lists no large view pays nothing, not even for arenas that grow anew.
        ResourceLimits.mapLargeMemory()
        Clock.pause(milliseconds: BuildLeftovers.pause)
        self.made.store(0, ordering: .relaxed)
        // What is made from now on is given back by the next.
        self.isAwaited.store(false, ordering: .relaxed)
        ResourceLimits.returnFreeMemory()
      }
    } catch {
      // Memory that is kept is no reason to fail.
      isAwaited.store(false, ordering: .relaxed)
    }
  }
}
