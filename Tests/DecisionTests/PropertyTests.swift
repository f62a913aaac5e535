// Properties that hold for all lists, modes and flags, on random cases.

import AccessControl
import DirectoryModes
import FlagRules
import Randomness
import Testing

@testable import Decisions

@Suite("Properties") struct PropertyTests {
  private static let count = 30_000

  /// Random cases, together with somebody who is not superuser towards anything.
  private func forOrdinaryPeople(
    _ name: String, _ body: (inout Dice, Request, Judge) -> Void
  ) {
    var dice = Dice(for: name)
    var cases = 0
    while cases < PropertyTests.count {
      var rules = dice.rules()
      rules.adminGroup = nil
      let judge = Judge(rules: rules, subject: dice.subject([World.alice, World.bob]))
      body(&dice, dice.request(), judge)
      cases += 1
    }
  }

  @Test func p1PermitsNeverTakeAndDeniesNeverGive() {
    forOrdinaryPeople("property 1") { dice, request, judge in
      guard !request.setsList else { return }
      let before = request.put(to: judge)
      let index = dice.pick(Array(request.items.indices))
      var entry = dice.entry()
      entry.kind = before.isAllowed ? .allow : .deny
      let changed = request.changing(index) { item in
        var list = item.list ?? AccessList()
        let place =
          before.isAllowed ? list.entries.count : Int.random(in: 0...list.entries.count, using: &dice)
        list.entries.insert(entry, at: place)
        item.list = list
      }
      let after = changed.put(to: judge)
      if before.isAllowed != after.isAllowed {
        Issue.record("\(entry) turned \(before) into \(after)\n  \(request)\n  by \(judge)")
      }
    }
  }

  @Test func p2UnionIsAllowedOnlyIfEachRightIs() {
    forOrdinaryPeople("property 2") { dice, request, judge in
      let items = request.items
      let parent = items.count > 1 && items[1].isDirectory ? items[1] : nil
      var asked = dice.rights().union(dice.rights()).intersection(.specific)
      if asked.contains([.takeOwnership, .writeSecurity]) { asked.remove(.writeSecurity) }
      if parent != nil { asked.insert(.delete) } else { asked.remove(.delete) }
      guard judge.check(items[0], asked, removingFrom: parent).isAllowed else { return }
      for right in World.singleRights where asked.contains(right) {
        let alone = judge.check(items[0], right, removingFrom: right == .delete ? parent : nil)
        if !alone.isAllowed {
          Issue.record("\(asked) allowed, \(right) alone \(alone)\n  \(items)\n  by \(judge)")
        }
      }
    }
  }

  @Test func p3EntriesThatSayNothingCanGo() {
    var dice = Dice(for: "property 3")
    for _ in 0..<PropertyTests.count {
      let (request, rules) = (dice.request(), dice.rules())
      guard !request.setsList else { continue }
      var subject = dice.subject()
      if dice.once(in: 3) { subject.groups = .unread }
      let judge = Judge(rules: rules, subject: subject)
      let cleaned = request.replacing(
        request.items.map { item in
          var item = item
          item.list?.entries.removeAll { entry in
            entry.inheritance.contains(.onlyInherit) || entry.identity == .nobody || entry.kind == .audit
              || entry.kind == .alarm
          }
          return item
        })
      let (before, after) = (request.put(to: judge), cleaned.put(to: judge))
      if before.refusal != after.refusal || before.hingesOnUnread != after.hingesOnUnread {
        Issue.record("\(before) became \(after)\n  \(request)\n  by \(judge)")
      }
    }
  }

  @Test func p4RootSeesNeitherListsNorModes() {
    var dice = Dice(for: "property 4")
    for _ in 0..<PropertyTests.count {
      let request = dice.request()
      guard !request.setsList else { continue }
      let judge = Judge(rules: dice.rules(), subject: dice.subject([0]))
      let changed = request.replacing(
        request.items.map { item in
          var item = item
          if dice.once(in: 2) { item.list = dice.list() }
          let mode = Mode(UInt16.random(in: 0...0o7777, using: &dice))
          if mode.hasAnyExecute == item.mode.hasAnyExecute { item.mode = mode }
          return item
        })
      let (before, after) = (request.put(to: judge), changed.put(to: judge))
      if before != after { Issue.record("\(before) became \(after)\n  \(request)\n  \(changed)") }
    }
  }

  @Test func p5FlagsNeverGive() {
    forOrdinaryPeople("property 5") { dice, request, judge in
      guard !request.setsFlags, !request.put(to: judge).isAllowed else { return }
      let index = dice.pick(Array(request.items.indices))
      let flags = dice.pick(World.flags)
      let after = request.changing(index) { $0.flags.formUnion(flags) }.put(to: judge)
      if after.isAllowed { Issue.record("\(flags) allowed it: \(after)\n  \(request)\n  by \(judge)") }
    }
  }

