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
  /// The first reason for which a worker gave up while the volume was still mounted.
  private let failure = Mutex<Errno?>(nil)

  init(door: Door, maxWrite: Int) {
    self.door = door
    self.maxWrite = maxWrite
  }

  var firstFailure: Errno? { failure.withLock { $0 } }

  /// A reply is never longer than a read, an attribute or a page of names.
  var replySize: Int { max(maxWrite, 65_536) }

  /// Serves requests until the volume is unmounted.
  ///
  /// The two buffers are this thread's own and made once.
  func work(at device: Device) {
    var request = RequestBuffer(dataSize: maxWrite)
    var reply = ReplyBuffer(capacity: replySize)
    while true {
      switch device.receive(into: &request) {
      case .request: request.withRequest { serve($0, at: device, &reply) }
      case .nothing: continue
      case .unmounted: return
      case .failed(let error):
        failure.withLock { $0 = $0 ?? error }
        return
      }
    }
  }

  private func serve(_ request: borrowing Request, at device: Device, _ buffer: inout ReplyBuffer) {
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
  func work(at seat: RingSeat, device: Device) {
    guard case .refused(let error) = seat.work(at: self, device: device.number) else { return }
    Log.error("the kernel refuses a place at its ring: \(error); requests go to the device")
    work(at: device)
  }
}

/// The running workers.
struct Workers: ~Copyable {
  private final class Member {
    private var thread: PlainThread?

    init(_ thread: consuming PlainThread) {
      self.thread = consume thread
    }

    func join() {
      thread.take()?.join()
    }
  }

  private var members: [Member] = []

  private init() {}

  /// Starts up to `count` threads at the device; throws when not even one can be had.
  ///
  /// With `clonesDevice` every thread after the first gets a queue of its own; one that cannot have it shares
  /// the first one's.
  static func start(
    _ count: Int, at workplace: Workplace, session: CInt, clonesDevice: Bool
  ) throws(Errno) -> Workers {
    let former = Workers.blockSignals()
    defer { Workers.restoreSignals(former) }
    var workers = Workers()
    for number in 0..<max(1, count) {
      let own = clonesDevice && number > 0 ? Workers.clone(session) : nil
      do throws(Errno) {
        try workers.add { workplace.work(at: Device(number: own?.descriptor.rawValue ?? session)) }
      } catch {
        guard number > 0 else { throw error }
        break
      }
    }
    return workers
  }

  /// Starts a thread at each seat of the ring, and one at the device; throws when that one cannot be had.
  ///
  /// The device brings what the kernel sends to no ring: it forgets nodes there.
  static func start(
    at seats: [RingSeat], _ workplace: Workplace, session: CInt
  ) throws(Errno) -> Workers {
    var workers = try start(1, at: workplace, session: session, clonesDevice: false)
    let former = Workers.blockSignals()
    defer { Workers.restoreSignals(former) }
    let device = Device(number: session)
    for seat in seats {
      do throws(Errno) {
        try workers.add { workplace.work(at: seat, device: device) }
      } catch {
        // A queue without a seat: the kernel would wait for it for ever.
        seat.withdraw(from: session)
        Log.error("no thread for the kernel's ring: \(error); requests go to the device")
        break
      }
    }
    return workers
  }

  private mutating func add(_ body: @escaping @Sendable () -> Void) throws(Errno) {
    members.append(Member(try PlainThread(name: "varve-worker", body)))
  }

  /// Waits until every worker has ended.
  consuming func join() {
    for member in members { member.join() }
  }

  /// Signals belong to the thread that waits for them, never to a worker: masks are inherited.
  private static func blockSignals() -> sigset_t {
    var all = sigset_t()
    var former = sigset_t()
    unsafe sigfillset(&all)
    unsafe pthread_sigmask(SIG_SETMASK, &all, &former)
    return former
  }

  private static func restoreSignals(_ former: sigset_t) {
    var former = former
    unsafe pthread_sigmask(SIG_SETMASK, &former, nil)
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
