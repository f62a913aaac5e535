// More hands when all are tied: a request that waits for a slow disk must not hold up the others.

import LayeredVolume
import LinuxFiles
import Synchronization

/// A thread that is waited for.
final class Member: Sendable {
  private let thread: Mutex<PlainThread?>

  init(_ thread: consuming PlainThread) {
    self.thread = Mutex(thread)
  }

  func join() {
    thread.withLock { $0.take() }?.join()
  }
}

/// Workers of which any can serve what comes to one of them.
struct Crew: Sendable {
  /// Beyond these requests wait: each worker may come to hold a megabyte or two.
  private static let largest = 32

  private var activities: [WorkerActivity] = []
  /// What each beat was when it was looked at last.
  private var seen: [UInt64] = []
  /// How many are to be free when others are tied.
  private let spare: Int
  /// Of a crew at the device: what waits for it.
  private let queues: RequestQueues?
  private let start: @Sendable (WorkerActivity) throws(Errno) -> Member

  init(
    spare: Int, queues: RequestQueues? = nil,
    _ start: @escaping @Sendable (WorkerActivity) throws(Errno) -> Member
  ) {
    self.spare = spare
    self.queues = queues
    self.start = start
  }

  /// Adds a worker.
  mutating func hire(_ relief: Relief) throws(Errno) -> Member {
    let activity = WorkerActivity(relief)
    let member = try start(activity)
    activities.append(activity)
    seen.append(0)
    return member
  }

  /// Whether nothing can go wrong before the next request begins.
  var isAtEase: Bool {
    let free = activities.count { !$0.isBusy }
    return free >= wanted || free == activities.count
  }

  /// How many are to be free now: the one who stays at the device serves none of those who wait.
  private var wanted: Int { spare + (queues?.areWaiting ?? false ? 1 : 0) }

  /// Whether nobody is busy.
  var isFree: Bool { activities.allSatisfy { !$0.isBusy } }

  /// How many have been at the same request since this was asked last, if they are so many that others are
  /// needed; else 0.
  mutating func needsHelp() -> Int {
    let beats = activities.map(\.count)
    defer { seen = beats }
    let tied = activities.indices.count { beats[$0] & 1 == 1 && beats[$0] == seen[$0] }
    return activities.count - tied < wanted ? tied : 0
  }

  /// Hires as many as hang, for more of their kind may be on their way, and answers those who came.
  mutating func relieve(_ relief: Relief) -> [Member] {
    var helpers: [Member] = []
    for _ in 0..<min(needsHelp(), max(0, Crew.largest - activities.count)) {
      // Without a thread to spare everything goes on as it was.
      guard let helper = try? hire(relief) else { break }
      helpers.append(helper)
    }
    return helpers
  }
}

/// Watches the crews, and gives one that is stuck more workers.
///
/// Those who were called to help stay: a disk that was slow once will be slow again. While enough
/// of each crew are free, this sleeps; the next request wakes it.
final class Relief: Sendable {
  private static let interval = 20
  private static let sweepInterval = 500

  /// Whose files that rest are to be taken back.
  private let volume: Volume?

  private let isAsleep = Atomic(false)
  private let ended = Atomic(false)
  private let bell = Bell()
  private let helpers: Mutex<[Member]> = Mutex([])

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
  func watch(_ crews: consuming [Crew]) {
    volume?.willSweep(true)
    defer { volume?.willSweep(false) }
    var sweptAt = Clock.monotonicNanoseconds
    while !isOver {
      if Clock.monotonicNanoseconds &- sweptAt >= UInt64(Relief.sweepInterval) * 1_000_000 {
        volume?.sweep()
        sweptAt = Clock.monotonicNanoseconds
      }
      for index in crews.indices {
        let more = crews[index].relieve(self)
        helpers.withLock { $0 += more }
      }
      rest(crews)
    }
  }

  private func rest(_ crews: borrowing [Crew]) {
    isAsleep.store(true, ordering: .sequentiallyConsistent)
    let maySleep = crews.allSatisfy(\.isAtEase)
    // Whoever has found this asleep rings, and his ring must not cut the interval short.
    if maySleep {
      sleep(crews)
    } else if !isAsleep.exchange(false, ordering: .sequentiallyConsistent) {
      bell.wait()
    }
    _ = bell.wait(milliseconds: Relief.interval)
  }

  private func sleep(_ crews: borrowing [Crew]) {
    // Whoever is at a request now may leave something to be swept.
    guard let volume, volume.needsSweeping || !crews.allSatisfy(\.isFree) else { return bell.wait() }
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
