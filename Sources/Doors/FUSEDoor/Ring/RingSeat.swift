// One thread's place at the ring: one request at a time, from arrival to reply.

import CFUSE
import CLinux
import Glibc
import LayeredVolume
import LinuxFiles

/// Where one worker takes requests from the kernel's ring.
///
/// A seat holds one request at a time, so the kernel gives the next one to another seat of the same
/// queue and never to a worker that is busy, or that waits for a slow disk. Of the seats that are free
/// it takes the one that became so last, whose thread and memory are still warm.
final class RingSeat: Sendable {
  /// The kernel has a queue per processor, for the requests of whoever runs there.
  let queue: Int
  let ring: CommandRing
  /// Called when the kernel has the seat, if it is added because the others do not get on.
  private let whenSeated: (@Sendable () -> Void)?

  init(queue: Int, whenSeated: (@Sendable () -> Void)? = nil) throws(Errno) {
    self.queue = queue
    self.whenSeated = whenSeated
    ring = try CommandRing()
  }

  /// Why a worker has left its seat.
  enum Leaving: Equatable {
    /// The volume is not mounted any more.
    case unmounted
    /// The kernel wants nothing of a seat here, or cannot be reached from it any more.
    case refused(Errno)
  }

  /// How often, and at what distance, a place is asked for again where the kernel had taken one before.
  private static let attempts = 10
  private static let pause: UInt32 = 100_000

  /// Serves requests until the volume is unmounted.
  func work(at workplace: Workplace, device: CInt, _ pulse: Pulse, _ seating: Seating) -> Leaving {
    // A request is made where its caller runs, and served there no other processor has to be woken. It is
    // no error when that cannot be had: the processor is not running, or closed to this process.
    _ = lv_stay_on_processor(UInt32(clamping: queue))
    do throws(Errno) { try ring.start() } catch { return .refused(error) }
    var entry = RingEntry(payloadSize: workplace.entrySize)
    var command = CommandRing.Command.register
    var undo = Undo.nothing
    var asked: Asked?
    var attempt = 1
    let seated: (() -> Void)? = whenSeated
    while true {
      let isNew = command == .register
      let outcome = unsafe ring.run(
        command, to: device, queue: queue, buffers: isNew ? entry.buffers : .none,
        meanwhile: isNew ? seated : nil)
      switch outcome {
      case .done:
        if isNew { seating.served(queue) }
        attempt = 1
        // The next request is here, so the kernel took the last answer.
        if let asked { workplace.door.delivered(asked) }
        undo = entry.answer { (request: borrowing Request, reply: inout ReplyBuffer) -> Reply in
          pulse.begin(request.node)
          defer { pulse.end() }
          let answer = workplace.door.handle(request, &reply)
          pulse.note(request, reply)
          asked = Asked(request)
          return answer
        }
        command = .commit(entry.commitIdentifier)
      case .broken(let error):
        // The kernel may have the place.
        seating.served(queue)
        return .refused(error)
      case .failed(.again), .failed(.interrupted): continue
      // Whether the last reply arrived is not known, and no matter: the kernel has dropped everything.
      case .failed(.notConnected), .failed(.connectionAborted), .failed(.noSuchDevice), .failed(.canceled):
        return .unmounted
      case .failed(let error):
        if !isNew {
          // The kernel did not take the reply, and the entry is lost with it.
          workplace.door.counters.countUndelivered()
          entry.withReply { workplace.door.takeBack(undo, $0) }
          command = .register
          continue
        }
        // Requests may come here already: a lack of memory is worth waiting for.
        guard seating.isServed(queue), attempt < RingSeat.attempts else { return .refused(error) }
        attempt += 1
        usleep(RingSeat.pause)
      }
    }
  }

  /// Tells the kernel to wait for no ring; false when that cannot be said.
  ///
  /// There is no command for that: a queue that does not exist makes it give the ring up. It does nothing for a
  /// ring that is ready.
  static func withdraw(from device: CInt) -> Bool {
    do throws(Errno) {
      // Not the seat's own: that one may be what failed.
      let ring = try CommandRing()
      try ring.start()
      let outcome = unsafe ring.run(.register, to: device, queue: Int(UInt16.max), buffers: .none)
      if case .failed = outcome { return true }
      return false
    } catch {
      return false
    }
  }
}

extension UnsafeBufferPointer<iovec> {
  /// For commands that bring none.
  static var none: UnsafeBufferPointer<iovec> { unsafe UnsafeBufferPointer(start: nil, count: 0) }
}
