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
    let slot = Slot<Value>()
    do throws(Errno) {
      _ = try PlainThread(name: "varve-patience") { slot.fill(work()) }
    } catch {
      return nil
    }
    return slot.wait(milliseconds: milliseconds)
  }
}

/// A place for one value, and a bell that tells when it is there.
private final class Slot<Value: Sendable>: Sendable {
  private let value: Mutex<Value?> = Mutex(nil)
  private let isFilled = Bell()

  func fill(_ result: Value) {
    value.withLock { $0 = result }
    isFilled.ring()
  }

  func wait(milliseconds: Int) -> Value? {
    guard isFilled.wait(milliseconds: milliseconds) else { return nil }
    return value.withLock { $0 }
  }
}
