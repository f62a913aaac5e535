import CLinux

// A lock on a whole file that says who has it.
//
// An open-file-description lock belongs to the open file, not to the process: it goes when the last
// descriptor goes, and another descriptor of the same process conflicts with it like a stranger's.
// The kernel answers -1 for its holder, so the holder writes its process id into the file.

/// What an attempt to lock came to.
package enum LockOutcome: Sendable, Equatable {
  case locked
  /// Another process has it; nil when the file does not say who.
  case held(by: Int32?)
}

extension Descriptor {
  /// Locks the whole file without waiting.
  ///
  /// Needs a descriptor open for writing when `exclusive`, for reading otherwise. The lock lives as long as the
  /// open file.
  package borrowing func tryLockWhole(exclusive: Bool) throws(Errno) -> LockOutcome {
    do throws(Errno) {
      try retrying { lv_lock_whole(rawValue, exclusive ? 1 : 0) }
      return .locked
    } catch .again {
      return .held(by: recordedHolder())
    } catch .accessDenied {
      return .held(by: recordedHolder())
    }
  }

  /// Whether another process holds an exclusive lock of the file; nothing is locked.
  ///
  /// Needs a descriptor open for reading or writing, whichever. Only who could write to the file can have done so:
  /// a process that can read it can take a shared lock, which is none here.
  package borrowing func isLockedExclusively() throws(Errno) -> Bool {
    try retrying { lv_is_locked(rawValue, 0) } != 0
  }

  /// Whether other processes share a lock of the file; nothing is locked.
  package borrowing func isLockedShared() throws(Errno) -> Bool {
    guard try !isLockedExclusively() else { return false }
    return try retrying { lv_is_locked(rawValue, 1) } != 0
  }

  /// Shares this open file or directory with others who do, or takes it alone; false while others forbid that.
  ///
  /// Needs no descriptor open for writing, so it works for directories, and says nothing of who has it
  /// (flock(2)). The lock lives as long as the open file.
  package borrowing func tryLockOpen(exclusive: Bool) throws(Errno) -> Bool {
    do throws(Errno) {
      try retrying { lv_lock_open(rawValue, exclusive ? 1 : 0) }
      return true
    } catch .again {
      return false
    }
  }

  /// Makes `text` the file's whole text; call it with the exclusive lock held.
  ///
  /// A crash leaves the former text, this one, or this one with the former one's end.
  package borrowing func recordHolder(_ text: [UInt8]) throws(Errno) {
    try writeAll(text, at: 0)
    try truncate(to: UInt64(text.count))
  }

  /// The process id in the first line of the file's text; nil for any other text.
  ///
  /// It may be out of date.
  package borrowing func recordedHolder() -> Int32? {
    // The reason of a failed read does not matter: the caller reports a lock, not a file.
    guard let digits = try? read(upTo: 16).prefix(while: { $0 != UInt8(ascii: "\n") }),
      digits.allSatisfy({ decimalDigit($0) != nil }),
      let process = Int32(String(decoding: digits, as: UTF8.self))
    else { return nil }
    return process > 0 ? process : nil
  }
}

/// The value of an ASCII digit.
func decimalDigit(_ byte: UInt8) -> UInt8? {
  let value = byte &- UInt8(ascii: "0")
  return value < 10 ? value : nil
}
