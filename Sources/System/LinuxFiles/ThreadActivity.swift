import CLinux

// Whether another thread can be in the middle of a system call's work, from /proc.

/// What a thread is doing at the moment it is looked at.
package enum ThreadActivity: Sendable, Equatable {
  /// There is no such thread any more.
  case gone
  /// It waits for something that can be interrupted, is stopped, or has ended.
  case asleep
  /// It runs, wants to run, waits for a disk, or cannot be looked at.
  case mayBeWorking

  /// Asks for the thread `tid` of this process namespace.
  package static func of(thread tid: Int32) -> ThreadActivity {
    guard tid > 0 else { return .mayBeWorking }
    let answer = lv_thread_state(tid)
    if answer == -Int(Errno.noSuchProcess.rawValue) { return .gone }
    guard let letter = UInt8(exactly: answer) else { return .mayBeWorking }
    return asleepLetters.contains(letter) ? .asleep : .mayBeWorking
  }

  /// Sleeping, stopped, traced, parked, dead: not `D`, which a thread may also be in between two steps.
  private static let asleepLetters: [UInt8] = Array("STtPZX".utf8)
}
