// Every reason is true: what a refusal names is what stood in the way, and nothing else did.

import AccessControl
import Decisions
import DirectoryModes
import FlagRules
import Randomness
import Testing

@Suite("Reasons are true") struct TruthTests {
  /// One thing put into the way of an allowed request.
  private enum Obstacle {
    case deny(AccessEntry)
    case flag(FileFlags)
    case sticky
    case noModeBits
    case damage(Item.Record)
    case noPermits
    case readOnly
    case noExecution
  }

  /// Takes a random request that is allowed and puts one thing in its way; the refusal has to name that thing.
  @Test func theOneThingInTheWayIsNamed() {
    var dice = Dice(for: "truth")
    var named: [String: Int] = [:]
    var cases = 0
    while cases < 30_000 {
      var rules = dice.rules()
      rules.adminGroup = nil
      let subject = dice.subject([World.alice, World.bob, World.bob, 0])
      let request = dice.request()
      guard !request.takesOneOfSeveralRights,
        request.put(to: Judge(rules: rules, subject: subject)).isAllowed
      else { continue }
      cases += 1
      let index = dice.pick(Array(request.items.indices))
      let obstacle = obstacle(&dice)
      var blocked = rules
      let hindered = put(obstacle, in: request, at: index, &blocked)
      let verdict = hindered.put(to: Judge(rules: blocked, subject: subject))
      guard !verdict.isAllowed else { continue }
      // A change of flags or of the list is worked out against what is there: this is another question.
      if hindered.setsFlags, case .flag = obstacle { continue }
      if hindered.setsList { continue }
      named["\(obstacle)".prefix { $0.isLetter }.description, default: 0] += 1
      var isRightObject = blocked != rules || verdict.role == request.roles[index]
      // Behind the item's own list stands its parent.
      if case .noPermits = obstacle { isRightObject = true }
      if !isRightObject || !names(verdict, obstacle) {
        Issue.record("\(obstacle) on \(request.roles[index]) gave \(verdict)\n  \(request)\n  by \(subject)")
      }
    }
    print("obstacles that refused: \(named)")
    #expect(named.count == 8)
  }

  private func obstacle(_ dice: inout Dice) -> Obstacle {
    switch Int.random(in: 0..<8, using: &dice) {
    case 0: .deny(AccessEntry(.deny, .everyone, [.genericAll, .takeOwnership]))
    case 1: .flag(dice.pick([.userImmutable, .systemImmutable, .userAppendOnly, .systemNoUnlink]))
    case 2: .sticky
    case 3: .noModeBits
    case 4: .damage(dice.pick([.damaged, .damagedList]))
    case 5: .noPermits
    case 6: .readOnly
    default: .noExecution
    }
  }

  private func put(
    _ obstacle: Obstacle, in request: Request, at index: Int, _ rules: inout VolumeRules
  ) -> Request {
    switch obstacle {
    case .deny(let entry):
      return request.changing(index) { $0.list = AccessList([entry] + ($0.list?.entries ?? [])) }
    case .flag(let flag): return request.changing(index) { $0.flags.insert(flag) }
    case .sticky: return request.changing(index) { $0.mode = Mode($0.mode.bits | 0o1000) }
    case .noModeBits: return request.changing(index) { $0.mode = Mode($0.mode.bits & 0o1000) }
    case .damage(let record): return request.changing(index) { $0.record = record }
    case .noPermits: return request.changing(index) { $0.list?.entries.removeAll { $0.kind == .allow } }
    case .readOnly: rules.isReadOnly = true
    case .noExecution: rules.forbidsExecution = true
    }
    return request
  }

