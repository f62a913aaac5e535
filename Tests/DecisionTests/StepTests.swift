// What `varve why` tells, step by step, and what an operation is answered are one decision.

import AccessControl
import Decisions
import DirectoryModes
import FlagRules
import Randomness
import Testing

/// The operations, and nothing else about them.
private enum Asked: CaseIterable {
  case open, run, list, search, access, readAttributes, readRecord, readList, readExtended, writeExtended
  case truncate, setMode, keepMode, stripSetID, stripNothing, setOwner, setOwnerGroup, touch, setTimes
  case setFlags, setList, setOtherList, setClass, setCompressed, lookUp, handDown, create, takeNames
  case changeView, find, remove, link, rename

  /// The compiler asks for an operation that is new, and then a test misses it among those that are made up.
  init(_ operation: Decisions.Operation) {
    self =
      switch operation {
      case .open: .open
      case .run: .run
      case .list: .list
      case .search: .search
      case .access: .access
      case .readAttributes: .readAttributes
      case .readRecord: .readRecord
      case .readList: .readList
      case .readExtended: .readExtended
      case .writeExtended: .writeExtended
      case .truncate: .truncate
      case .setMode: .setMode
      case .keepMode: .keepMode
      case .stripSetID: .stripSetID
      case .stripNothing: .stripNothing
      case .setOwner: .setOwner
      case .setOwnerGroup: .setOwnerGroup
      case .touch: .touch
      case .setTimes: .setTimes
      case .setFlags: .setFlags
      case .setList: .setList
      case .setOtherList: .setOtherList
      case .setClass: .setClass
      case .setCompressed: .setCompressed
      case .lookUp: .lookUp
      case .handDown: .handDown
      case .create: .create
      case .takeNames: .takeNames
      case .changeView: .changeView
      case .find: .find
      case .remove: .remove
      case .link: .link
      case .rename: .rename
      }
  }
}

@Suite("Steps of a decision") struct StepTests {
  /// Every operation, with random values.
  private func operations(_ dice: inout Dice, on item: Item) -> [Decisions.Operation] {
    let mode = Mode(UInt16.random(in: 0...0o7777, using: &dice))
    let owner = OwnerChange(
      user: dice.pick([nil, World.alice, World.bob]), group: dice.pick([nil, World.staff, World.team]))
    let request = OpenRequest(
      reads: dice.once(in: 2), writes: dice.once(in: 2), appends: dice.once(in: 3),
      truncates: dice.once(in: 4), executes: dice.once(in: 5), wantsBytes: !dice.once(in: 8))
    let isProtected = dice.once(in: 2)
    var rename = Rename(changesParent: dice.once(in: 2))
    (rename.exchanges, rename.mayReplace) = dice.pick([(false, true), (false, false), (true, true)])
    rename.leadsIntoItself = dice.once(in: 9)
    return [
      .open(request), .run, .list, .search,
      .access(AccessMode(rawValue: UInt8.random(in: 0...7, using: &dice))),
      .readAttributes, .readRecord, .readList, .readExtended, .writeExtended,
      .truncate(throughHandle: dice.once(in: 2)), .setMode(mode), .keepMode,
      .stripSetID(isOpenForWriting: dice.once(in: 4)), .stripNothing,
      .setOwner(owner, looksFirst: dice.once(in: 2)), .setOwnerGroup(dice.pick([World.staff, World.team])),
      .touch, .setTimes, .setFlags(dice.once(in: 3) ? item.flags : dice.pick(World.flags)),
      .setList(dice.once(in: 3) ? item.list : dice.list()), .setOtherList,
      .setClass(dice.once(in: 4) ? nil : dice.pick(ProtectionClass.allCases)),
      .setCompressed(dice.once(in: 2)), .lookUp, .handDown,
      .create(dice.pick([.file, .pipe, .directory, .symbolicLink, .device])), .takeNames, .changeView, .find,
      .remove(directory: dice.once(in: 2)), .link(protectsLinks: { isProtected }), .rename(rename),
    ]
  }

  private func scene(_ dice: inout Dice) -> Scene {
    Scene(
      dice.storedItem(dice.pick(World.kinds)), in: dice.once(in: 2) ? dice.storedItem(.directory) : nil,
      to: dice.once(in: 2) ? dice.storedItem(.directory) : nil,
      over: dice.once(in: 2) ? dice.storedItem(dice.pick(World.kinds)) : nil, carriesRecord: !dice.once(in: 4)
    )
  }

