// Small worlds of one object, gone through completely.

import AccessControl
import Decisions
import DirectoryModes
import FlagRules
import Testing

@Suite("One object, exhaustively") struct ExhaustiveRightsTests {
  @Test func everyModeAnswersEveryRightAndPair() {
    var duel = Duel()
    let callers = [
      Caller(World.alice, World.elsewhere, possibly: [World.staff]), Caller(World.bob, World.staff),
      Caller(World.bob, World.elsewhere, possibly: [World.staff]), Caller(0, 0),
    ]
    var requests = World.singleRights
    for one in World.singleRights {
      for other in World.singleRights where one.rawValue < other.rawValue {
        requests.append(one.union(other))
      }
    }
    for mode in UInt16(0)...0o777 {
      for asked in requests { duel.put(.check(World.file(mode), asked), by: callers) }
      for asked in World.singleRights {
        for kind in World.kinds { duel.put(.check(World.item(kind, mode), asked), by: callers) }
      }
    }
    print("modes x rights: \(duel.asked) questions")
  }

  @Test func shortListsOfEveryKindOfEntry() {
    let alphabet = World.entries(
      [.allow, .deny, .audit, .alarm], World.identities,
      [.read, .write, [.read, .write], [.execute, .genericRead], .genericAll], [[], .onlyInherit])
    let callers = [
      Caller(World.alice, World.elsewhere, possibly: [World.team]),
      Caller(World.bob, World.elsewhere, possibly: [World.team]),
    ]
    var duel = Duel()
    for first in alphabet {
      for asked: Rights in [.read, .write, [.read, .write], .execute, .readAttributes] {
        duel.put(.check(World.file(0o644, [], [first]), asked), by: World.callers())
      }
      for second in alphabet where first.kind.rawValue < 3 && second.kind.rawValue < 4 {
        duel.put(.check(World.file(0o604, [], [first, second]), [.read, .write]), by: callers)
      }
    }
    print("lists of two: \(duel.asked) questions")
  }

  @Test func everyListOfThreeEntries() {
    let alphabet =
      World.entries(
        [.allow, .deny], [.user(World.bob), .group(World.team), .everyone, .owner, .owningGroup],
        [.read, .write, [.read, .write]])
      + [AccessEntry(.deny, .everyone, .read, .onlyInherit), AccessEntry(.allow, .nobody, .read)]
    let callers = [
      Caller(World.alice, World.elsewhere),
      Caller(World.bob, World.elsewhere, possibly: [World.team, World.staff]),
    ]
    var duel = Duel()
    for list in World.lists(alphabet, upTo: 3) {
      for asked: Rights in [.read, [.read, .write]] {
        duel.put(.check(World.file(0o640, [], list), asked), by: callers)
      }
    }
    print("lists of three: \(duel.asked) questions")
  }

  /// The owner's rights, by uid, by "unknown" 99 and by an owning group.
  @Test func whatBelongsToTheOwner() {
    let rights: [Rights] = [
      .writeSecurity, .writeAttributes, .takeOwnership, .readSecurity, [.takeOwnership, .writeSecurity],
      [.writeSecurity, .read], [.writeAttributes, .write], [.readAttributes, .readSecurity], .synchronize,
    ]
    let alphabet = World.entries(
      [.allow, .deny], [.user(World.bob), .group(World.team), .everyone, .owner, .owningGroup],
      [.writeSecurity, .writeAttributes, .takeOwnership, .genericWrite])
    var duel = Duel()
    for owner in owners {
      for mode: UInt16 in [0o000, 0o620, 0o604, 0o777] {
        for list in [nil] + World.lists(alphabet, upTo: 2).map(Optional.some) {
          for asked in list.map({ $0.count < 2 }) ?? true ? rights : Array(rights.prefix(2)) {
            let item = owner(World.file(mode, [], list))
            duel.put(.check(item, asked), by: World.callers(possibly: [World.team, World.staff]))
          }
        }
      }
    }
    print("owners: \(duel.asked) questions")
  }
}

/// Ways an object can be owned.
let owners: [@Sendable (Item) -> Item] = [
  { $0 },
  { item in
    var item = item
    item.user = World.unknown
    return item
  },
  { item in
    var item = item
    item.group = World.unknown
    return item
  },
  { item in
    var item = item
    item.ownerGroup = World.team
    return item
  },
  { item in
    var item = item
    (item.user, item.ownerGroup) = (World.unknown, World.team)
    return item
  },
]
