// An NFSv4 list that is set decides as it reads: whatever of it becomes the mode, or is not stored because the mode
// says it already, nobody gets more or less than by the entries as they were written.

import AccessControl
import DirectoryModes
import Randomness
import Testing

@testable import Decisions

@Suite("Decisions by NFSv4 lists") struct NFSv4DecisionTests {
  static let rights: [Rights] = [
    .read, .write, .execute, .append, .delete, .deleteChild, .readAttributes, .writeAttributes, .readExtended,
    .writeExtended, .readSecurity, .writeSecurity, .takeOwnership, [.read, .write], [.write, .deleteChild],
  ]

  static let subjects = [
    Subject(user: 1, group: 1, groups: .listed([1])), Subject(user: 1, group: 2, groups: .listed([2])),
    Subject(user: 2, group: 2, groups: .listed([2])), Subject(user: 3, group: 3, groups: .listed([3])),
  ]

  /// A directory of user 1 and group 2.
  private func verdicts(_ list: AccessList?, _ mode: UInt16) -> [Bool] {
    var rules = VolumeRules()
    rules.usesLists = true
    let item = Item(kind: .directory, user: 1, group: 2, mode: Mode(mode), list: list)
    let above = Item(kind: .directory, user: 9, group: 9, mode: Mode(0o755))
    let (mine, foreign) = (
      Item(kind: .file, user: 3, group: 3, mode: Mode(0)), Item(kind: .file, user: 9, group: 9, mode: Mode(0))
    )
    return Self.subjects.flatMap { subject in
      let judge = Judge(rules: rules, subject: subject)
      return Self.rights.map { judge.check(item, $0).isAllowed } + [
        judge.decide(.remove(directory: true), on: item, in: above).isAllowed,
        judge.decide(.remove(directory: false), on: mine, in: item).isAllowed,
        judge.decide(.remove(directory: false), on: foreign, in: item).isAllowed,
      ]
    }
  }