  private func rules(_ dice: inout Dice) -> VolumeRules {
    var rules = dice.rules()
    rules.keys = dice.keys()
    rules.lacksLock = rules.isReadOnly && dice.once(in: 3)
    return rules
  }

  @Test(
    "All refusals begin with the one that is met, repeat none, and end with consent or with one without remedy"
  )
  func everyRefusal() {
    var dice = Dice(for: "refusals")
    var (refused, liftable) = (0, 0)
    var longest = 0
    for _ in 0..<3_000 {
      let scene = scene(&dice)
      let judge = Judge(rules: rules(&dice), subject: dice.subject())
      for operation in operations(&dice, on: scene.item) {
        let verdict = judge.decide(operation, scene)
        let refusals = judge.refusals(operation, scene)
        guard !verdict.isAllowed else {
          if !refusals.isEmpty { Issue.record("\(operation) is allowed, and \(refusals)") }
          continue
        }
        refused += 1
        longest = max(longest, refusals.count)
        if refusals.last?.remedy != nil { liftable += 1 }
        let isSound =
          refusals.first?.verdict == verdict && refusals.dropLast().allSatisfy { $0.remedy != nil }
          && Set(refusals).count == refusals.count && refusals.count < 64
        if !isSound { Issue.record("\(operation) of \(scene): \(verdict), \(refusals)") }
      }
    }
    #expect(refused > 10_000 && liftable > 5_000 && longest > 3)
  }

  @Test("Commands that take entries away count among those that are left by then") func removedEntries() {
    var item = World.file(0o600)
    item.list = AccessList([
      AccessEntry(.allow, .user(9), .read), AccessEntry(.deny, .everyone, .read),
      AccessEntry(.deny, .everyone, .read), AccessEntry(.deny, .user(9), .read),
    ])
    let judge = Judge(
      rules: VolumeRules(),
      subject: Subject(user: World.bob, group: 7, groups: .listed([]), capabilities: nil))
    let refusals = judge.refusals(.open(OpenRequest(reads: true)), Scene(item))
    #expect(refusals.map(\.remedy) == [.removeEntry(index: 1), .removeEntry(index: 1), .grant(.read)])
    #expect(refusals.map(\.verdict.reason).prefix(2) == [.entry(index: 1), .entry(index: 2)])
  }

  @Test("The verdict of an operation is its first step that refuses") func stepsAndVerdict() {
    var dice = Dice(for: "steps")
    var (cases, refused) = (0, 0)
    var obstacles: Set<Decisions.Obstacle> = []
    var (reasons, seen): (Set<Reason>, Set<Asked>) = ([], [])
    for _ in 0..<5_000 {
      let scene = scene(&dice)
      var subject = dice.subject()
      if dice.once(in: 4) { subject.groups = .unread }
      let judge = Judge(rules: rules(&dice), subject: subject)
      for operation in operations(&dice, on: scene.item) {
        var steps: [Step] = []
        let verdict = judge.decide(operation, scene) { steps.append($0) }
        cases += 1
        if !verdict.isAllowed { refused += 1 }
        seen.insert(Asked(operation))
        if let obstacle = verdict.obstacle { obstacles.insert(obstacle) }
        if !verdict.isAllowed { reasons.insert(verdict.reason) }
        let isTold = steps.last?.verdict == verdict && steps.dropLast().allSatisfy(\.verdict.isAllowed)
        // The ways without a scene are for these.
        let isShort = scene.newParent == nil && scene.victim == nil && scene.carriesRecord
        let short = judge.decide(operation, on: scene.item, in: scene[.parent])
        let alone = scene.parent == nil ? judge.decide(operation, on: scene.item) : short
        if !isTold || judge.decide(operation, scene) != verdict
          || isShort && (short != verdict || alone != verdict)
        {
          Issue.record("\(operation): \(verdict) but \(steps)\n  \(scene)\n  by \(judge)")
        }
      }
    }
    print("steps: \(cases) cases, \(refused) refused")
    #expect(cases >= 100_000 && refused > cases / 5 && refused < cases * 4 / 5)
    #expect(seen == Set(Asked.allCases))
    // The others are met while the objects are looked for.
    #expect(obstacles.count == 11)
    let rare: Set<Reason> = [
      .unconfirmedLock, .foreignContent, .replacedContent, .encryptedContent, .noKeybag, .unmarked,
      .protectingDirectory,
      .shownNames, .locked(.complete), .locked(.completeUnlessOpen), .locked(.untilFirstUnlock),
    ]
    #expect(rare.subtracting(reasons).isEmpty)
  }

