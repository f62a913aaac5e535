// Whether another thread can be in the middle of a system call's work, from /proc.

import CLinux
import Glibc

/// What a thread is doing at the moment it is looked at.
package enum ThreadActivity: Sendable, Equatable {
  /// There is no such thread any more.
  case gone
  /// It waits for something that can be interrupted, is stopped, or has ended.
  case asleep
  /// It runs, wants to run, waits for a disk, or cannot be looked at.
  case mayBeWorking

  /// Asks for the thread `tid` of this process namespace.
  ///
  /// A letter alone proves no sleep: a thread takes it before it looks whether it has to wait at all, and may lose its
  /// processor right then, with the answer there. So it must have left the processor before the letter is read.
  package static func of(thread tid: Int32) -> ThreadActivity {
    guard tid > 0 else { return .mayBeWorking }
    let isBlocked = lv_is_blocked(tid) == 1
    guard let state = ProcessCredentials.figures(ofThread: tid, of: tid)?.state else {
      // What is hidden from this process (hidepid) is not there by name only: a signal finds it.
      return kill(tid, 0) < 0 && Errno.current == .noSuchProcess ? .gone : .mayBeWorking
    }
    return isBlocked && asleepLetters.contains(state) ? .asleep : .mayBeWorking
  }

  /// Sleeping, stopped, traced, parked, dead: not `D`, which a thread may also be in between two steps.
  private static let asleepLetters: [UInt8] = Array("STtPZX".utf8)
}
