// An NFSv4 list that is set decides as it reads: whatever of it becomes the mode, or is not stored because the mode
// says it already, nobody gets more or less than by the entries as they were written.

import AccessControl
import Decisions
import DirectoryModes
import Randomness
import Testing

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
        judge.remove(item, from: above).isAllowed, judge.remove(mine, from: item).isAllowed,
        judge.remove(foreign, from: item).isAllowed,
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
}
