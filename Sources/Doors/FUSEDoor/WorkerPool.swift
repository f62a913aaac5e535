// Workers that can stand in for each other, and how many of them must be idle.

import LinuxFiles
import Synchronization

/// A thread that can be joined through a reference.
final class JoinableThread: Sendable {
  private let thread: Mutex<PlainThread?>

  init(_ thread: consuming PlainThread) {
    self.thread = Mutex(thread)
  }

  func join() {
    thread.withLock { $0.take() }?.join()
  }
}

/// Workers each of which can serve what comes to any of them.
///
/// A worker is stuck when it is still at the same request as at the last check, 20 ms before.
struct WorkerPool: Sendable {
  /// With more stuck than this requests wait: each worker may come to hold a megabyte or two.
  private static let largest = 32

  private var activities: [WorkerActivity] = []
  /// The count of each activity at the last check.
  private var lastCounts: [UInt64] = []
  /// How many must be idle while others are stuck.
  private let spare: Int
  /// The queues whose requests these workers serve besides their own; nil: none.
  private let queues: RequestQueues?
  private let start: @Sendable (WorkerActivity) throws(Errno) -> JoinableThread

  init(
    spare: Int, queues: RequestQueues? = nil,
    _ start: @escaping @Sendable (WorkerActivity) throws(Errno) -> JoinableThread
  ) {
    self.spare = spare
    self.queues = queues
    self.start = start
  }

  /// Starts one more worker.
  mutating func add(_ supervisor: WorkerSupervisor) throws(Errno) -> JoinableThread {
    let activity = WorkerActivity(supervisor)
    let thread = try start(activity)
    activities.append(activity)
    lastCounts.append(0)
    return thread
  }

  /// Whether no check is needed before the next request begins.
  var canGoUnchecked: Bool {
    let idle = activities.count { !$0.isBusy }
    return idle >= wantedIdle || idle == activities.count
  }

  /// One more while requests are queued: the worker that is kept at the device serves none of those.
  private var wantedIdle: Int { spare + (queues?.areWaiting ?? false ? 1 : 0) }

  /// Whether no worker is busy.
  var isIdle: Bool { activities.allSatisfy { !$0.isBusy } }

  /// How many workers are stuck, if so many that the others are too few; else 0.
  ///
  /// This is a check: the next one compares with it.
  mutating func checkForShortage() -> Int {
    let counts = activities.map(\.count)
    defer { lastCounts = counts }
    let stuck = activities.indices.count { counts[$0] & 1 == 1 && counts[$0] == lastCounts[$0] }
    return activities.count - stuck < wantedIdle ? stuck : 0
  }

  /// Checks, and adds as many workers as are stuck, because more requests of that kind may follow.
  mutating func addIfShort(_ supervisor: WorkerSupervisor) -> [JoinableThread] {
    var added: [JoinableThread] = []
    for _ in 0..<min(checkForShortage(), max(0, WorkerPool.largest - activities.count)) {
      // No thread can be had: the next check tries again.
      guard let thread = try? add(supervisor) else { break }
      added.append(thread)
    }
    return added
  }
}
