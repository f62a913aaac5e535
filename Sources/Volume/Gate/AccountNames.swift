// Accounts of the user database, for texts people read and for groups by uid.
//
// The database may be a server that is slow or gone. No worker waits for it longer than a moment, and an answer
// that did not come is no answer: a number is printed, a name is not accepted, a membership is not believed.

import AccessControl
import LinuxFiles
import Synchronization

extension NameBook {
  /// Names as the system knows them.
  static let system = NameBook(
    user: { name in Accounts.ask { UserDatabase.user(named: name) } },
    group: { name in Accounts.ask { UserDatabase.group(named: name) } },
    userName: { Accounts.userNames[$0] }, groupName: { Accounts.groupNames[$0] })
}

/// What the user database said lately.
enum Accounts {
  static let userNames = Remembered { uid in ask { UserDatabase.userName(uid) } }
  static let groupNames = Remembered { gid in ask { UserDatabase.groupName(gid) } }
  static let groups = Remembered { uid in ask { UserDatabase.groups(ofUser: uid) } }

  /// Asks, and gives up after two seconds.
  static func ask<Value: Sendable>(_ question: @escaping @Sendable () -> Value?) -> Value? {
    Patience.wait(milliseconds: 2_000, for: question) ?? nil
  }
}

/// Answers by number, each believed for a minute; so is the absence of one, or a dead server would cost every
/// request its patience.
final class Remembered<Value: Sendable>: Sendable {
  private struct Known {
    let value: Value?
    let askedAt: UInt64
  }

  private static var lifetime: UInt64 { 60_000_000_000 }
  private static var most: Int { 4_096 }

  private let ask: @Sendable (UInt32) -> Value?
  private let known: Mutex<[UInt32: Known]> = Mutex([:])

  init(_ ask: @escaping @Sendable (UInt32) -> Value?) {
    self.ask = ask
  }

  subscript(number: UInt32) -> Value? {
    let now = Clock.monotonicNanoseconds
    if let known = known.withLock({ $0[number] }), now &- known.askedAt < Remembered.lifetime {
      return known.value
    }
    // Not under the lock: a slow server must not hold up what is known.
    let value = ask(number)
    known.withLock { known in
      if known.count >= Remembered.most { known.removeAll() }
      known[number] = Known(value: value, askedAt: now)
    }
    return value
  }
}
