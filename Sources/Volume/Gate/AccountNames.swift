// Account names for texts people read. Asked rarely, remembered for a minute.

import AccessControl
import LinuxFiles
import Synchronization

extension NameBook {
  /// Names as the system knows them, without a directory server being asked for every line.
  static let system = NameBook(
    user: { UserDatabase.user(named: $0) }, group: { UserDatabase.group(named: $0) },
    userName: { RememberedNames.users.name($0) }, groupName: { RememberedNames.groups.name($0) })
}

/// Names by number, each believed for a minute.
private final class RememberedNames: Sendable {
  static let users = RememberedNames(UserDatabase.userName)
  static let groups = RememberedNames(UserDatabase.groupName)

  private struct Known {
    let name: String?
    let askedAt: UInt64
  }

  private let ask: @Sendable (UInt32) -> String?
  private let known: Mutex<[UInt32: Known]> = Mutex([:])

  init(_ ask: @escaping @Sendable (UInt32) -> String?) {
    self.ask = ask
  }

  func name(_ number: UInt32) -> String? {
    let now = Clock.monotonicNanoseconds
    if let known = known.withLock({ $0[number] }), now &- known.askedAt < 60_000_000_000 {
      return known.name
    }
    // Not under the lock: a slow server must not hold up names that are known.
    let name = ask(number)
    known.withLock { known in
      if known.count > 4_096 { known.removeAll() }
      known[number] = Known(name: name, askedAt: now)
    }
    return name
  }
}
