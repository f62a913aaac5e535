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
  private let ringPayload: Int
  /// The first reason for which a worker gave up while the volume was still mounted.
  private let failure = Mutex<Errno?>(nil)

  init(door: Door, maxWrite: Int, ringPayload: Int = 0) {
    self.door = door
    self.maxWrite = maxWrite
    self.ringPayload = ringPayload
  }

  var firstFailure: Errno? { failure.withLock { $0 } }

  /// A reply is never longer than a read, an attribute or a page of names.
  var replySize: Int { max(maxWrite, 65_536) }

  /// The same where the kernel has a say in it.
  var entrySize: Int { max(replySize, ringPayload) }

  /// Serves requests until the volume is unmounted.
  ///
  /// The two buffers are this thread's own and made once.
  func work(at device: Device, _ pulse: Pulse = Pulse()) {
    var request = RequestBuffer(dataSize: maxWrite)
    var reply = ReplyBuffer(capacity: replySize)
    while true {
      switch device.receive(into: &request) {
      case .request: request.withRequest { serve($0, at: device, &reply, pulse) }
      case .nothing: continue
      case .unmounted: return
      case .failed(let error):
        failure.withLock { $0 = $0 ?? error }
        return
      }
    }
  }

  private func serve(
    _ request: borrowing Request, at device: Device, _ buffer: inout ReplyBuffer, _ pulse: Pulse
  ) {
    pulse.begin(request.node)
    defer { pulse.end() }
    let undo = door.handle(request, &buffer).send(&buffer) { bytes in
      let isTaken = device.send(bytes)
      if !isTaken { door.counters.countUndelivered() }
      return isTaken
    }
    if undo != .nothing { door.takeBack(undo, buffer) }
  }

  /// Serves requests at a seat, or at the device should the kernel refuse the seat.
  ///
  /// After a refusal it sends everything to the device again.
  func work(at seat: RingSeat, device: Device, _ pulse: Pulse) {
    guard case .refused(let error) = seat.work(at: self, device: device.number, pulse) else { return }
    Log.error("the kernel refuses a place at its ring: \(error); requests go to the device")
    work(at: device, pulse)
  }
}

/// The running workers.
struct Workers: ~Copyable {
  private let members: [Member]
  private let relief: Relief
  private let watcher: Member?

  /// Starts up to `count` threads at the device; throws when not even one can be had.
  ///
  /// With `clonesDevice` every thread gets a queue of its own; one that cannot have it shares the session's.
  static func start(
    _ count: Int, at workplace: Workplace, session: CInt, clonesDevice: Bool
  ) throws(Errno) -> Workers {
    try withSignalsBlocked { () throws(Errno) in
      let relief = Relief()
      var crew = Crew(spare: 1) { (pulse, _) throws(Errno) in
        let own = clonesDevice ? Workers.clone(session) : nil
        return try begin { workplace.work(at: Device(number: own?.descriptor.rawValue ?? session), pulse) }
      }
      var members = [try crew.hire(relief)]
      while members.count < count, let another = try? crew.hire(relief) { members.append(another) }
      return Workers(members: members, relief: relief, watcher: watch([crew], relief))
    }
  }

  /// Starts a thread at each seat of the ring, and one at the device; throws when that one cannot be had.
  ///
  /// The device brings what the kernel sends to no ring: it forgets nodes there.
  static func start(
    at seats: [RingSeat], _ workplace: Workplace, session: CInt
  ) throws(Errno) -> Workers {
    try withSignalsBlocked { () throws(Errno) in
      let relief = Relief()
      let device = Device(number: session)
      var readers = Crew(spare: 1) { (pulse, _) throws(Errno) in
        try begin { workplace.work(at: device, pulse) }
      }
      var members = [try readers.hire(relief)]
      var crews = [readers]
      for (_, seats) in Dictionary(grouping: seats, by: \.queue) {
        guard let crew = seat(seats, workplace, device, relief, &members) else { break }
        crews.append(crew)
      }
      return Workers(members: members, relief: relief, watcher: watch(crews, relief))
    }
  }

  /// Starts a thread at each seat of one queue; nil when not even one can be had.
  private static func seat(
    _ seats: [RingSeat], _ workplace: Workplace, _ device: Device, _ relief: Relief,
    _ members: inout [Member]
  ) -> Crew? {
    let left = Mutex(seats)
    let queue = seats.first?.queue ?? 0
    // A request that finds no seat free has to wait for more than a new one: so two are kept free.
    var crew = Crew(spare: 2) { (pulse, tied) throws(Errno) in
      let next = left.withLock { $0.popLast() }
      let seat = if let next { next } else { try RingSeat(queue: queue, tied: tied) }
      return try begin { workplace.work(at: seat, device: device, pulse) }
    }
    for number in seats.indices {
      do throws(Errno) {
        members.append(try crew.hire(relief))
      } catch {
        if number > 0 { break }
        // A queue without a worker: the kernel would let every caller wait for one.
        seats.first?.withdraw(from: device.number)
        Log.error("no thread for the kernel's ring: \(error); requests go to the device")
        return nil
      }
    }
    return crew
  }

  private static func begin(_ body: @escaping @Sendable () -> Void) throws(Errno) -> Member {
    Member(try PlainThread(name: "varve-worker", body))
  }

  /// Without a thread to spare nobody watches.
  private static func watch(_ crews: [Crew], _ relief: Relief) -> Member? {
    do throws(Errno) {
      return Member(try PlainThread(name: "varve-relief") { relief.watch(crews) })
    } catch {
      return nil
    }
  }

  /// Waits until every worker has ended.
  consuming func join() {
    for member in members { member.join() }
    relief.end()
    watcher?.join()
    relief.join()
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

  private static func clone(_ session: CInt) -> SharedDescriptor? {
    do throws(Errno) {
      let own = try Descriptor.open(path: "/dev/fuse", .readWrite)
      try retrying { lv_fuse_clone(own.rawValue, session) }
      return SharedDescriptor(own)
    } catch {
      return nil
    }
  }
}
