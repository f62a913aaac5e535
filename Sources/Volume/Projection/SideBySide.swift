// What takes long of making an index is done by two threads in large directories.

import LinuxFiles
import Synchronization

/// Two pieces of work at the same time.
enum SideBySide {
  /// Fewer items are done before another thread has begun.
  static let fewestItems = 4096

  /// Does `one` on a thread of its own while the caller does `other`.
  static func run<One: Sendable, Other>(
    _ one: @escaping @Sendable () -> One, and other: () -> Other
  ) -> (One, Other) {
    let result = Result<One>()
    // Where no thread can be had the caller does both.
    let helper: PlainThread? = try? PlainThread(name: "varve-index") { result.value.withLock { $0 = one() } }
    let second = other()
    helper?.join()
    return (result.value.withLock { $0 } ?? one(), second)
  }

  private final class Result<Value: Sendable>: Sendable {
    let value: Mutex<Value?> = Mutex(nil)
  }
}
