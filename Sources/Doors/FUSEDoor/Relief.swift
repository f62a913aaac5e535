// More hands when all are tied: a request that waits for a slow disk must not hold up the others.

import LayeredVolume
import LinuxFiles
import Synchronization

/// Watches the pools, and gives one that is stuck more workers.
///
/// Those who were called to help stay: a disk that was slow once will be slow again. While enough
/// of each pool are free, this sleeps; the next request wakes it.
final class Relief: Sendable {
  private static let interval = 20
  private static let sweepInterval = 500

  /// Whose files that rest are to be taken back.
  private let volume: Volume?

  private let isAsleep = Atomic(false)
  private let ended = Atomic(false)
  private let bell = Bell()
  private let helpers: Mutex<[JoinableThread]> = Mutex([])

  /// What waits for workers; ends with them.
  private let queues: RequestQueues?

  init(_ volume: Volume? = nil, _ queues: RequestQueues? = nil) {
    self.volume = volume
    self.queues = queues
  }

  private var isOver: Bool { ended.load(ordering: .acquiring) }

  /// A request begins.
  func notice() {
    guard isAsleep.load(ordering: .sequentiallyConsistent),
      isAsleep.exchange(false, ordering: .sequentiallyConsistent)
    else { return }
    bell.ring()
  }

  /// Watches until it is over.
  func watch(_ pools: consuming [WorkerPool]) {
    volume?.willSweep(true)
    defer { volume?.willSweep(false) }
    var sweptAt = Clock.monotonicNanoseconds
    while !isOver {
      if Clock.monotonicNanoseconds &- sweptAt >= UInt64(Relief.sweepInterval) * 1_000_000 {
        volume?.sweep()
        sweptAt = Clock.monotonicNanoseconds
      }
      for index in pools.indices {
        let more = pools[index].addIfShort(self)
        helpers.withLock { $0 += more }
      }
      rest(pools)
    }
  }

  private func rest(_ pools: borrowing [WorkerPool]) {
    isAsleep.store(true, ordering: .sequentiallyConsistent)
    let maySleep = pools.allSatisfy(\.canGoUnchecked)
    // Whoever has found this asleep rings, and his ring must not cut the interval short.
    if maySleep {
      sleep(pools)
    } else if !isAsleep.exchange(false, ordering: .sequentiallyConsistent) {
      bell.wait()
    }
    _ = bell.wait(milliseconds: Relief.interval)
  }

  private func sleep(_ pools: borrowing [WorkerPool]) {
    // Whoever is at a request now may leave something to be swept.
    guard let volume, volume.needsSweeping || !pools.allSatisfy(\.isIdle) else { return bell.wait() }
    guard !bell.wait(milliseconds: Relief.sweepInterval) else { return }
    if !isAsleep.exchange(false, ordering: .sequentiallyConsistent) { bell.wait() }
  }

  /// Nobody needs help any more; the thread that watches ends.
  ///
  /// Said by the first worker who finds the volume unmounted; again is no matter.
  func end() {
    ended.store(true, ordering: .releasing)
    queues?.end()
    bell.ring()
    bell.ring()
  }

  /// Waits for those who were called to help, after the thread that watches has ended.
  func join() {
    for helper in helpers.withLock({ $0 }) { helper.join() }
  }
}
