import LinuxFiles
import Synchronization

// Names of users and groups, from the user database of the machine.

/// The accounts of this machine; each number and each name is looked up once, because a directory server may be slow.
package final class Accounts: Sendable {
  private struct Known {
    var users: [UInt32: String?] = [:]
    var groups: [UInt32: String?] = [:]
    var userNumbers: [String: UInt32?] = [:]
    var groupNumbers: [String: UInt32?] = [:]
  }

  private let known = Mutex(Known())

  package init() {}

  package func userName(_ user: UInt32) -> String? {
    known.withLock { known in
      if let name = known.users[user] { return name }
      let name = UserDatabase.userName(user)
      known.users[user] = .some(name)
      return name
    }
  }

  package func groupName(_ group: UInt32) -> String? {
    known.withLock { known in
      if let name = known.groups[group] { return name }
      let name = UserDatabase.groupName(group)
      known.groups[group] = .some(name)
      return name
    }
  }

  package func user(_ name: String) -> UInt32? {
    known.withLock { known in
      if let number = known.userNumbers[name] { return number }
      let number = UserDatabase.user(named: name)
      known.userNumbers[name] = .some(number)
      return number
    }
  }

  package func group(_ name: String) -> UInt32? {
    known.withLock { known in
      if let number = known.groupNumbers[name] { return number }
      let number = UserDatabase.group(named: name)
      known.groupNumbers[name] = .some(number)
      return number
    }
  }
}
