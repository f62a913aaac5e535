// Writes that wait to be served when the class of their file is closed.
//
// Whoever keeps them answers them then: served they would be refused, and until that their bytes would stay in memory.

import Synchronization

/// Who wants to hear that classes are closed.
final class ClosedClasses: Sendable {
  private let listener: Mutex<(@Sendable () -> Void)?> = Mutex(nil)

  func listen(_ call: @escaping @Sendable () -> Void) { listener.withLock { $0 = call } }

  func tell() { listener.withLock { $0 }?() }
}
