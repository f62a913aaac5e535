// The pieces the small worlds are built of.

import AccessControl
import Decisions
import DirectoryModes
import FlagRules

extension Subject {
  /// Somebody whose groups are known; if it is root, with all capabilities.
  init(user: UInt32, group: UInt32, groups: Groups) {
    self.init(user: user, group: group, groups: groups, capabilities: groups == .unread ? nil : .all)
  }
}

/// The people and groups of all worlds.
enum World {
  static let alice: UInt32 = 1001
  static let bob: UInt32 = 1002
  /// The group of alice and of her files.
  static let staff: UInt32 = 2001
  /// A group that entries name.
  static let team: UInt32 = 2002
  static let admins: UInt32 = 2003
  /// Nothing is ever about this group.
  static let elsewhere: UInt32 = 2009
  static let unknown: UInt32 = 99

  /// Owner, stranger with every group set, and root.
  static func callers(possibly gids: [UInt32] = [staff, team]) -> [Caller] {
    [Caller(alice, elsewhere, possibly: gids), Caller(bob, elsewhere, possibly: gids), Caller(0, 0)]
  }

  static func file(
    _ mode: UInt16 = 0o644, _ flags: FileFlags = [], _ list: [AccessEntry]? = nil, owner: UInt32 = alice
  ) -> Item {
    item(.file, mode, flags, list, owner: owner)
  }

  static func directory(
    _ mode: UInt16 = 0o755, _ flags: FileFlags = [], _ list: [AccessEntry]? = nil, owner: UInt32 = alice
  ) -> Item {
    item(.directory, mode, flags, list, owner: owner)
  }

  static func item(
    _ kind: ItemKind, _ mode: UInt16, _ flags: FileFlags = [], _ list: [AccessEntry]? = nil,
    owner: UInt32 = alice
  ) -> Item {
    Item(
      kind: kind, user: owner, group: staff, mode: Mode(mode), flags: flags, list: list.map { AccessList($0) }
    )
  }

  static let kinds: [ItemKind] = [.file, .directory, .symbolicLink, .special]

  static let flags: [FileFlags] = [
    [], .userImmutable, .userAppendOnly, .systemImmutable, .systemAppendOnly, .systemNoUnlink, .archived,
    [.userAppendOnly, .userImmutable], [.userImmutable, .systemAppendOnly], .hidden, .restricted,
  ]

  /// Every right that can be asked for, one at a time.
  static let singleRights = (Array(1...13) + [20, 25, 26]).map { Rights(rawValue: 1 << UInt32($0)) }

  /// Volumes: as usual, and with each option that bends a decision.
  static let volumes: [VolumeRules] = {
    func rules(_ change: (inout VolumeRules) -> Void) -> VolumeRules {
      var rules = VolumeRules()
      change(&rules)
      return rules
    }
    return [
      rules { _ in }, rules { $0.isReadOnly = true }, rules { $0.forbidsExecution = true },
      rules { $0.ignoresOwnership = true }, rules { $0.usesLists = false }, rules { $0.secureLevel = 1 },
      rules { $0.adminGroup = admins }, rules { ($0.adminGroup, $0.usesLists) = (admins, false) },
      rules { ($0.adminGroup, $0.ignoresOwnership) = (admins, true) },
      rules { ($0.adminGroup, $0.secureLevel) = (admins, 1) },
      rules { ($0.adminGroup, $0.forbidsExecution) = (admins, true) },
    ]
  }()

  /// All lists of at most `length` entries over an alphabet.
  static func lists(_ alphabet: [AccessEntry], upTo length: Int) -> [[AccessEntry]] {
    var all: [[AccessEntry]] = [[]]
    var last = all
    for _ in 0..<length {
      last = last.flatMap { list in alphabet.map { list + [$0] } }
      all += last
    }
    return all
  }

  static func entries(
    _ kinds: [AccessEntry.Kind], _ identities: [Identity], _ rights: [Rights],
    _ inheritance: [AccessEntry.Inheritance] = [[]]
  ) -> [AccessEntry] {
    var all: [AccessEntry] = []
    for kind in kinds {
      for identity in identities {
        for right in rights {
          for flags in inheritance { all.append(AccessEntry(kind, identity, right, flags)) }
        }
      }
    }
    return all
  }

  /// Every identity that means something to these callers.
  static let identities: [Identity] = [
    .user(alice), .user(bob), .group(team), .group(elsewhere), .everyone, .owner, .owningGroup, .nobody,
  ]
}
