// Opening and changing one object: every operation over flags, kinds, lists, owners, volumes and damage.

import AccessControl
import Decisions
import DirectoryModes
import FlagRules
import Testing

@Suite("Operations, exhaustively") struct ExhaustiveOperationsTests {
  @Test func openingOverFlagsKindsAndVolumes() {
    let callers = World.callers(possibly: [World.staff, World.admins])
    var duel = Duel()
    for rules in World.volumes {
      for (kind, flags) in product(World.kinds, World.flags) {
        for mode: UInt16 in [0o644, 0o664, 0o755, 0o000, 0o010] {
          for list in [nil, [AccessEntry(.allow, .group(World.staff), [.append, .execute])]] {
            let item = World.item(kind, mode, flags, list)
            for request in openRequests { duel.put(.open(item, request), by: callers, on: rules) }
          }
        }
      }
    }
    print("opening: \(duel.asked) questions")
  }

  @Test func everyOperationOnEveryKindOfItem() {
    let callers = World.callers(possibly: [World.team, World.admins]) + [Caller(World.bob, World.staff)]
    var duel = Duel()
    for rules in World.volumes {
      for (kind, flags) in product(World.kinds, World.flags) {
        for owner in flags.rawValue.nonzeroBitCount > 1 ? Array(owners.prefix(1)) : owners {
          for list in flags == .hidden || flags == .restricted ? [nil] : lists {
            let item = owner(World.item(kind, 0o664, flags, list))
            for request in Operations.onOne(item) { duel.put(request, by: callers, on: rules) }
          }
        }
      }
    }
    print("operations: \(duel.asked) questions")
  }

  /// Nothing that cannot be read is taken for permission.
  @Test func damagedItems() {
    let callers = World.callers(possibly: [World.team, World.admins])
    var duel = Duel()
    for (rules, record) in product(World.volumes, [Item.Record.damagedList, .damaged]) {
      for (kind, owner) in product(World.kinds, owners) {
        for mode: UInt16 in [0o777, 0o400] {
          var item = owner(World.item(kind, mode))
          item.record = record
          for request in Operations.onOne(item) { duel.put(request, by: callers, on: rules) }
          for asked in World.singleRights { duel.put(.check(item, asked), by: callers, on: rules) }
          for parent in [World.directory(0o777), owner(World.directory(0o1777))] {
            duel.put(.remove(item, parent), by: callers, on: rules)
            var broken = parent
            broken.record = record
            for list in lists {
              let sound = World.item(kind, mode, [], list)
              duel.put(.remove(sound, broken), by: callers, on: rules)
              duel.put(.rename(sound, parent, broken, moves: true, over: item), by: callers, on: rules)
            }
          }
        }
      }
    }
    print("damaged: \(duel.asked) questions")
  }

  @Test func flagChanges() {
    var duel = Duel()
    let sets: [FileFlags] =
      World.flags + [
        .compressed, [.compressed, .userImmutable], .dataless, [.systemImmutable, .hidden], .dataVault,
        FileFlags(rawValue: 0x0100_0000), FileFlags(rawValue: 0x0100_0001),
        [.systemNoUnlink, .userAppendOnly],
      ]
    let callers = World.callers(possibly: [World.team, World.admins])
    for rules in World.volumes {
      for (before, after) in product(sets, sets) {
        for list in lists {
          duel.put(.changeFlags(World.file(0o666, before, list), after), by: callers, on: rules)
        }
      }
    }
    print("flag changes: \(duel.asked) questions")
  }

  private let lists: [[AccessEntry]?] = [
    nil, [], [AccessEntry(.allow, .group(World.team), .genericAll)],
    [AccessEntry(.allow, .user(World.bob), [.takeOwnership, .writeAttributes, .writeSecurity])],
    [AccessEntry(.deny, .everyone, [.writeSecurity, .writeAttributes, .readAttributes])],
    [AccessEntry(.deny, .group(World.team), .write), AccessEntry(.allow, .everyone, .execute)],
  ]

  private var openRequests: [OpenRequest] {
    var all = [OpenRequest(executes: true)]
    for bits in 0..<16 {
      all.append(
        OpenRequest(
          reads: bits & 1 != 0, writes: bits & 2 != 0, appends: bits & 4 != 0, truncates: bits & 8 != 0))
    }
    return all
  }
}

/// The operations on a single object.
enum Operations {
  static func onOne(_ item: Item) -> [Request] {
    var all: [Request] = [
      .stat(item), .truncate(item), .check(item, .checkImmutable), .readExtended(item), .writeExtended(item),
      .touch(item), .stripSetID(item),
      .changeTimes(item), .changeList(item, nil), .changeList(item, item.list),
      .changeList(item, AccessList([AccessEntry(.deny, .nobody, .read)])),
      .open(item, OpenRequest(executes: true)),
    ]
    for mode: UInt16 in [0o600, 0o4755, 0o2755, 0o6755] { all.append(.changeMode(item, Mode(mode))) }
    for mask: UInt8 in 0...7 { all.append(.access(item, AccessMode(rawValue: mask))) }
    for user: UInt32? in [nil, World.alice, World.bob, World.unknown, 0] {
      for group: UInt32? in [nil, World.staff, World.team, World.elsewhere] {
        all.append(.changeOwner(item, OwnerChange(user: user, group: group)))
      }
    }
    for flags: FileFlags in [[], .userImmutable, .hidden, .systemImmutable, .archived] {
      all.append(.changeFlags(item, flags))
    }
    return all
  }
}
