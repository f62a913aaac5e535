// What becomes of POSIX lists when they are imported, against an obvious reading of POSIX.1e.

import AccessControl
import DirectoryModes
import Testing

@testable import Decisions

@Suite("Importing POSIX lists") struct PosixImportTests {
  private static let teams: [UInt32] = [World.team, World.admins]

  /// Who asks: how they stand to the item.
  private struct Asker {
    var isOwner: Bool
    var groups: [UInt32]
    let judge: Judge

    init(isOwner: Bool, _ groups: [UInt32]) {
      (self.isOwner, self.groups) = (isOwner, groups)
      // The owner is the one who is named, too: nothing that is said about them by name may count.
      judge = Judge(
        rules: VolumeRules(),
        subject: Subject(
          user: isOwner ? World.alice : World.bob, group: World.elsewhere, groups: .listed(groups)))
    }
  }

  private static let askers: [Asker] = [false, true].flatMap { isOwner in
    (0..<8).map { set in
      Asker(
        isOwner: isOwner,
        [World.staff, World.team, World.admins].enumerated().filter { set >> $0.offset & 1 == 1 }.map(
          \.element))
    }
  }

  /// POSIX.1e, word by word: the first class that is about the caller; of groups any that has all that is asked.
  private static func grants(_ list: PosixList, _ asker: Asker, _ asked: UInt8) -> Bool {
    func has(_ bits: UInt8) -> Bool { bits & asked == asked }
    let mask = list.mask ?? 7
    if asker.isOwner { return has(list.owner) }
    if let bits = list.users[World.bob] { return has(bits & mask) }
    var groups: [UInt8] = []
    if asker.groups.contains(World.staff) { groups.append(list.group) }
    groups += teams.filter { asker.groups.contains($0) }.compactMap { list.groups[$0] }
    guard !groups.isEmpty else { return has(list.other) }
    return groups.contains { has($0 & mask) }
  }

  /// What a bit of a mode stands for, all of it and the part that is asked for most.
  private static func requests(_ bits: UInt8, _ kind: ObjectKind) -> [Rights] {
    var core: Rights = []
    if bits & 4 != 0 { core.insert(.read) }
    if bits & 2 != 0 { core.insert(.write) }
    if bits & 1 != 0 { core.insert(.execute) }
    var all = core
    if bits & 4 != 0 { all.insert(.readExtended) }
    if bits & 2 != 0 { all.formUnion([.append, .writeExtended, .writeAttributes]) }
    if bits & 2 != 0, kind == .directory { all.insert(.deleteChild) }
    return [core, all]
  }

  private struct Tally {
    var asked = 0
    var less = 0
  }

  /// Asks everybody everything; what is granted must be granted by POSIX, and the other way round if it can be said.
  private static func compare(_ list: PosixList, _ kind: ObjectKind, _ tally: inout Tally) throws {
    let lists = PosixLists(access: list.isExtended ? list : nil)
    let entries = try lists.imported(into: nil, for: kind, isSticky: false)
    let item = World.item(kind == .directory ? .directory : .file, list.modeBits, [], entries?.entries)
    for asker in askers {
      for asked in UInt8(1)...7 {
        let wanted = grants(list, asker, asked)
        for rights in requests(asked, kind) {
          let granted = asker.judge.check(item, rights).isAllowed
          tally.asked += 1
          if granted == wanted { continue }
          if granted { return say("grants more", list, asker, asked, entries) }
          tally.less += 1
          if !list.hasRivalGroups { return say("grants less", list, asker, asked, entries) }
        }
      }
    }
  }

  private static func say(
    _ what: String, _ list: PosixList, _ asker: Asker, _ asked: UInt8, _ entries: AccessList?
  ) {
    Issue.record(
      "\(what): \(list.lines), \(asker.isOwner ? "owner" : "other") in \(asker.groups) asks \(asked), of \(String(describing: entries?.entries))"
    )
  }

