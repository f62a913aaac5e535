// The threads that serve requests, one request from start to end.

import CFUSE
import CLinux
import Glibc
import LayeredVolume
import LinuxFiles
import Synchronization

/// What every worker of a session shares.
final class Workplace: Sendable {
  let door: Door
  let maxWrite: Int
  let polling = BusyPolling()
  let queues: RequestQueues
  /// The first reason for which a worker gave up while the volume was still mounted.
  private let failure = Mutex<Errno?>(nil)

  init(door: Door, maxWrite: Int) {
    self.door = door
    self.maxWrite = maxWrite
    queues = RequestQueues(usual: door.volume.mounted.threads)
    door.volume.whenNamesCome { [queues] in queues.namesCame() }
  }

  var firstFailure: Errno? { failure.withLock { $0 } }

  /// A reply is never longer than a read, an attribute or a page of names.
  var replySize: Int { max(maxWrite, 65_536) }

  /// Serves requests until the volume is unmounted.
  ///
  /// The two buffers are this thread's own and made once. `nonBlocking` is another end, for polling.
  func work(
    at device: Device, nonBlocking: SharedDescriptor? = nil, _ activity: WorkerActivity = WorkerActivity(),
    isReserve: Bool = false
  ) {
    let source = RequestSource(device, nonBlocking: nonBlocking, polling)
    var request = RequestBuffer(dataSize: maxWrite)
    var reply = ReplyBuffer(capacity: replySize)
    queues.join()
    var finished = RequestQueues.Finished.nothing
    defer { queues.leave(finished) }
    while true {
      if let waiting = queues.next(after: finished) {
        finished = run(waiting, &reply, activity)
        continue
      }
      finished = .nothing
      if isReserve { queues.restWhileNotNeeded() }
      let (received, from) = source.receive(into: &request)
      switch received {
      case .request: finished = begin(request, from: from, &reply, activity)
      case .nothing: continue
      case .unmounted: return activity.connectionEnded()
      case .failed(let error): return fail(error)
      }
    }
  }

  /// Serves requests that were delayed, and others that wait, until the volume is unmounted.
  func workAtQueues(_ activity: WorkerActivity) {
    var reply = ReplyBuffer(capacity: replySize)
    var finished = RequestQueues.Finished.nothing
    while let waiting = queues.wait(after: finished) { finished = run(waiting, &reply, activity) }
  }

  private func fail(_ error: Errno) {
    failure.withLock { $0 = $0 ?? error }
  }

  /// What has become of one attempt to serve a request.
  private enum Outcome {
    case finished(RequestQueues.Finished)
    /// Its sender has enough under way.
    case refused(HeldRequest)
    case delayed(HeldRequest, Waiting)
  }

  /// Serves a request that has been read, or keeps a copy of it.
  private func begin(
    _ buffer: borrowing RequestBuffer, from device: Device, _ reply: inout ReplyBuffer,
    _ activity: WorkerActivity
  ) -> RequestQueues.Finished {
    let outcome = buffer.withRequest { request -> Outcome in
      let owner = request.shareOwner
      if request.isNeverQueued {
        queues.admitUncounted()
        _ = serve(request, at: device, &reply, activity, after: nil)
        return .finished(.uncounted)
      }
      guard queues.admit(owner) else { return .refused(HeldRequest(buffer, request, from: device)) }
      guard let waiting = serve(request, at: device, &reply, activity, after: nil) else {
        polling.answered(request.caller.thread)
        return .finished(.request(owner))
      }
      return .delayed(HeldRequest(buffer, request, from: device), waiting)
    }
    switch outcome {
    case nil: return .nothing
    case .finished(let finished): return finished
    case .refused(let request):
      if queues.keep(request) {
        activity.requestQueued()
      } else {
        answer(request, .noMemory, &reply)
      }
      return .nothing
    case .delayed(let request, let waiting):
      park(request, waiting, &reply)
      return .request(request.owner)
    }
  }

  /// Serves a request that has waited.
  private func run(
    _ queued: QueuedRequest, _ reply: inout ReplyBuffer, _ activity: WorkerActivity
  ) -> RequestQueues.Finished {
    let held = queued.request
    let waiting = held.bytes.withRequest { request in
      serve(request, at: held.device, &reply, activity, after: queued.waiting)
    }
    if case .some(.some(let waiting)) = waiting { park(held, waiting, &reply) }
    return .request(held.owner)
  }

  private func park(_ request: HeldRequest, _ waiting: Waiting, _ reply: inout ReplyBuffer) {
    if let error = queues.park(request, waiting) { answer(request, error, &reply) }
  }

  private func answer(_ held: HeldRequest, _ error: Errno, _ buffer: inout ReplyBuffer) {
    send(Reply(to: held.unique, .failure(error)), to: held.device, &buffer)
  }

