// Writes that wait to be served when the class of their file is closed.
//
// Whoever keeps them answers them then: served they would be refused, and until that their bytes would stay in memory.

import LinuxFiles
import Synchronization

/// Who wants to hear that classes are closed.
final class ClosedClasses: Sendable {
  private let listener: Mutex<(@Sendable () -> Void)?> = Mutex(nil)

  func listen(_ call: @escaping @Sendable () -> Void) { listener.withLock { $0 = call } }

  func tell() { listener.withLock { $0 }?() }
}

extension Volume {
  /// `call` is called in a lock, each time that it refuses more than before, by the thread that locks: it waits for nobody.
  package func whenClosed(_ call: @escaping @Sendable () -> Void) { closedClasses.listen(call) }

  /// Whether a write would be refused now, because its file is locked; waits for nothing.
  package func refusesWrite(to handle: HandleID, isWriteBack: Bool) -> Bool {
    guard let object = try? handles.file(handle).content.sealed else { return false }
    return !object.mayServe(isWriteBack ? .writeBack : .bytes)
  }

  /// Pages that a program wrote were refused, and nobody will bring them again.
  package func lostPages(of handle: HandleID) { (try? handles.file(handle))?.content.sealed?.noteLostPages() }
}
