// Adds workers when too many are stuck: a request that waits for a slow disk must not hold up others.
//
// For volumes on slow disks and with slow directory servers: `FairnessTests` hold what others still get.

import LayeredVolume
import LinuxFiles
import Synchronization

/// Checks the pools, and adds workers to one that has too few that get on.
///
/// Added workers stay: a disk that was slow once will be slow again. While no pool needs a check, the supervisor sleeps;
/// the next request wakes it.
final class WorkerSupervisor: Sendable {
  private static let checkMilliseconds = 20
  private static let sweepMilliseconds = 500

  /// The volume to sweep now and then, also when no request comes.
  private let volume: Volume?
  /// They end with the workers.
  private let queues: RequestQueues?

  private let isAsleep = Atomic(false)
  private let hasEnded = Atomic(false)
  private let bell = Bell()
  private let added: Mutex<[JoinableThread]> = Mutex([])

  init(_ volume: Volume? = nil, _ queues: RequestQueues? = nil) {
    self.volume = volume
    self.queues = queues
  }

  /// A request begins or is queued; costs one load unless the supervisor sleeps.
  func wake() {
    guard isAsleep.load(ordering: .sequentiallyConsistent),
      isAsleep.exchange(false, ordering: .sequentiallyConsistent)
    else { return }
    bell.ring()
  }

  /// Checks the pools until ``end()``.
  func run(_ pools: consuming [WorkerPool]) {
    volume?.willSweep(true)
    defer { volume?.willSweep(false) }
    var sweptAt = Clock.monotonicNanoseconds
    while !hasEnded.load(ordering: .acquiring) {
      if Clock.monotonicNanoseconds &- sweptAt >= UInt64(WorkerSupervisor.sweepMilliseconds) * 1_000_000 {
        volume?.sweep()
        sweptAt = Clock.monotonicNanoseconds
      }
      for index in pools.indices {
        let threads = pools[index].addIfShort(self)
        added.withLock { $0 += threads }
      }
      waitForNextCheck(pools)
    }
  }

  private func waitForNextCheck(_ pools: borrowing [WorkerPool]) {
    isAsleep.store(true, ordering: .sequentiallyConsistent)
    let maySleep = pools.allSatisfy(\.canGoUnchecked)
    if maySleep {
      sleep(pools)
    } else if !isAsleep.exchange(false, ordering: .sequentiallyConsistent) {
      // A worker has cleared the flag and rings; unheard, that would cut the interval short.
      bell.wait()
    }
    _ = bell.wait(milliseconds: WorkerSupervisor.checkMilliseconds)
  }

  private func sleep(_ pools: borrowing [WorkerPool]) {
    // A request that is served now may leave something to sweep.
    guard let volume, volume.needsSweeping || !pools.allSatisfy(\.isIdle) else { return bell.wait() }
    guard !bell.wait(milliseconds: WorkerSupervisor.sweepMilliseconds) else { return }
    if !isAsleep.exchange(false, ordering: .sequentiallyConsistent) { bell.wait() }
  }

  /// Ends ``run(_:)`` and the queues; may be called more than once.
  ///
  /// The first worker that finds the volume unmounted calls it.
  func end() {
    hasEnded.store(true, ordering: .releasing)
    queues?.end()
    // Once for the sleep, once for the interval after it.
    bell.ring()
    bell.ring()
  }

  /// Waits for the workers that were added, after ``run(_:)`` has returned.
  func join() {
    for thread in added.withLock({ $0 }) { thread.join() }
  }
}
