import CPrograms
package import LinuxFiles
import Synchronization

// Work for several threads, handed out in order, never more of it waiting than was agreed.

/// A count that threads wait at.
@safe private final class Semaphore: @unchecked Sendable {
  // Sendable: a semaphore of POSIX is made for all threads; the pointer never changes.
  private let pointer: OpaquePointer

  init(_ count: UInt32) throws(Errno) {
    guard let made = unsafe lv_semaphore_create(count) else { throw .noMemory }
    unsafe pointer = made
  }

  deinit { unsafe lv_semaphore_destroy(pointer) }

  func wait() { unsafe lv_semaphore_wait(pointer) }
  func post() { unsafe lv_semaphore_post(pointer) }
}

/// Threads that work on what they are given.
///
/// One thread gives, and waits when too much lies there already; `finish` returns when all is done.
package final class WorkQueue<Work: Sendable>: Sendable {
  private final class Shared: Sendable {
    let waiting: Mutex<[Work?]> = Mutex([])
    let filled: Semaphore
    let room: Semaphore
    let ended: Semaphore

    init(capacity: Int) throws(Errno) {
      filled = try Semaphore(0)
      room = try Semaphore(UInt32(capacity))
      ended = try Semaphore(0)
    }
  }

  private let shared: Shared
  private let threads: Int

  /// Starts the threads; at least one, and fewer than asked for where the system has no room for more.
  package init(threads wanted: Int, capacity: Int, _ body: @escaping @Sendable (Work) -> Void) throws(Errno) {
    let shared = try Shared(capacity: capacity)
    var started = 0
    for _ in 0..<max(1, wanted) {
      do throws(Errno) {
        _ = try PlainThread(name: "varve-work") {
          while true {
            shared.filled.wait()
            let next = shared.waiting.withLock { $0.isEmpty ? nil : $0.removeFirst() }
            guard let next else { break }
            body(next)
            shared.room.post()
          }
          shared.ended.post()
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
    shared.filled.post()
  }

  /// Waits until everything is done and the threads have ended; nothing can be added afterwards.
  package func finish() {
    for _ in 0..<threads {
      shared.waiting.withLock { $0.append(nil) }
      shared.filled.post()
    }
    for _ in 0..<threads { shared.ended.wait() }
  }
}

/// How many processors there are to work with.
package var processorCount: Int { max(1, lv_processors()) }