  private func names(_ verdict: Verdict, _ obstacle: Obstacle) -> Bool {
    switch (obstacle, verdict.reason) {
    case (.deny, .entry(0)), (.sticky, .sticky), (.readOnly, .readOnlyVolume),
      (.noExecution, .executionForbidden), (.damage(.damaged), .damagedRecord),
      (.damage(.damagedList), .damagedList), (.noModeBits, .modeBits), (.noModeBits, .noExecuteBit):
      true
    case (.flag(let flag), .flag(let named)): named.contains(flag)
    // Without its permits, the list or the mode bits or the sticky bit behind it decide.
    case (.noPermits, .entry), (.noPermits, .damagedList), (.noPermits, .modeBits),
      (.noPermits, .noEntryGrants), (.noPermits, .sticky):
      true
    default: false
    }
  }

  /// Takes random refusals apart: whatever is named is removed until the request is allowed.
  @Test func removingWhatIsNamedLeadsToYes() {
    var dice = Dice(for: "remedies")
    var (refused, remedied) = (0, 0)
    while refused < 20_000 {
      var puzzle = Remedy(request: dice.request(), rules: dice.rules(), subject: dice.subject())
      guard !puzzle.verdict.isAllowed, puzzle.verdict.obstacle == nil else { continue }
      refused += 1
      var steps = 0
      while !puzzle.verdict.isAllowed, steps < 60 {
        let before = puzzle
        guard puzzle.removeCause() else { break }
        steps += 1
        if puzzle.isSame(as: before) {
          Issue.record("removing what \(before.verdict) names removes nothing\n  \(before.request)")
          break
        }
      }
      if puzzle.verdict.isAllowed {
        remedied += 1
      } else if !puzzle.isHopeless {
        Issue.record(
          "still \(puzzle.verdict) after \(steps) steps\n  \(puzzle.request)\n  by \(puzzle.subject)")
      }
    }
    #expect(remedied > refused / 2)
  }

  /// Refusals by policy, each with the one change that lifts it.
  @Test func policiesAreNamed() {
    let file = World.file()
    let owner = Subject(user: World.alice, group: World.staff, groups: .listed([]))
    let stranger = Subject(user: World.bob, group: World.elsewhere, groups: .listed([]))
    let root = Subject(user: 0, group: 0, groups: .listed([]))
    func by(_ subject: Subject, level: Int = 0) -> Judge {
      var rules = VolumeRules()
      rules.secureLevel = level
      return Judge(rules: rules, subject: subject)
    }
    func owned(_ user: UInt32?, _ group: UInt32?, _ subject: Subject) -> Verdict {
      by(subject).decide(.setOwner(OwnerChange(user: user, group: group)), on: file)
    }
    #expect(owned(World.bob, nil, owner) == .refused(.notPermitted, .giveAway))
    #expect(owned(World.bob, nil, root).isAllowed)
    #expect(owned(nil, World.team, owner) == .refused(.notPermitted, .notMemberOfGroup(World.team)))
    #expect(owned(nil, World.team, root).isAllowed)
    var member = owner
    member.groups = .listed([World.team])
    #expect(owned(nil, World.team, member).isAllowed)
    #expect(owned(World.bob, nil, stranger) == .refused(.notPermitted, .noEntryGrants(.takeOwnership)))
    #expect(owned(World.alice, nil, stranger) == .refused(.notPermitted, .noEntryGrants(.writeSecurity)))

    let generous = World.file(
      0o644, [], [AccessEntry(.allow, .everyone, [.writeSecurity, .writeAttributes])])
    #expect(by(stranger).decide(.setMode(Mode(0o4755)), on: generous) == .refused(.notPermitted, .notOwner))
    #expect(by(stranger).decide(.setMode(Mode(0o755)), on: generous).isAllowed)
    #expect(by(owner).decide(.setMode(Mode(0o4755)), on: generous).isAllowed)
    #expect(by(stranger).decide(.setTimes, on: generous) == .refused(.notPermitted, .notOwner))
    #expect(by(owner).decide(.setTimes, on: generous).isAllowed)

    let (lock, unlock) = (Decisions.Operation.setFlags(.systemImmutable), Decisions.Operation.setFlags([]))
    #expect(by(owner).decide(lock, on: file) == .refused(.notPermitted, .needsRoot(.systemImmutable)))
    #expect(by(root).decide(lock, on: file).isAllowed)
    let locked = World.file(0o644, [.systemImmutable, .systemNoUnlink])
    #expect(
      by(root, level: 1).decide(unlock, on: locked) == .refused(.notPermitted, .secureLevel(.systemImmutable))
    )
    #expect(by(root).decide(unlock, on: locked).isAllowed)
    let kept = World.file(0o644, .systemNoUnlink)
    #expect(
      by(root, level: 1).decide(unlock, on: kept) == .refused(.notPermitted, .secureLevel(.systemNoUnlink)))

    func link(_ item: Item, _ subject: Subject) -> Verdict {
      by(subject).decide(.link(protectsLinks: { true }), Scene(item, to: World.directory(0o777)))
    }
    #expect(link(World.directory(), root).reason == .linkToDirectory)
    #expect(link(World.file(0o604), stranger).reason == .protectedLink)
    #expect(link(World.file(0o606), stranger).isAllowed)
    #expect(link(World.file(0o4606), stranger).reason == .protectedLink)
    #expect(link(World.item(.special, 0o606), stranger).reason == .protectedLink)
    #expect(by(owner).decide(.create(.device), on: World.directory(0o777)).reason == .deviceNeedsRoot)
    #expect(by(root).decide(.create(.device), on: World.directory()).isAllowed)
    #expect(
      by(root).decide(.open(OpenRequest(executes: true)), on: file) == .refused(.accessDenied, .noExecuteBit))
    #expect(by(root).decide(.open(OpenRequest(executes: true)), on: World.file(0o100)).isAllowed)
  }
}

