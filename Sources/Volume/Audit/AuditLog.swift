// The audit log: events go into a queue that is bounded, and a thread of its own writes them down. A log that is slow,
// or full, costs events and never a request.

import AccessControl
import JSONForm
package import LinuxFiles
import Synchronization

/// Writes refusals and changes of policy to a file or to the system's log.
package final class AuditLog: Sendable {
  /// Where to.
  package enum Target: Hashable, Sendable {
    case journal
    /// An absolute path.
    case file([UInt8])
  }

  /// Events that may wait: a second of refusals on a busy machine.
  static let room = 4_096

  private struct Queue {
    var waiting: [AuditEvent] = []
    var dropped = 0
    /// Events that were taken out and are not written yet.
    var atWork = 0
  }

  private let queue = Mutex(Queue())
  private let bell = Bell()
  /// The members of each line that say which volume it is about: several may share the system's log.
  private let volume = Mutex<[JSON.Member]>([])
  /// The names for one batch of lines.
  private let names: @Sendable () -> NameBook
  private let sink: AuditSink?

  /// Opens the target and starts the thread; fails if the file cannot be had.
  package convenience init(_ target: Target) throws(Errno) {
    let sink = try AuditSink(target)
    self.init(names: .forOneRequest(), sink: sink)
    do throws(Errno) {
      try start { sink.write($0) }
    } catch {
      sink.takeBack()
      throw error
    }
  }

  /// Fails where opening the target would, and makes nothing.
  package static func check(_ target: Target) throws(Errno) { try AuditSink.check(target) }

  /// For tests: any sink.
  init(names: @autoclosure @escaping @Sendable () -> NameBook, sink: AuditSink? = nil) {
    self.names = names
    self.sink = sink
  }

  /// Leaves no log behind of a mount that does not come about.
  package func takeBack() { sink?.takeBack() }

  /// Says where the volume is mounted; before anything happens on it.
  package func tell(mountPoint: [UInt8]) {
    volume.withLock { $0 = JSON.nameMembers("mountPoint", mountPoint) }
  }

  /// `write` answers whether the lines have arrived.
  func start(_ write: @escaping @Sendable (String) -> Bool) throws(Errno) {
    _ = try PlainThread(name: "varve-audit") { [self] in
      while true {
        bell.wait()
        writeDown(write)
      }
    }
  }

  /// Queues an event; on a request's path, so nothing is formatted and nobody is waited for.
  func add(_ event: AuditEvent) {
    if case .change(let change) = event, !change.isChange { return }
    let isTaken = queue.withLock { queue in
      guard queue.waiting.count < AuditLog.room else {
        queue.dropped += 1
        return false
      }
      queue.waiting.append(event)
      return true
    }
    if isTaken { bell.ring() }
  }

  private func writeDown(_ write: (String) -> Bool) {
    let (events, dropped) = queue.withLock { queue in
      let taken = (queue.waiting, queue.dropped)
      queue.atWork = queue.waiting.count
      queue.waiting = []
      queue.dropped = 0
      return taken
    }
    guard !events.isEmpty || dropped > 0 else { return }
    var text = ""
    let names = names()
    let volume = volume.withLock { $0 }
    for event in events { text += event.line(names, volume) + "\n" }
    if dropped > 0 { text += AuditEvent.dropped(dropped, volume) + "\n" }
    let hasArrived = write(text)
    queue.withLock { queue in
      queue.atWork = 0
      if !hasArrived { queue.dropped += events.count + dropped }
    }
  }

  /// Waits for what is queued, but not for a log that hangs.
  package func finish(milliseconds: Int = 2_000) {
    let deadline = Clock.monotonicNanoseconds &+ UInt64(milliseconds) * 1_000_000
    bell.ring()
    while queue.withLock({ !$0.waiting.isEmpty || $0.atWork > 0 }), Clock.monotonicNanoseconds < deadline {
      Clock.pause(milliseconds: 5)
    }
  }
}
