// The audit log: events go into queues that are bounded (`AuditQueue`), and a thread of its own writes them down. A log
// that is slow, or full, costs events and never a request; a line says how many.
//
// For administrators who have to tell later who was refused, and who changed a rule. On the path of a request nothing becomes
// text, no account is looked up, and nobody waits (SEMANTICS 11.4 and 11.5).

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

  private struct State {
    var queue = AuditQueue()
    /// Whether events were taken out and are not written yet.
    var isAtWork = false
  }

  private let state = Mutex(State())
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

  /// What is where a log is to be and is no file; for the message about it.
  package static func otherKind(at path: [UInt8]) -> FileKind? {
    let kind = try? AuditFile.kind(at: path)
    return kind == .regular ? nil : kind
  }

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
        if let patience = state.withLock({ $0.queue.wait(at: Clock.monotonicNanoseconds) }) {
          _ = bell.wait(milliseconds: patience)
        } else {
          bell.wait()
        }
        writeDown(write)
      }
    }
  }

  /// Queues an event; on a request's path, so nothing is formatted and nobody is waited for.
  func add(_ event: AuditEvent) {
    if case .change(let change) = event, !change.isChange { return }
    let now = Clock.monotonicNanoseconds
    if state.withLock({ $0.queue.add(event, at: now) }) { bell.ring() }
  }

  private func writeDown(_ write: (String) -> Bool) {
    let batch = state.withLock { state in
      let batch = state.queue.take(at: Clock.monotonicNanoseconds)
      state.isAtWork = !batch.isEmpty
      return batch
    }
    guard !batch.isEmpty else { return }
    var text = ""
    let names = names()
    let volume = volume.withLock { $0 }
    for event in batch.events { text += event.line(names, volume) + "\n" }
    for line in AuditEvent.lines(about: batch.lost, volume) { text += line + "\n" }
    let hasArrived = write(text)
    state.withLock { state in
      state.isAtWork = false
      if !hasArrived { state.queue.lose(batch) }
    }
  }

  /// Waits for what is queued, but not for a log that hangs.
  package func finish(milliseconds: Int = 2_000) {
    let deadline = Clock.monotonicNanoseconds &+ UInt64(milliseconds) * 1_000_000
    state.withLock { $0.queue.isFlushing = true }
    bell.ring()
    while state.withLock({ !$0.queue.isEmpty || $0.isAtWork }), Clock.monotonicNanoseconds < deadline {
      Clock.pause(milliseconds: 5)
    }
  }
}