  @Test("Lists with users: nobody gets more, and everybody as much, for every mode, entry and mask")
  func users() throws {
    var tally = Tally()
    for owner in UInt8(0)...7 {
      for user in UInt8(0)...7 {
        for group in UInt8(0)...7 {
          for mask in UInt8(0)...7 {
            for other: UInt8 in [0, 1, 4, 6, 7] {
              try Self.compare(
                PosixList(
                  owner: owner, users: [World.bob: user, World.alice: ~user & 7], group: group, mask: mask,
                  other: other),
                (owner + user) % 2 == 0 ? .file : .directory, &tally)
            }
          }
        }
      }
    }
    #expect(tally.asked > 1_000_000 && tally.less == 0)
  }

  @Test(
    "Lists with groups: nobody gets more, and less only who is in groups of which neither has all of the other"
  )
  func groups() throws {
    var tally = Tally()
    for group in UInt8(0)...7 {
      for team in UInt8(0)...7 {
        for admins in UInt8(0)...7 {
          for mask in UInt8(0)...7 {
            for (owner, other, user): (UInt8, UInt8, UInt8?) in [(6, 0, nil), (0, 7, nil), (5, 4, 3)] {
              try Self.compare(
                PosixList(
                  owner: owner, users: user.map { [World.bob: $0, World.alice: 7] } ?? [:], group: group,
                  groups: [World.team: team, World.admins: admins], mask: mask, other: other),
                (team + admins) % 2 == 0 ? .file : .directory, &tally)
            }
          }
        }
      }
    }
    #expect(tally.asked > 1_000_000 && tally.less > 0)
  }

  @Test("A list without users and groups becomes a mode alone") func maskAlone() throws {
    let list = PosixList(owner: 6, group: 7, mask: 4, other: 0)
    #expect(list.modeBits == 0o640 && list.shownModeBits == 0o640)
    #expect(try PosixLists(access: list).imported(into: nil, for: .file, isSticky: false) == nil)
    #expect(PosixList(owner: 7, group: 5, mask: 7, other: 0).modeBits == 0o750)
  }

  @Test("In a sticky directory an entry lets nobody delete what belongs to others") func sticky() throws {
    let list = PosixList(
      owner: 7, users: [World.bob: 7], group: 7, groups: [World.team: 7], mask: 7, other: 7)
    let entries = try PosixLists(access: list).imported(into: nil, for: .directory, isSticky: true)
    let directory = World.item(.directory, 0o1777, [], entries?.entries)
    let bob = Judge(
      rules: VolumeRules(), subject: Subject(user: World.bob, group: World.team, groups: .listed([])))
    let foreign = World.file(0o666)
    let own = World.file(0o666, owner: World.bob)
    #expect(!bob.decide(.remove(directory: false), on: foreign, in: directory).isAllowed)
    #expect(bob.decide(.remove(directory: false), on: own, in: directory).isAllowed)
    let plain = try PosixLists(access: list).imported(into: nil, for: .directory, isSticky: false)
    let open = World.item(.directory, 0o777, [], plain?.entries)
    #expect(bob.decide(.remove(directory: false), on: foreign, in: open).isAllowed)
  }

  /// A program makes files with 0666 and directories with 0777; the umask takes of the mode, which POSIX ignores here.
  @Test("What is made in a directory with a default list grants no more than the list did") func made() throws
  {
    var tally = Tally()
    for group in UInt8(0)...7 {
      for user in UInt8(0)...7 {
        for team in UInt8(0)...7 {
          for (mask, other): (UInt8, UInt8) in [(7, 0), (7, 5), (5, 4), (6, 7)] {
            for owner: UInt8 in [7, 6, 4] {
              let list = PosixList(
                owner: owner, users: [World.bob: user, World.alice: 2], group: group,
                groups: [World.team: team], mask: mask,
                other: other)
              try Self.compareMade(list, &tally)
            }
          }
        }
      }
    }
    #expect(tally.asked > 500_000)
  }

