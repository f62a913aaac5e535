// Who calls, and callers who are sent a signal while their request is served.

import Glibc
import Synchronization

@testable import LayeredVolume

extension Tree {
  func caller() -> Caller {
    asRoot()
    let thread = user == geteuid() ? getpid() : 0
    var caller = Caller(user: user, group: Self.isRoot ? user : getegid(), thread: thread)
    caller.request = request
    return caller
  }

  /// Runs `work` with callers who are interrupted by the time they have asked so often; how often they asked.
  func interrupting(at question: Int, _ work: () throws -> Void) throws -> Int {
    let asked = Mutex(0)
    request = 7
    defer { request = 0 }
    try volume().asksForInterrupts { request in
      asked.withLock { asked in
        asked += 1
        return request == 7 && asked >= question
      }
    }
    try work()
    return asked.withLock { $0 }
  }
}
