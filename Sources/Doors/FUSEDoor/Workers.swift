// The threads of a session: workers, and one that supervises them.

import Glibc
import LinuxFiles

/// The running workers.
struct Workers: ~Copyable {
  private let threads: [JoinableThread]
  private let supervisor: WorkerSupervisor
  private let supervisorThread: JoinableThread?

  /// Starts a thread for delayed requests, up to `count` that read the device and one in reserve.
  ///
  /// Throws when the first two cannot be started. The reserve is there because one user may keep all the others busy.
  /// With `clonesDevice` every thread reads an end of its own, or the session's where the kernel makes no other.
  static func start(
    _ count: Int, running loop: RequestLoop, session: CInt, clonesDevice: Bool
  ) throws(Errno) -> Workers {
    try withSignalsBlocked { () throws(Errno) in
      let supervisor = WorkerSupervisor(loop.door.volume, loop.queues)
      var delayed = WorkerPool(spare: 1) { (activity) throws(Errno) in
        try begin { loop.runQueued(activity) }
      }
      var readers = WorkerPool(spare: 1, queues: loop.queues) { (activity) throws(Errno) in
        let device = Device(number: session)
        let own = clonesDevice ? device.clone() : nil
        let nonBlocking = loop.polling.isUseful ? device.clone(.nonBlocking) : nil
        return try begin {
          loop.run(at: own.map { Device($0) } ?? device, nonBlocking: nonBlocking, activity)
        }
      }
      // A pool of its own: while other workers are stuck, the reserve must not count as idle.
      var reserve = WorkerPool(spare: 0) { (activity) throws(Errno) in
        try begin { loop.run(at: Device(number: session), activity, isReserve: true) }
      }
      // Before any reader: once one reads the device, nothing may fail any more.
      var threads = [try delayed.add(supervisor)]
      do throws(Errno) {
        threads.append(try readers.add(supervisor))
      } catch {
        loop.queues.end()
        throw error
      }
      while threads.count < 1 + count, let another = try? readers.add(supervisor) { threads.append(another) }
      if let thread = try? reserve.add(supervisor) { threads.append(thread) }
      let pools = [delayed, readers, reserve]
      // Without one more thread there is no supervisor.
      let supervising = try? begin(named: "varve-supervise") { supervisor.run(pools) }
      return Workers(threads: threads, supervisor: supervisor, supervisorThread: supervising)
    }
  }

  private static func begin(
    named name: StaticString = "varve-worker", _ body: @escaping @Sendable () -> Void
  ) throws(Errno) -> JoinableThread {
    JoinableThread(try PlainThread(name: name, body))
  }

  /// Waits until every worker has ended.
  consuming func join() {
    for thread in threads { thread.join() }
    supervisor.end()
    supervisorThread?.join()
    supervisor.join()
  }

  /// Threads inherit signal masks; signals are for the thread that waits for them, never for a worker.
  private static func withSignalsBlocked<R: ~Copyable>(_ body: () throws(Errno) -> R) throws(Errno) -> R {
    var all = sigset_t()
    var former = sigset_t()
    unsafe sigfillset(&all)
    unsafe pthread_sigmask(SIG_SETMASK, &all, &former)
    defer { unsafe pthread_sigmask(SIG_SETMASK, &former, nil) }
    return try body()
  }
}
