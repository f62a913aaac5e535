// What libfuse complains about, caught so that it can stand in our own sentence.

import CFUSE
import Glibc
import Synchronization

enum LibraryLog {
  private static let last = Mutex<String?>(nil)

  /// Catches libfuse's messages from now on and answers the last one so far.
  @discardableResult
  static func take() -> String? {
    unsafe fuse_set_log_func(catchMessage)
    return last.withLock { $0.take() }
  }

  fileprivate static func note(_ message: String) {
    last.withLock { $0 = message }
  }
}

/// Called by libfuse with what it would have printed.
private func catchMessage(
  _ level: fuse_log_level, _ format: UnsafePointer<CChar>?, _ arguments: CVaListPointer?
) {
  guard let format = unsafe format, let arguments = unsafe arguments else { return }
  unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: 512) { room in
    guard let start = room.baseAddress, unsafe vsnprintf(start, room.count, format, arguments) > 0 else {
      return
    }
    // "fuse: mount failed: Permission denied\n"
    var text = unsafe String(cString: start)[...]
    while let final = text.last, final.isNewline { text.removeLast() }
    if text.hasPrefix("fuse: ") { text.removeFirst("fuse: ".count) }
    if !text.isEmpty { LibraryLog.note(String(text)) }
  }
}