  @Test("Leaving out what the mode says changes no decision", arguments: [91, 92, 93] as [UInt64])
  func repetition(seed: UInt64) throws {
    var dice = Dice(seed: seed)
    var leftOut = 0
    for round in 0..<4_000 {
      // Mostly modes in which no class holds less than a later one: only there anything is left out.
      let usual: [UInt16] = [0o755, 0o750, 0o700, 0o775, 0o770, 0o777, 0o1777, 0o640, 0o644, 0]
      let mode =
        Int.random(in: 0..<4, using: &dice) > 0
        ? usual.randomElement(using: &dice) ?? 0 : UInt16.random(in: 0...0o1777, using: &dice)
      let pattern = try NFSv4List.decode(
        NFSv4List.encode(nil, mode: mode, for: .directory, names: .numeric), names: .numeric)
      var entries: [AccessEntry] = (0..<Int.random(in: 0...3, using: &dice)).map { _ in
        let identity: Identity =
          [.owner, .owningGroup, .everyone, .user(1), .user(3), .group(2)].randomElement(using: &dice)
          ?? .everyone
        let kind: AccessEntry.Kind = Bool.random(using: &dice) ? .allow : .deny
        return AccessEntry(kind, identity, Rights(rawValue: UInt32.random(in: 1...0x1FFF, using: &dice) << 1))
      }
      for entry in pattern where Int.random(in: 0..<4, using: &dice) > 0 {
        entries.insert(entry, at: Int.random(in: 0...entries.count, using: &dice))
      }
      let change = try NFSv4List.change(
        to: entries, from: nil, mode: mode, for: .directory, as: .names)
      leftOut += entries.count - (change.list?.entries.count ?? 0)
      let after = change.mode.map { $0 | mode & 0o1000 } ?? mode
      // Read with the mode they were written under, or with the one they spell out.
      #expect(
        verdicts(change.list, after) == verdicts(AccessList(entries), after), "seed \(seed), round \(round)")
    }
    #expect(leftOut > 1_000)
  }

  // MARK: - A list that is set grants what it says and nothing else

  /// A right that is granted: by the first entry about it and about the subject, as NFSv4 reads.
  private func grants(_ entries: [AccessEntry], _ right: Rights, to subject: Subject) -> Bool {
    entries.first { entry in
      guard entry.kind == .allow || entry.kind == .deny, !entry.inheritance.contains(.onlyInherit),
        !entry.rights.isDisjoint(with: right)
      else { return false }
      return switch entry.identity {
      case .user(let user): user == subject.user
      case .group(let group): group == subject.group
      case .everyone: true
      case .owner: subject.user == 1
      case .owningGroup: subject.group == 2
      case .nobody: false
      }
    }?.kind == .allow
  }

  /// The rights a subject has on an object of user 1 and group 2, each asked alone.
  private func powers(_ subject: Subject, _ change: NFSv4Change, _ mode: UInt16, _ kind: ItemKind) -> Rights {
    let item = Item(kind: kind, user: 1, group: 2, mode: Mode(mode), list: change.list)
    let judge = Judge(rules: VolumeRules(), subject: subject)
    let single = Self.rights.prefix { $0 != [.read, .write] }.filter { $0 != .delete && $0 != .deleteChild }
    var powers = single.filter { judge.check(item, $0).isAllowed }.reduce(into: Rights()) { $0.formUnion($1) }
    let foreign = Item(kind: .file, user: 9, group: 9, mode: Mode(0))
    if kind == .directory, judge.decide(.remove(directory: false), on: foreign, in: item).isAllowed {
      powers.insert(.deleteChild)
    }
    return powers
  }

  private func randomEntry(_ kind: ObjectKind, using dice: inout Dice) -> AccessEntry {
    let identity: Identity = dice.pick([
      .owner, .owningGroup, .everyone, .everyone, .user(1), .user(3), .group(2), .nobody,
    ])
    let common: [Rights] = [
      .specific, [.read, .readExtended], [.write, .append, .writeExtended, .writeAttributes],
      [.write, .append, .writeExtended, .writeAttributes, .deleteChild], .execute, .read, [.write, .append],
    ]
    var rights = Rights()
    for _ in 0...dice.below(3) { rights.formUnion(dice.pick(common)) }
    if dice.once(in: 3) { rights = Rights(rawValue: UInt32.random(in: 1...0x1FFF, using: &dice) << 1) }
    // Of files the text of NFSv4 tools says less than what is stored.
    if kind == .file { rights.remove(.deleteChild) }
    let words: [AccessEntry.Inheritance] = [
      [], [], .directoryInherit, [.fileInherit, .onlyInherit],
    ]
    return AccessEntry(
      dice.once(in: 3) ? .deny : .allow, identity, rights, kind == .directory ? dice.pick(words) : [])
  }

  @Test(
    "Nobody is granted more than the written list grants, and what is read can be written back",
    arguments: [101, 102, 103] as [UInt64])
  func completeness(seed: UInt64) throws {
    let looking: Rights = [.readAttributes, .readSecurity]
    var dice = Dice(seed: seed)
    var (closed, kept) = (0, 0)
    for round in 0..<4_000 {
      let kind: ObjectKind = dice.once(in: 2) ? .file : .directory
      let mode = UInt16.random(in: 0...0o777, using: &dice) | (dice.once(in: 4) ? 0o1000 : 0)
      let former = (0..<dice.below(3)).map { _ in randomEntry(kind, using: &dice) }
      let present = former.isEmpty ? nil : AccessList(former)
      var written = try NFSv4List.decode(
        NFSv4List.encode(present, mode: mode, for: kind, names: .numeric), names: .numeric)
      // What was read with some entries taken out, moved or added; or something new.
      if dice.once(in: 3) { written = [] }
      if !written.isEmpty { written.remove(at: dice.below(written.count)) }
      if dice.once(in: 3) { written.shuffle(using: &dice) }
      for _ in 0..<dice.below(4) {
        written.insert(randomEntry(kind, using: &dice), at: dice.below(written.count + 1))
      }
      guard !written.isEmpty else { continue }
      let writing: NFSv4Writing = dice.once(in: 2) ? .anew : .edit
      let change = try NFSv4List.change(
        to: written, from: present, mode: mode, for: kind, as: .names, writing: writing)
      let after = try #require(change.mode, "every list says what the mode is") | mode & 0o1000
      for subject in Self.subjects {
        let granted = (0..<32).map { Rights(rawValue: 1 << $0) }
          .filter { grants(written, $0, to: subject) }.reduce(into: Rights()) { $0.formUnion($1) }
        let standing = subject.user == 1 ? looking.union([.writeSecurity, .writeAttributes]) : looking
        let powers = powers(subject, change, after, kind == .file ? .file : .directory)
        #expect(
          powers.isSubset(of: granted.union(standing)),
          "seed \(seed), round \(round), \(subject.user):\(subject.group)")
        let before = self.powers(
          subject, NFSv4Change(list: present, mode: nil), mode, kind == .file ? .file : .directory)
        if !before.isSubset(of: powers) { closed += 1 }
        if !powers.isSubset(of: standing) { kept += 1 }
      }
      // Reading and writing back changes nothing more.
      for way in [NFSv4Writing.anew, .edit] {
        let shown = try NFSv4List.decode(
          NFSv4List.encode(change.list, mode: after, for: kind, names: .numeric), names: .numeric)
        let again = try NFSv4List.change(
          to: shown, from: change.list, mode: after, for: kind, as: .names, writing: way)
        #expect(
          again == NFSv4Change(list: change.list, mode: after & 0o777), "seed \(seed), round \(round)")
      }
      // With the end of a mode the rest is stored whole, and that is the mode.
      let end = UInt16.random(in: 0...0o777, using: &dice)
      let tail = try NFSv4List.decode(
        NFSv4List.encode(nil, mode: end | mode & 0o1000, for: kind, names: .numeric), names: .numeric)
      let ended = try NFSv4List.change(to: written + tail, from: nil, mode: mode, for: kind, as: .names)
      #expect(ended == NFSv4Change(list: AccessList(written), mode: end), "seed \(seed), round \(round)")
    }
    #expect(closed > 3_000 && kept > 3_000)
  }
}
