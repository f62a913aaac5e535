import Glibc
import Synchronization

// Waiting no longer than we can afford for something that may never answer.

/// Runs work on a thread of its own and gives up waiting after a while.
package enum Patience {
  /// The result of `work`, or `nil` if it did not come in time or no thread could be had.
  ///
  /// Work that comes too late runs to its end; its result is dropped. Each call costs a thread: for questions
  /// whose answers are remembered.
  package static func wait<Value: Sendable>(
    milliseconds: Int, for work: @escaping @Sendable () -> Value
  ) -> Value? {
    guard let slot = Slot<Value>() else { return nil }
    do throws(Errno) {
      _ = try PlainThread(name: "varve-patience") { slot.fill(work()) }
    } catch {
      return nil
    }
    return slot.wait(milliseconds: milliseconds)
  }
}

/// A place for one value, and a semaphore that tells when it is there.
@safe private final class Slot<Value: Sendable>: @unchecked Sendable {
  private let value: Mutex<Value?> = Mutex(nil)
  // Used by two threads at once, which is what semaphores are made for; freed with the last reference.
  private let isFilled: UnsafeMutablePointer<sem_t>

  init?() {
    unsafe isFilled = .allocate(capacity: 1)
    guard unsafe sem_init(isFilled, 0, 0) == 0 else {
      unsafe isFilled.deallocate()
      return nil
    }
  }

  deinit {
    unsafe sem_destroy(isFilled)
    unsafe isFilled.deallocate()
  }

  func fill(_ result: Value) {
    value.withLock { $0 = result }
    unsafe sem_post(isFilled)
  }

  func wait(milliseconds: Int) -> Value? {
    let now = Clock.realtime
    let nanoseconds = Int(now.nanoseconds) + milliseconds * 1_000_000
    var deadline = timespec(
      tv_sec: Int(now.seconds) + nanoseconds / 1_000_000_000, tv_nsec: nanoseconds % 1_000_000_000)
    while unsafe sem_timedwait(isFilled, &deadline) != 0 {
      guard errno == EINTR else { return nil }
    }
    return value.withLock { $0 }
  }
}