  /// Answers a request; nil, unless it is delayed.
  private func serve(
    _ request: borrowing Request, at device: Device, _ buffer: inout ReplyBuffer, _ activity: WorkerActivity,
    after former: Waiting?
  ) -> Waiting? {
    activity.begin()
    defer { activity.end() }
    let reply = door.attempt(request, &buffer, isFirst: former == nil)
    let answer = reply.answer
    if case .delayed(let delay) = answer {
      let now = Clock.monotonicNanoseconds
      let waiting = Waiting(for: delay, after: former, at: now)
      guard let error = waiting.failure(at: now) else { return waiting }
      send(Reply(to: request.unique, .failure(error)), to: device, &buffer)
      return nil
    }
    send(reply, to: device, &buffer)
    door.delivered(request)
    tellQueues(request, &buffer)
    return nil
  }

  private func send(_ reply: consuming Reply, to device: Device, _ buffer: inout ReplyBuffer) {
    let undo = reply.send(&buffer) { bytes in
      let isTaken = device.send(bytes)
      if !isTaken { door.counters.countUndelivered() }
      return isTaken
    }
    if undo != .nothing { door.takeBack(undo, buffer) }
  }

  /// Some requests change what others wait for.
  private func tellQueues(_ request: borrowing Request, _ buffer: inout ReplyBuffer) {
    switch Opcode(rawValue: request.opcodeNumber) {
    case .release: queues.released(request.node)
    case .interrupt:
      guard let input = try? request.read(fuse_interrupt_in.self),
        let held = queues.takeInterrupted(input.unique)
      else { return }
      answer(held, .interrupted, &buffer)
    default: return
    }
  }
}

/// The running workers.
struct Workers: ~Copyable {
  private let members: [JoinableThread]
  private let supervisor: WorkerSupervisor
  private let supervisorThread: JoinableThread?

  /// Starts up to `count` threads at the device and one in reserve; throws when not even one can be had.
  ///
  /// As one user may keep all the others busy, there is the reserve. With `clonesDevice` every thread gets a queue of its own; one that cannot have it shares the session's.
  static func start(
    _ count: Int, at workplace: Workplace, session: CInt, clonesDevice: Bool
  ) throws(Errno) -> Workers {
    try withSignalsBlocked { () throws(Errno) in
      let supervisor = WorkerSupervisor(workplace.door.volume, workplace.queues)
      var readers = WorkerPool(spare: 1, queues: workplace.queues) { (activity) throws(Errno) in
        let device = Device(number: session)
        let own = clonesDevice ? device.clone() : nil
        let nonBlocking = workplace.polling.isUseful ? device.clone(.nonBlocking) : nil
        return try begin {
          workplace.work(at: own.map { Device($0) } ?? device, nonBlocking: nonBlocking, activity)
        }
      }
      // First of all: once a thread is at the device, nothing may fail any more.
      var pools: [WorkerPool] = []
      var members = [try addThreadForDelayed(workplace, supervisor, &pools)]
      do throws(Errno) {
        members.append(try readers.add(supervisor))
      } catch {
        workplace.queues.end()
        throw error
      }
      while members.count < 1 + count, let another = try? readers.add(supervisor) {
        members.append(another)
      }
      pools.append(readers)
      // Nobody counts on it for requests that hang, so it is in no pool where it would count as idle.
      var reserve = WorkerPool(spare: 0) { (activity) throws(Errno) in
        try begin { workplace.work(at: Device(number: session), activity, isReserve: true) }
      }
      if let member = try? reserve.add(supervisor) {
        members.append(member)
        pools.append(reserve)
      }
      return Workers(members: members, supervisor: supervisor, supervisorThread: supervise(pools, supervisor))
    }
  }

  /// Starts the thread that tries delayed requests again.
  private static func addThreadForDelayed(
    _ workplace: Workplace, _ supervisor: WorkerSupervisor, _ pools: inout [WorkerPool]
  ) throws(Errno) -> JoinableThread {
    var delayed = WorkerPool(spare: 1) { (activity) throws(Errno) in
      try begin { workplace.workAtQueues(activity) }
    }
    let member = try delayed.add(supervisor)
    pools.append(delayed)
    return member
  }

  private static func begin(_ body: @escaping @Sendable () -> Void) throws(Errno) -> JoinableThread {
    JoinableThread(try PlainThread(name: "varve-worker", body))
  }

  /// Without a thread to spare nobody watches.
  private static func supervise(_ pools: [WorkerPool], _ supervisor: WorkerSupervisor) -> JoinableThread? {
    do throws(Errno) {
      return JoinableThread(try PlainThread(name: "varve-supervise") { supervisor.run(pools) })
    } catch {
      return nil
    }
  }

  /// Waits until every worker has ended.
  consuming func join() {
    for member in members { member.join() }
    supervisor.end()
    supervisorThread?.join()
    supervisor.join()
  }

  /// Signals belong to the thread that waits for them, never to a worker: masks are inherited.
  private static func withSignalsBlocked<R: ~Copyable>(_ body: () throws(Errno) -> R) throws(Errno) -> R {
    var all = sigset_t()
    var former = sigset_t()
    unsafe sigfillset(&all)
    unsafe pthread_sigmask(SIG_SETMASK, &all, &former)
    defer { unsafe pthread_sigmask(SIG_SETMASK, &former, nil) }
    return try body()
  }
}
