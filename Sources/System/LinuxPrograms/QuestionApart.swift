// Asking what may never be answered.

import CPrograms
package import LinuxFiles

/// Runs a question in a process of its own, and gives up waiting after a while.
///
/// Not on a thread: a thread that asks a file system whose daemon has been stopped may not even be killed before it answers,
/// and a program does not end before its threads have. Such a process holds nothing of ours, is seen by nobody and
/// ends when the daemon goes on or ends.
package enum QuestionApart {
  /// The answer; nil if it did not come in time.
  ///
  /// EAGAIN or ENOMEM when there can be no such process. For a program with one thread: the question must not need what another thread may hold just now.
  ///
  /// `staysInGroup`: in the process group of ours, which is the only one that an automounter lets walk to its mount point.
  package static func ask(
    milliseconds: Int, staysInGroup: Bool = false, _ question: () throws(Errno) -> [UInt8]
  ) throws(Errno) -> Result<[UInt8], Errno>? {
    try begin(staysInGroup: staysInGroup, question).answer(milliseconds: milliseconds)
  }

  /// Begins to ask, as `ask` does, and does not wait: so several questions are asked at the same time.
  package static func begin(
    staysInGroup: Bool = false, _ question: () throws(Errno) -> [UInt8]
  ) throws(Errno) -> OpenQuestion {
    var end: CInt = -1
    let child = CInt(truncatingIfNeeded: try retrying { unsafe lv_fork_apart(&end, staysInGroup ? 0 : 1) })
    guard child > 0 else { answer(at: end, question) }
    return OpenQuestion(child, answersAt: Descriptor(adopting: end))
  }

  /// Whether a path leads to a mount whose daemon is gone; one that does not answer within two seconds is not.
  ///
  /// The kernel walks to the root of such a mount without asking it, and may know its status for as long as nobody tells it
  /// otherwise, but keeps no attributes. What cannot be walked to lies behind another file system that has lost its
  /// server, and may be alive.
  package static func isDeadMount(_ path: [UInt8]) -> Bool {
    let told = try? ask(milliseconds: 2_000, staysInGroup: true) { () throws(Errno) -> [UInt8] in
      let root: Descriptor
      do throws(Errno) { root = try Descriptor.open(path: path, .path) } catch { throw .inputOutput }
      _ = try root.status()
      _ = try root.attribute(AttributeName("system.varve.control"))
      return []
    }
    guard case .some(.failure(let error)) = told else { return false }
    return error == .notConnected
  }

  /// Makes the process that answers one of this user, in this group alone; for use in a question of root's.
  ///
  /// EPERM where root may not.
  package static func continueAs(user: UInt32, group: UInt32) throws(Errno) {
    _ = try retrying { lv_become_apart(user, group) }
  }

  private static func answer(at end: CInt, _ question: () throws(Errno) -> [UInt8]) -> Never {
    do throws(Errno) {
      let bytes = try question()
      unsafe lv_answer_apart(end, 0, bytes, bytes.count)
    } catch {
      unsafe lv_answer_apart(end, error.rawValue, [], 0)
    }
  }
}

/// A question that was asked; the process that was to answer it may still be at it.
package final class OpenQuestion {
  private let child: CInt
  private let reading: Descriptor
  private let began = Clock.monotonicNanoseconds

  fileprivate init(_ child: CInt, answersAt reading: consuming Descriptor) {
    self.child = child
    self.reading = reading
  }

  deinit { lv_bury(child) }

  /// The answer; nil if it did not come within a time that began with the question.
  package func answer(milliseconds: Int) throws(Errno) -> Result<[UInt8], Errno>? {
    let deadline = began &+ UInt64(milliseconds) &* 1_000_000
    var bytes: [UInt8] = []
    var page = [UInt8](repeating: 0, count: 65_536)
    while true {
      // What came in time is heard later, too: the rest of a long answer follows as soon as there is room in the pipe.
      let now = Clock.monotonicNanoseconds
      let left = max(100, now < deadline ? CInt(clamping: (deadline - now) / 1_000_000 + 1) : 0)
      let count: Int
      do throws(Errno) { count = try hear(reading, left, &page) } catch .timedOut { return nil }
      guard count > 0 else { break }
      bytes += page[..<count]
    }
    // An error first, in the order of bytes of this machine.
    guard bytes.count >= 4 else { return .failure(.inputOutput) }
    let error = unsafe bytes.withUnsafeBytes { unsafe $0.loadUnaligned(as: Int32.self) }
    return error == 0 ? .success(Array(bytes[4...])) : .failure(Errno(rawValue: error))
  }

  private func hear(
    _ reading: borrowing Descriptor, _ milliseconds: CInt, _ page: inout [UInt8]
  ) throws(Errno) -> Int {
    let end = reading.rawValue
    return try retrying {
      unsafe page.withUnsafeMutableBytes { room in
        guard let start = room.baseAddress else { return 0 }
        return unsafe lv_hear_apart(end, milliseconds, start, room.count)
      }
    }
  }
}
