// The threads that serve requests, one request from start to end.

import CFUSE
import CLinux
import Glibc
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

  /// Serves requests until the volume is unmounted.
  ///
  /// The two buffers are this thread's own and made once.
  func work(at device: Device) {
    var request = RequestBuffer(dataSize: maxWrite)
    // A reply is never longer than a read, an attribute or a page of names.
    var reply = ReplyBuffer(capacity: max(maxWrite, 65_536))
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

  private let members: [Member]

  /// Starts up to `count` threads; throws when not even one can be had.
  ///
  /// With `clonesDevice` every thread after the first gets a queue of its own; one that cannot have it shares
  /// the first one's.
  static func start(
    _ count: Int, at workplace: Workplace, session: CInt, clonesDevice: Bool
  ) throws(Errno) -> Workers {
    // Signals belong to the thread that waits for them, never to a worker: masks are inherited.
    var all = sigset_t()
    var former = sigset_t()
    unsafe sigfillset(&all)
    unsafe pthread_sigmask(SIG_SETMASK, &all, &former)
    defer { unsafe pthread_sigmask(SIG_SETMASK, &former, nil) }

    var members: [Member] = []
    for number in 0..<max(1, count) {
      let own = clonesDevice && number > 0 ? Workers.clone(session) : nil
      do throws(Errno) {
        members.append(
          Member(
            try PlainThread(name: "varve-worker") {
              workplace.work(at: Device(number: own?.descriptor.rawValue ?? session))
            }))
      } catch {
        guard !members.isEmpty else { throw error }
        break
      }
    }
    return Workers(members: members)
  }

  /// Waits until every worker has ended.
  consuming func join() {
    for member in members { member.join() }
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
