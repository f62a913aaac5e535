// The people of a run, each on a thread that is this user from beginning to end.

import Dispatch
import LinuxFiles
import MountSupport

enum Cast {
  static let users: [TestUser] = [
    .root, TestUser(1001, group: 2001, groups: [2003]), .bob,
    TestUser(1003, group: 2001, groups: [2002, 2009]),
  ]
  static let names = ["root", "alice", "bob", "carol"]
  static let umasks: [UInt16] = [0o022, 0, 0o002, 0o027]
  /// Every group anybody is in.
  static let groups: [UInt32] = [0, 2001, 2002, 2003, 2009]
}

/// A user's thread, which does one thing after another and is asked by one thread at a time.
///
/// `@unchecked`: `job` is written before `start` is signalled and read after it; `finish` orders the rest.
final class Actor: @unchecked Sendable {
  private let start = DispatchSemaphore(value: 0)
  private let finish = DispatchSemaphore(value: 0)
  private var job: (@Sendable () -> Void)?

  init(_ user: TestUser, umask: UInt16) throws(Errno) {
    _ = try PlainThread(name: "model user") { [self] in
      user.become(umask: UInt32(umask))
      while true {
        start.wait()
        guard let job else { break }
        job()
        finish.signal()
      }
      finish.signal()
    }
  }

  func run(_ body: @escaping @Sendable () -> Void) {
    job = body
    start.signal()
    finish.wait()
  }

  /// The thread ends.
  func stop() {
    job = nil
    start.signal()
    finish.wait()
  }
}

extension Actor {
  /// One for each of the cast.
  static func all() throws(Errno) -> [Actor] {
    var actors: [Actor] = []
    for (user, umask) in zip(Cast.users, Cast.umasks) { actors.append(try Actor(user, umask: umask)) }
    return actors
  }
}
