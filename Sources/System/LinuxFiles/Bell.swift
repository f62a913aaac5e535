import CLinux
import Glibc

/// What one thread waits for and another one rings.
///
/// Rings are counted: one that comes early is not lost.
@safe package final class Bell: @unchecked Sendable {
  // Used by many threads at once, which is what semaphores are made for; freed with the last reference.
  private let semaphore: UnsafeMutablePointer<sem_t>

  /// A bell that was rung `rings` times already.
  package init(rings: Int = 0) {
    unsafe semaphore = .allocate(capacity: 1)
    // Fails for a count beyond SEM_VALUE_MAX only.
    _ = unsafe sem_init(semaphore, 0, UInt32(clamping: min(rings, Int(Int32.max))))
  }

  deinit {
    unsafe sem_destroy(semaphore)
    unsafe semaphore.deallocate()
  }

  package func ring() {
    _ = unsafe sem_post(semaphore)
  }

  /// Waits for the next ring.
  package func wait() {
    while unsafe sem_wait(semaphore) != 0, errno == EINTR {}
  }

  /// Waits for the next ring; false when it did not come in time.
  package func wait(milliseconds: Int) -> Bool {
    // Nobody makes it shorter or longer by setting the clock.
    let end = Clock.monotonicNanoseconds &+ UInt64(clamping: milliseconds) &* 1_000_000
    do throws(Errno) {
      try retrying { unsafe lv_wait_ring(semaphore, end) }
      return true
    } catch {
      return false
    }
  }
}
