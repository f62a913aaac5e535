// Random cases that can be had again: a small generator and what it makes of the world.

import AccessControl
import Decisions
import DirectoryModes
import FlagRules
import Randomness

extension Dice {
  mutating func rights() -> Rights {
    var rights: Rights = []
    repeat { rights.formUnion(pick(World.singleRights.dropLast(2))) } while once(in: 2)
    if once(in: 6) { rights.formUnion(pick([.genericAll, .genericRead, .genericWrite, .genericExecute])) }
    return rights
  }

  mutating func entry() -> AccessEntry {
    let kind: AccessEntry.Kind = pick([.allow, .allow, .allow, .deny, .deny, once(in: 2) ? .audit : .alarm])
    var flags: AccessEntry.Inheritance = []
    for flag: AccessEntry.Inheritance in [.inherited, .fileInherit, .directoryInherit, .limitInherit]
    where once(in: 4) {
      flags.insert(flag)
    }
    if once(in: 8) { flags.insert(.onlyInherit) }
    let identity = pick(World.identities + [.group(World.staff), .group(World.admins)])
    return AccessEntry(kind, identity, rights(), flags)
  }

  mutating func list() -> AccessList? {
    guard !once(in: 3) else { return nil }
    return AccessList((0..<Int.random(in: 0...5, using: &self)).map { _ in entry() })
  }

  mutating func item(_ kind: ItemKind) -> Item {
    let people = [World.alice, World.bob, 0, World.unknown]
    var mode = Mode(UInt16.random(in: 0...0o777, using: &self))
    if once(in: 2) { mode = Mode(pick([0o755, 0o777, 0o775, 0o644, 0o700])) }
    if once(in: 4) { mode = Mode(mode.bits | 0o1000) }
    var item = Item(
      kind: kind, user: pick(people), group: pick([World.staff, World.team, World.elsewhere, World.unknown]),
      mode: mode, flags: once(in: 4) ? pick(World.flags) : [], list: list(),
      ownerGroup: once(in: 6) ? World.team : nil)
    if once(in: 20) { item.record = pick([.damaged, .damagedList]) }
    return item
  }

  /// The same, with content in any form.
  ///
  /// Rights do not depend on it, and the reference knows of none.
  mutating func storedItem(_ kind: ItemKind) -> Item {
    var item = item(kind)
    let protection = pick(ProtectionClass.allCases)
    switch kind {
    case .file where once(in: 2):
      item.content = pick([.protected(protection, isEmpty: once(in: 3)), .compressed, .replacing, .foreign])
      item.lacksMark = once(in: 8)
    case .directory where once(in: 3): item.content = .protecting(protection)
    default: break
    }
    return item
  }

  /// The keys of a volume; more classes can be made than opened.
  mutating func keys() -> KeysAtHand {
    guard !once(in: 3) else { return KeysAtHand() }
    let (opening, making) = (
      ProtectionClasses(rawValue: .random(in: 0...15, using: &self)),
      ProtectionClasses(rawValue: .random(in: 0...15, using: &self))
    )
    return KeysAtHand(exist: true, opening: opening, making: opening.union(making))
  }

  mutating func rules() -> VolumeRules {
    once(in: 2) ? VolumeRules() : pick(World.volumes)
  }

  mutating func groups() -> [UInt32] {
    [World.staff, World.team, World.admins, World.elsewhere].filter { _ in once(in: 3) }
  }

  mutating func subject(_ users: [UInt32] = [World.alice, World.bob, World.bob, 0]) -> Subject {
    Subject(user: pick(users), group: pick([World.staff, World.elsewhere, 7]), groups: .listed(groups()))
  }

  mutating func request() -> Request {
    let item = item(pick(World.kinds))
    let (parent, other) = (self.item(.directory), self.item(.directory))
    switch Int.random(in: 0..<11, using: &self) {
    case 0: return .check(item, rights().intersection(.specific))
    case 1: return .remove(item, parent)
    case 2: return .link(item, parent, protected: once(in: 2))
    case 3: return .create(once(in: 2), parent)
    case 4:
      let moves = once(in: 2)
      let victim = once(in: 2) ? self.item(pick(World.kinds)) : nil
      return .rename(item, parent, moves ? other : parent, moves: moves, over: victim)
    case 5:
      let moves = once(in: 2)
      return .exchange(item, parent, self.item(pick(World.kinds)), moves ? other : parent, moves: moves)
    case 6: return .find(self.item(.special), parent)
    default: return pick(Operations.onOne(item))
    }
  }
}

extension Request {
  /// Which role each of ``items`` has in the operation.
  var roles: [ObjectRole] {
    switch self {
    case .create, .createDevice: [.parent]
    case .remove, .find: [.item, .parent]
    case .link: [.item, .newParent]
    case .rename: [.item, .parent, .newParent, .victim]
    case .exchange: [.item, .parent, .victim, .newParent]
    default: [.item]
    }
  }

  /// Whether a refusal names one of several rules, each of which could have allowed it.
  var takesOneOfSeveralRights: Bool {
    switch self {
    case .find, .stripSetID, .link(_, _, protected: true): true
    default: false
    }
  }

  var setsList: Bool {
    if case .changeList = self { true } else { false }
  }

  var setsFlags: Bool {
    if case .changeFlags = self { true } else { false }
  }

  /// The same question with one of its objects changed.
  func changing(_ index: Int, _ change: (inout Item) -> Void) -> Request {
    var items = items
    change(&items[index])
    return replacing(items)
  }
}