  @Test("What the kernel would be told where no rule refuses, or none is asked") func obstacles() {
    let (file, folder) = (World.file(0o777), World.directory(0o777))
    let (link, pipe) = (World.item(.symbolicLink, 0o777), World.item(.special, 0o666))
    let over = Scene(file, in: folder, to: folder, over: file)
    let plain = Rename(changesParent: true)
    func with(_ change: (inout Rename) -> Void) -> Decisions.Operation {
      var rename = plain
      change(&rename)
      return .rename(rename)
    }
    let swap = with { $0.exchanges = true }
    let list = AccessList([AccessEntry(.allow, .user(World.bob), .read)])
    let rows: [(Decisions.Operation, Scene, Decisions.Obstacle?)] = [
      (.open(OpenRequest(reads: true)), Scene(folder), .isDirectory),
      (.open(OpenRequest(reads: true)), Scene(pipe), .notOpenable),
      (.list, Scene(file), .notDirectory),
      (.search, Scene(file), .notDirectory),
      (.truncate(throughHandle: false), Scene(folder), .isDirectory),
      (.truncate(throughHandle: true), Scene(pipe), .notFile),
      (.setMode(Mode(0o700)), Scene(link), .linkMode),
      (.setOwnerGroup(World.team), Scene(link, carriesRecord: false), .noRecord),
      (.setFlags(.hidden), Scene(link, carriesRecord: false), .noRecord),
      (.setFlags([]), Scene(link, carriesRecord: false), nil),
      (.setList(list), Scene(link, carriesRecord: false), .noRecord),
      (.remove(directory: true), Scene(file, in: folder), .notDirectory),
      (.remove(directory: false), Scene(folder, in: folder), .isDirectory),
      (.link(protectsLinks: { true }), Scene(file, to: folder, over: file), .taken),
      (with { $0.mayReplace = false }, over, .taken),
      (.rename(plain), over, nil),
      (.rename(plain), Scene(file, in: folder, to: folder, over: folder), .replacesDirectory),
      (.rename(plain), Scene(folder, in: folder, to: folder, over: file), .notDirectory),
      (swap, Scene(folder, in: folder, to: folder, over: file), nil),
      (swap, Scene(file, in: folder, to: folder), .missing),
      (with { $0.leadsIntoItself = true }, Scene(folder, in: folder, to: folder), .intoItself),
    ]
    let judge = Judge(
      rules: VolumeRules(),
      subject: Subject(user: World.alice, group: World.staff, groups: .listed([World.team])))
    for (operation, scene, obstacle) in rows {
      let verdict = judge.decide(operation, scene)
      #expect(
        verdict.obstacle == obstacle && verdict.isAllowed == (obstacle == nil), "\(operation): \(verdict)")
    }
  }

  @Test("Without lists a list is refused to all alike, but for one that is there and may be read")
  func withoutLists() {
    var rules = VolumeRules()
    rules.usesLists = false
    let list = AccessList([AccessEntry(.deny, .user(World.bob), .readAttributes)])
    let item = World.file(0o600, [], list.entries)
    let bob = Judge(rules: rules, subject: Subject(user: World.bob, group: World.team, groups: .listed([])))
    #expect(bob.decide(.setList(list), Scene(item)).isAllowed)
    #expect(bob.decide(.setOtherList, Scene(item)).obstacle == .noLists)
    var damaged = item
    damaged.record = .damaged
    #expect(bob.decide(.setList(list), Scene(damaged)).obstacle == .noLists)
    #expect(bob.decide(.setList(nil), Scene(item)).refusal == .notPermitted)
    rules.isReadOnly = true
    #expect(Judge(rules: rules, subject: bob.subject).decide(.setOtherList, Scene(item)).refusal == .readOnly)
  }
}
