// Small worlds of directories and the names in them.

import AccessControl
import Decisions
import DirectoryModes
import FlagRules
import Testing

@Suite("Names, exhaustively") struct ExhaustiveNamesTests {
  @Test func deletionOverListsModesAndOwners() {
    let who: [Identity] = [.user(World.bob), .group(World.team), .everyone, .owner]
    let ownLists =
      [nil, []]
      + World.lists(World.entries([.allow, .deny], who, [.delete, .deleteChild]), upTo: 1).map(Optional.some)
      + pairs(World.entries([.allow, .deny], who, [.delete]))
    let parentLists =
      [nil]
      + World.lists(World.entries([.allow, .deny], who, [.deleteChild, .addFile]), upTo: 1).map(Optional.some)
      + pairs(World.entries([.allow, .deny], [.user(World.bob), .group(World.team)], [.deleteChild]))
    let callers = [Caller(World.bob, World.elsewhere, possibly: [World.staff, World.team]), Caller(0, 0)]
    var duel = Duel()
    for (itemOwner, parentOwner) in [
      (World.alice, World.alice), (World.alice, World.bob), (World.bob, World.alice), (World.bob, World.bob),
    ] {
      for mode: UInt16 in [0o755, 0o775, 0o757, 0o1777, 0o1757, 0o1755, 0o700, 0o1570] {
        for list in ownLists {
          for above in parentLists {
            duel.put(
              .remove(
                World.file(0, [], list, owner: itemOwner),
                World.directory(mode, [], above, owner: parentOwner)),
              by: callers)
          }
        }
      }
    }
    print("deletion: \(duel.asked) questions")
  }

  @Test func deletionOverFlagsKindsVolumesAndWaysOfOwning() {
    let callers = World.callers(possibly: [World.team, World.admins])
    var duel = Duel()
    for rules in World.volumes {
      for kind in World.kinds {
        for flags in World.flags {
          for parentFlags in World.flags {
            let item = World.item(kind, 0o600, flags)
            duel.put(.remove(item, World.directory(0o755, parentFlags)), by: callers, on: rules)
          }
        }
      }
      for (own, above) in product(owners, owners) {
        for mode: UInt16 in [0o1777, 0o755, 0o575, 0o1757] {
          duel.put(.remove(own(World.file()), above(World.directory(mode))), by: callers, on: rules)
        }
      }
    }
    print("deletion by flags: \(duel.asked) questions")
  }

  @Test func renamesAndSwaps() {
    let deny = AccessEntry(.deny, .group(World.team), [.delete, .addSubdirectory])
    let grant = AccessEntry(.allow, .user(World.bob), [.delete])
    let movables: [Item] = [.file, .directory, .special].flatMap { kind in
      [
        World.item(kind, 0o644), World.item(kind, 0o775, .userAppendOnly),
        World.item(kind, 0o644, .systemNoUnlink),
        World.item(kind, 0o707, [], [deny]), World.item(kind, 0o700, [], [grant, deny]),
        World.item(kind, 0o700, [], [grant, AccessEntry(.deny, .user(World.bob), .delete)]),
        World.item(kind, 0o755, owner: World.bob),
      ]
    }
    let places: [Item] = [
      World.directory(0o755, owner: World.bob), World.directory(0o755), World.directory(0o1777),
      World.directory(0o775), World.directory(0o777, .userAppendOnly), World.directory(0o777, .userImmutable),
      World.directory(0o755, [], [AccessEntry(.allow, .user(World.bob), .deleteChild)]),
      World.directory(0o755, [], [AccessEntry(.allow, .group(World.team), [.deleteChild, .addFile])]),
      World.directory(0o777, [], [AccessEntry(.deny, .group(World.team), .addSubdirectory)]),
    ]
    let callers = [Caller(World.bob, World.elsewhere, possibly: [World.staff, World.team]), Caller(0, 0)]
    var duel = Duel()
    for (item, parent) in product(movables, places) {
      for newParent in places {
        for victim in [nil] + movables.map(Optional.some) {
          duel.put(.rename(item, parent, newParent, moves: true, over: victim), by: callers)
          guard let victim, parent == newParent else { continue }
          duel.put(.rename(item, parent, parent, moves: false, over: victim), by: callers)
        }
      }
      for other in movables {
        duel.put(.exchange(item, parent, other, parent, moves: false), by: callers)
        for otherParent in places.prefix(5) {
          duel.put(.exchange(item, parent, other, otherParent, moves: true), by: callers)
        }
      }
    }
    print("renames: \(duel.asked) questions")
  }

  @Test func makingAndLinking() {
    let lists: [[AccessEntry]?] =
      [nil]
      + World.lists(
        World.entries(
          [.allow, .deny], [.user(World.bob), .group(World.team), .everyone, .owningGroup],
          [.addFile, .addSubdirectory, .genericWrite]), upTo: 2
      ).map(Optional.some)
    var duel = Duel()
    for list in lists {
      for mode: UInt16 in [0o755, 0o577, 0o1777] {
        let parent = World.directory(mode, [], list)
        for isDirectory in [false, true] { duel.put(.create(isDirectory, parent), by: World.callers()) }
      }
    }
    let callers = World.callers(possibly: [World.staff, World.admins])
    let modes: [UInt16] = [0, 0o664, 0o666, 0o4666, 0o2676, 0o2666]
    for rules in World.volumes {
      for parentFlags in World.flags {
        let parent = World.directory(0o775, parentFlags)
        for isDirectory in [false, true] { duel.put(.create(isDirectory, parent), by: callers, on: rules) }
        duel.put(.createDevice(parent), by: callers, on: rules)
        for (kind, flags) in product(World.kinds, World.flags) {
          for (mode, protected) in product(modes, [false, true]) {
            let item = World.item(kind, mode, flags)
            duel.put(.link(item, parent, protected: protected), by: callers, on: rules)
          }
          guard kind == .special else { continue }
          for mode: UInt16 in [0, 0o600, 0o062, 0o004] {
            duel.put(.find(World.item(kind, mode, flags), parent), by: callers, on: rules)
          }
        }
      }
    }
    for (list, owner) in product(lists, owners) {
      let above = World.directory(0o1777)
      let item = owner(World.item(.special, 0, [], list))
      duel.put(.find(item, above), by: callers)
      duel.put(.link(owner(World.file(0o620, [], list)), above, protected: true), by: callers)
      var broken = item
      for record in [Item.Record.damaged, .damagedList] {
        broken.record = record
        duel.put(.find(broken, above), by: callers)
      }
    }
    print("making and linking: \(duel.asked) questions")
  }
}

private func pairs(_ entries: [AccessEntry]) -> [[AccessEntry]?] {
  product(entries, entries).map { [$0, $1] }
}

/// Every first with every second.
func product<A, B>(_ one: [A], _ other: [B]) -> [(A, B)] {
  one.flatMap { first in other.map { (first, $0) } }
}