  @Test func p6InheritingTwiceChangesLittle() throws {
    var dice = Dice(for: "property 6")
    for _ in 0..<PropertyTests.count {
      let parent = dice.list()
      let once = try AccessList.inherited(from: parent, forDirectory: true)
      let twice = try AccessList.inherited(from: once, forDirectory: true)
      var unlimited = parent
      unlimited?.entries.removeAll { $0.inheritance.contains(.limitInherit) }
      let expected = try AccessList.inherited(from: unlimited, forDirectory: true)
      if twice != expected { Issue.record("\(parent as Any): \(twice as Any), not \(expected as Any)") }
      // Propagation to a child with a list of its own, once and again.
      let isDirectory = dice.once(in: 2)
      let child = dice.list()
      let first = try propagated(child, from: parent, isDirectory)
      let second = try propagated(first, from: parent, isDirectory)
      if first != second { Issue.record("\(child as Any) below \(parent as Any): \(second as Any)") }
    }
  }

  private func propagated(
    _ list: AccessList?, from parent: AccessList?, _ isDirectory: Bool
  ) throws -> AccessList? {
    let explicit = (list?.entries ?? []).filter { !$0.inheritance.contains(.inherited) }
    return try AccessList.inherited(
      from: parent, forDirectory: isDirectory, initial: explicit.isEmpty ? nil : AccessList(explicit))
  }

  @Test func p7TheOwnerCanAlwaysRemoveTheList() {
    forOrdinaryPeople("property 7") { dice, request, judge in
      guard !judge.rules.isReadOnly else { return }
      var item = request.items[0]
      (item.user, item.ownerGroup) = (judge.subject.user, nil)
      guard item.record != .damaged else { return }
      let verdict = judge.decide(.setList(nil), on: item)
      let isFrozen = item.flags.isImmutable || item.flags.isAppendOnly
      if verdict.isAllowed == isFrozen, item.list != nil {
        Issue.record("\(verdict)\n  \(item)\n  by \(judge)")
      }
    }
  }

  @Test func p8UnlinkAndRenameAwayAgree() {
    forOrdinaryPeople("property 8") { dice, request, judge in
      let (item, parent) = (request.items[0], dice.item(.directory))
      let removal = judge.decide(.remove(directory: item.isDirectory), on: item, in: parent)
      // A link hands no list down, and neither does what moves.
      let arrival = judge.decide(.create(item.isDirectory ? .directory : .symbolicLink), on: parent)
      let scene = Scene(item, in: parent, to: parent)
      let rename = judge.decide(.rename(Rename(changesParent: false)), scene)
      let expected = removal.isAllowed ? arrival.on(.newParent) : removal
      guard parent.record == .sound || !item.isDirectory else { return }
      if rename != expected { Issue.record("\(rename), not \(expected)\n  \(scene)\n  by \(judge)") }
    }
  }

  /// What the kernel may remember for everybody is true for everybody.
  @Test func publicAnswersHoldForEverybody() {
    var dice = Dice(for: "public answers")
    var (searchable, listable, visible) = (0, 0, 0)
    for _ in 0..<PropertyTests.count {
      var item = dice.item(dice.once(in: 2) ? .directory : .file)
      if dice.once(in: 20) { item.content = .foreign }
      let rules = dice.rules()
      let judge = Judge(rules: rules, subject: dice.subject())
      if item.isSearchableByAnyone {
        searchable += 1
        if !judge.decide(.search, on: item).isAllowed {
          Issue.record("not searchable: \(item)\n  by \(judge)")
        }
      }
      if item.isListableByAnyone {
        listable += 1
        if !judge.decide(.list, on: item).isAllowed {
          Issue.record("not listable: \(item)\n  by \(judge)")
        }
      }
      if item.isVisibleToAnyone {
        visible += 1
        if !judge.decide(.readAttributes, on: item).isAllowed {
          Issue.record("not visible: \(item)\n  by \(judge)")
        }
      }
    }
    #expect(searchable > 100 && listable > 100 && visible > 1000)
  }

  /// Everything at once: what no small world puts together.
  @Test func randomCasesAgreeWithTheReference() {
    var dice = Dice(for: "everything at once")
    var duel = Duel()
    for _ in 0..<PropertyTests.count {
      let callers = [
        Caller(
          dice.pick([World.alice, World.bob, 0]), dice.pick([World.staff, World.elsewhere]),
          possibly: [World.staff, World.team, World.admins])
      ]
      duel.put(dice.request(), by: callers, on: dice.rules())
    }
    print("everything at once: \(duel.asked) questions")
  }
}
