import CPrograms
import LinuxFiles
import Synchronization

// Names of users and groups, from the user database of the machine.

/// The accounts of this machine; every answer is asked for once.
package final class Accounts: Sendable {
  private struct Known {
    var users: [UInt32: String?] = [:]
    var groups: [UInt32: String?] = [:]
  }

  private let known = Mutex(Known())

  package init() {}

  package func userName(_ user: UInt32) -> String? {
    known.withLock { known in
      if let name = known.users[user] { return name }
      let name = text { room, count in unsafe lv_user_name(user, room, count) }
      known.users[user] = .some(name)
      return name
    }
  }

  package func groupName(_ group: UInt32) -> String? {
    known.withLock { known in
      if let name = known.groups[group] { return name }
      let name = text { room, count in unsafe lv_group_name(group, room, count) }
      known.groups[group] = .some(name)
      return name
    }
  }

  package func user(_ name: String) -> UInt32? {
    number(name) { name, number in unsafe lv_user_id(name, number) }
  }

  package func group(_ name: String) -> UInt32? {
    number(name) { name, number in unsafe lv_group_id(name, number) }
  }
}

/// A name of at most 255 bytes; nil if there is none.
@safe private func text(_ look: (UnsafeMutablePointer<CChar>, Int) -> Int) -> String? {
  unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { room in
    guard let start = room.baseAddress, unsafe look(start, room.count) >= 0 else { return nil }
    return unsafe String(cString: start)
  }
}

@safe private func number(
  _ name: String, _ look: (UnsafePointer<CChar>, UnsafeMutablePointer<UInt32>) -> Int
) -> UInt32? {
  var number: UInt32 = 0
  guard !name.utf8.contains(0), unsafe name.withCString({ unsafe look($0, &number) }) >= 0 else { return nil }
  return number
}

/// The parts of a moment in the local time zone.
package struct LocalMoment: Sendable {
  package let year: Int
  package let month: Int
  package let day: Int
  package let hour: Int
  package let minute: Int
  package let second: Int

  /// Nil for a year no calendar reaches.
  package init?(seconds: Int64) {
    var parts = lv_calendar()
    guard unsafe lv_local_time(seconds, &parts) >= 0 else { return nil }
    year = Int(parts.year)
    month = Int(parts.month)
    day = Int(parts.day)
    hour = Int(parts.hour)
    minute = Int(parts.minute)
    second = Int(parts.second)
  }
}
