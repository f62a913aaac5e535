// Receives requests and serves them: what every worker does, one request at a time.

import CFUSE
import LayeredVolume
import LinuxFiles
import Synchronization

/// What all workers of a session share, and the two loops they run.
final class RequestLoop: Sendable {
  let door: Door
  let maxWrite: Int
  let polling = BusyPolling()
  let queues: RequestQueues
  /// The first error that ended a worker while the volume was still mounted.
  private let failure = Mutex<Errno?>(nil)

  init(door: Door, maxWrite: Int) {
    self.door = door
    self.maxWrite = maxWrite
    queues = RequestQueues(usual: door.volume.mounted.threads)
    door.volume.whenDelayEnds { [queues] delay in queues.ended(delay) }
    door.volume.asksForInterrupts { [queues] unique in queues.isInterrupted(unique) }
    door.volume.whenClosed { [weak self] in self?.refuseClosedWrites() }
  }

  var firstFailure: Errno? { failure.withLock { $0 } }

  /// A reply is never longer than a read, an attribute or a page of names.
  private var replySize: Int { max(maxWrite, 65_536) }

  /// Reads requests and serves them, and those in the queues, until the volume is unmounted.
  ///
  /// The two buffers belong to this thread and are allocated once. `nonBlocking` is another end, for polling.
  func run(
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
      if let queued = queues.next(after: finished) {
        finished = serve(queued, &reply, activity)
        continue
      }
      finished = .nothing
      if isReserve { queues.restWhileNotNeeded() }
      let (received, from) = source.receive(into: &request)
      switch received {
      case .request: finished = serveOrQueue(request, from: from, &reply, activity)
      case .nothing: continue
      case .unmounted: return activity.connectionEnded()
      case .failed(let error): return failure.withLock { $0 = $0 ?? error }
      }
    }
  }

  /// Serves delayed and queued requests until the volume is unmounted.
  func runQueued(_ activity: WorkerActivity) {
    var reply = ReplyBuffer(capacity: replySize)
    var finished = RequestQueues.Finished.nothing
    while let queued = queues.wait(after: finished) { finished = serve(queued, &reply, activity) }
  }

  /// What became of a request that was read.
  private enum Outcome {
    case finished(RequestQueues.Finished)
    /// Its sender has enough under way.
    case refused(HeldRequest)
    case delayed(HeldRequest, Waiting)
  }

  /// Serves a request that was read, or keeps a copy of it.
  private func serveOrQueue(
    _ buffer: borrowing RequestBuffer, from device: Device, _ reply: inout ReplyBuffer,
    _ activity: WorkerActivity
  ) -> RequestQueues.Finished {
    let outcome = buffer.withRequest { request -> Outcome in
      let owner = request.shareOwner
      if request.isNeverQueued {
        queues.admitUncounted()
        _ = serve(request, at: device, &reply, activity, after: nil)
        polling.answered(request.caller.thread)
        return .finished(.uncounted)
      }
      guard queues.admit(owner) else { return .refused(kept(buffer, request, from: device)) }
      guard let waiting = serve(request, at: device, &reply, activity, after: nil) else {
        polling.answered(request.caller.thread)
        return .finished(.request(owner))
      }
      return .delayed(kept(buffer, request, from: device), waiting)
    }
    switch outcome {
    case nil: return .nothing
    case .finished(let finished): return finished
    case .refused(let request):
      if queues.keep(request) {
        activity.requestQueued()
        refuseIfClosed(request)
      } else {
        answer(request, .noMemory, &reply)
      }
      return .nothing
    case .delayed(let request, let waiting):
      park(request, waiting, &reply)
      return .request(request.owner)
    }
  }

  /// A copy of a request, which is all that stays of the bytes it brings.
  private func kept(
    _ buffer: borrowing RequestBuffer, _ request: borrowing Request, from device: Device
  ) -> HeldRequest {
    let held = HeldRequest(buffer, request, from: device)
    if request.opcodeNumber == Opcode.write.rawValue { buffer.wipe() }
    return held
  }

  /// Serves a request that has waited.
  private func serve(
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
    if let error = queues.park(request, waiting) { return answer(request, error, &reply) }
    refuseIfClosed(request)
  }

  /// A lock that closed the file of a write before that waited has not seen it.
  private func refuseIfClosed(_ request: HeldRequest) {
    if request.write.map({ door.volume.refusesWrite(to: $0.handle, isWriteBack: $0.isWriteBack) }) ?? false {
      refuseClosedWrites()
    }
  }

  /// Answers the writes that wait and will be refused, because their files are locked: with that the bytes that they bring
  /// go from memory, and no worker is needed for it, who may be waiting for a disk.
  private func refuseClosedWrites() {
    let refused = queues.takeOut { held in
      held.write.map { door.volume.refusesWrite(to: $0.handle, isWriteBack: $0.isWriteBack) } ?? false
    }
    guard !refused.isEmpty else { return }
    var reply = ReplyBuffer(capacity: 0)
    for held in refused {
      if let write = held.write, write.isWriteBack { door.volume.lostPages(of: write.handle) }
      answer(held, .noKey, &reply)
    }
  }

  private func answer(_ held: HeldRequest, _ error: Errno, _ buffer: inout ReplyBuffer) {
    send(Reply(to: held.unique, .failure(error)), to: held.device, &buffer)
  }

  /// Answers a request; if it is delayed, returns what it waits for instead.
  private func serve(
    _ request: borrowing Request, at device: Device, _ buffer: inout ReplyBuffer,
    _ activity: WorkerActivity, after former: Waiting?
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
    buffer.wipe()
  }

  /// Tells the queues of requests that delayed ones wait for.
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