/// A refusal being taken apart.
private struct Remedy {
  var request: Request
  var rules: VolumeRules
  var subject: Subject

  var verdict: Verdict { request.put(to: Judge(rules: rules, subject: subject)) }

  func isSame(as other: Remedy) -> Bool {
    verdict == other.verdict && request.items == other.request.items && rules == other.rules
      && subject == other.subject
  }

  /// Policies that have no cause which could be taken away.
  var isHopeless: Bool {
    switch verdict.reason {
    case .linkToDirectory, .protectedLink, .sharedOwner, .giveAway, .needsRoot, .notMemberOfGroup, .notOwner,
      .noEntryGrants, .deviceNeedsRoot, .secureLevel, .noExecuteBit, .obstacle:
      true
    default: false
    }
  }

  /// Removes what the verdict names; `false` where that is not one thing.
  mutating func removeCause() -> Bool {
    let verdict = verdict
    switch verdict.reason {
    case .readOnlyVolume: rules.isReadOnly = false
    case .executionForbidden: rules.forbidsExecution = false
    case .entry(let index):
      change(verdict.role) { item in
        // An entry that is not there is found out by the comparison with what was before.
        if item.list?.entries.indices.contains(index) ?? false { item.list?.entries.remove(at: index) }
      }
    case .flag(let flags): change(verdict.role) { $0.flags.subtract(flags) }
    case .sticky: change(verdict.role) { $0.mode = $0.mode.without(Mode.sticky) }
    case .damagedRecord, .damagedList: change(verdict.role) { $0.record = .sound }
    case .modeBits(let name, let asked):
      let shift: UInt16 =
        switch name {
        case .owner: 6
        case .group: 3
        case .other: 0
        }
      #expect(!asked.isEmpty)
      change(verdict.role) { $0.mode = Mode($0.mode.bits | 7 << shift) }
    case .noExecuteBit:
      guard request.items[0].kind == .file else { return false }
      change(verdict.role) { $0.mode = Mode($0.mode.bits | 0o111) }
    case .notMemberOfGroup(let group): subject.group = group
    default: return false
    }
    return true
  }

  private mutating func change(_ role: ObjectRole, _ body: (inout Item) -> Void) {
    guard let index = request.roles.firstIndex(of: role), index < request.items.count else { return }
    request = request.changing(index, body)
  }
}