  private static func compareMade(_ list: PosixList, _ tally: inout Tally) throws {
    let above = try PosixLists(initial: list).imported(into: nil, for: .directory, isSticky: false)
    for kind in [ObjectKind.file, .directory] {
      let entries = try AccessList.inherited(from: above, forDirectory: kind == .directory)
      let made: UInt8 = kind == .directory ? 7 : 6
      var effective = list
      effective.owner &= made
      effective.mask = (list.mask ?? 7) & made
      effective.other &= made
      for umask: UInt16 in [0o022, 0o000] {
        let mode = UInt16(made) << 6 | UInt16(made) << 3 | UInt16(made)
        let item = World.item(kind == .directory ? .directory : .file, mode & ~umask, [], entries?.entries)
        for asker in askers {
          for asked in UInt8(1)...7 {
            for rights in requests(asked, kind) {
              tally.asked += 1
              guard asker.judge.check(item, rights).isAllowed, !grants(effective, asker, asked) else {
                continue
              }
              return say(
                "what is made with \(String(mode & ~umask, radix: 8)) grants more", list, asker, asked,
                entries)
            }
          }
        }
      }
    }
  }

  @Test("Imported twice it is the same, and what an item has stays in front") func twice() throws {
    let list = PosixList(owner: 6, users: [World.bob: 4], group: 6, mask: 4, other: 0)
    let lists = PosixLists(access: list, initial: list)
    let own = AccessEntry(.deny, .user(World.bob), .read)
    let above = AccessEntry(.allow, .everyone, .read, .inherited)
    let once = try lists.imported(into: AccessList([own, above]), for: .directory, isSticky: false)
    #expect(once?.entries.first == own && once?.entries.last == above && (once?.entries.count ?? 0) > 4)
    #expect(try lists.imported(into: once, for: .directory, isSticky: false) == once)
    let full = AccessList(Array(repeating: own, count: AccessList.entryLimit))
    #expect(throws: TooManyEntries.self) { try lists.imported(into: full, for: .directory, isSticky: false) }
  }

  @Test("Bytes and text are read as they are written, and nothing else is") func forms() throws {
    let list = PosixList(owner: 7, users: [1000: 6, 5: 4], group: 5, groups: [50: 7], mask: 6, other: 1)
    #expect(PosixList(bytes: list.bytes) == list)
    #expect(list.bytes.count == 4 + 7 * 8)
    let lists = PosixLists(access: list, initial: PosixList(owner: 7, group: 5, other: 0))
    #expect(
      lists.text
        == "user::rwx,user:5:r--,user:1000:rw-,group::r-x,group:50:rwx,mask::rw-,other::--x,default:user::rwx,"
        + "default:group::r-x,default:other::---")
    #expect(PosixLists(lists.text) == lists)
    #expect(PosixLists("") == PosixLists())
    for text in [
      "user::rw", "user::rwz", "user::rwx,group::r-x", "user::rwx,user:5:r--,group::r-x,other::---",
      "user::rwx,user::rwx,group::r-x,mask::rwx,other::---", "user::rwx,group::r-x,other::---",
      "user::rwx,user:-1:r--,group::r-x,mask::rwx,other::---",
      "user::rwx,user:4294967295:r--,group::r--,mask::r--,other::r--",
      "default:user::rwx", ",", "mask::rwx",
    ] {
      #expect(PosixLists(text) == nil, "\(text)")
    }
    var damaged = 0
    for index in list.bytes.indices {
      var bytes = list.bytes
      bytes[index] ^= 0x80
      if PosixList(bytes: bytes) != list { damaged += 1 }
    }
    #expect(damaged == list.bytes.count - 4 * 4)
    for count in 0..<list.bytes.count where count % 8 != 4 {
      #expect(PosixList(bytes: Array(list.bytes.prefix(count))) == nil)
    }
  }
}
