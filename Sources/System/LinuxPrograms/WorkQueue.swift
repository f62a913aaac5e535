import CPrograms
package import LinuxFiles
import Synchronization

// Work for several threads, handed out in order, never more of it waiting than was agreed.

/// Threads that work on what they are given.
///
/// One thread gives, and waits when too much lies there already; `finish` returns when all is done.
package final class WorkQueue<Work: Sendable>: Sendable {
  private final class Shared: Sendable {
    let waiting: Mutex<[Work?]> = Mutex([])
    let filled = Bell()
    let room: Bell
    let ended = Bell()

    init(capacity: Int) {
      room = Bell(rings: capacity)
    }
  }

  private let shared: Shared
  private let threads: Int

  /// Starts the threads; at least one, and fewer than asked for where the system has no room for more.
  package init(threads wanted: Int, _ body: @escaping @Sendable (Work) -> Void) throws(Errno) {
    let wanted = max(1, wanted)
    // Little: what waits takes memory, and is moved up one by one when the first is taken.
    let shared = Shared(capacity: 4 * wanted)
    var started = 0
    for _ in 0..<wanted {
      do throws(Errno) {
        _ = try PlainThread(name: "varve-work") {
          while true {
            shared.filled.wait()
            let next = shared.waiting.withLock { $0.isEmpty ? nil : $0.removeFirst() }
            guard let next else { break }
            body(next)
            shared.room.ring()
          }
          shared.ended.ring()
        }
        started += 1
      } catch {
        if started == 0 { throw error }
        break
      }
    }
    self.shared = shared
    threads = started
  }

  /// Hands work over, and waits for room if there is none.
  package func add(_ work: Work) {
    shared.room.wait()
    shared.waiting.withLock { $0.append(work) }
    shared.filled.ring()
  }

  /// Waits until everything is done and the threads have ended; nothing can be added afterwards.
  package func finish() {
    for _ in 0..<threads {
      shared.waiting.withLock { $0.append(nil) }
      shared.filled.ring()
    }
    for _ in 0..<threads { shared.ended.wait() }
  }
}
