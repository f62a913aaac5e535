// Bringing one item back to what its record says: owner, mode, list and flags, in an order that works.

import AccessControl
import AccessForms
import FlagRules
import JSONForm
import LinuxFiles
import LinuxPrograms

/// What earlier records of the same file have brought back of an object.
struct RestoredParts: OptionSet, Hashable {
  let rawValue: UInt8

  static let list = RestoredParts(rawValue: 1)
  static let owner = RestoredParts(rawValue: 2)
  static let mode = RestoredParts(rawValue: 4)
  static let flags = RestoredParts(rawValue: 8)

  init(rawValue: UInt8) {
    self.rawValue = rawValue
  }

  /// What a record says.
  init(_ record: DumpRecord) {
    self = []
    if record.lines != nil { insert(.list) }
    if record.facts.owner != nil || record.facts.group != nil { insert(.owner) }
    if record.facts.mode != nil { insert(.mode) }
    if record.facts.flags != nil { insert(.flags) }
  }
}

/// Restores items from records of any shape.
struct ItemRestorer {
  /// An item beside its list, and the list.
  private struct State: Equatable, Sendable {
    var facts: ItemFacts
    /// Nil inside: there is none; nil outside: not looked at.
    var list: AccessList??
  }

  let ledger: ChangeLedger
  let names: NameBook
  let ownChanges: OwnChanges

  /// Brings back what `record` says and no earlier record has brought back.
  ///
  /// `moment`: up to when nobody else had touched the item, where the file says so.
  func restore(
    _ record: DumpRecord, _ item: VisitedItem, known: RestoredParts, moment: DumpMoment?
  ) throws(Refusal) {
    var wanted = State(facts: record.facts, list: try list(record, known))
    var now = try state(of: item, like: wanted)
    // What an earlier record has brought back is to be there afterwards, too: a new owner takes set-id bits away,
    // and locks have to be lifted for the rest.
    if known.contains(.owner) {
      (wanted.facts.owner, wanted.facts.group) = (now.facts.owner, now.facts.group)
    }
    if known.contains(.mode) { wanted.facts.mode = wanted.facts.mode.map { _ in UInt32(item.status.mode) } }
    if known.contains(.flags) {
      now.facts.flags = try flags(of: item)
      wanted.facts.flags = now.facts.flags
    }
    guard now != wanted else { return ledger.count { $0.unchanged += 1 } }
    let returning = known.contains(.mode) ? 0 : returningSetID(item, now, wanted)
    // Nobody can vouch for a file that has changed since, or if it is not known whether.
    let lost = moment == item.status.changeMoment ? 0 : returning
    if lost != 0 { wanted.facts.mode? &= ~lost }
    if now != wanted {
      if ledger.isDryRun {
        foresee(now, wanted, item)
      } else {
        try keepAndCarryOut(now, wanted, record, item, known, returning: returning & ~lost)
        if lost == 0 { ledger.count { $0.changed += 1 } }
      }
      if ledger.tells { tell(now, wanted, item) }
      if lost != 0, ledger.isDryRun {
        // It fails once, and is no change.
        guard ledger.settlePlan() == nil else { return }
        ledger.count { $0.changed -= 1 }
      }
    }
    guard lost == 0 else {
      let mode = String((wanted.facts.mode ?? 0) | lost, radix: 8)
      throw Refusal(
        "was changed after the record was made, so its set-id bits stay off; if it can be trusted: varve chmod "
          + "\(mode) \(shellWord(item.path))")
    }
  }

  // MARK: - What is, and what should be

  private func list(_ record: DumpRecord, _ known: RestoredParts) throws(Refusal) -> AccessList?? {
    guard let lines = record.lines, !known.contains(.list) else { return nil }
    return .some(try readList(lines, names))
  }

  private func state(of item: VisitedItem, like wanted: State) throws(Refusal) -> State {
    var state = State(facts: ItemFacts(), list: nil)
    if wanted.facts.owner != nil || wanted.facts.group != nil {
      do throws(Errno) {
        let owner = try ledger.owner(of: item, names)
        if wanted.facts.owner != nil { state.facts.owner = owner }
        if wanted.facts.group != nil { state.facts.group = item.status.group }
      } catch {
        throw Refusal(error)
      }
    }
    if wanted.facts.mode != nil { state.facts.mode = UInt32(item.status.mode) }
    if wanted.facts.flags != nil { state.facts.flags = try flags(of: item) }
    if wanted.list != nil {
      do throws(Refusal) { state.list = .some(try ledger.accessList(of: item.place, names)) } catch {
        // A damaged list is replaced all the same.
        guard !error.isAboutVolume else { throw error }
      }
    }
    return state
  }

  private func flags(of item: VisitedItem) throws(Refusal) -> UInt32 {
    do throws(Errno) {
      guard let flags = try ledger.flags(of: item) else { throw .unsupported }
      return flags.rawValue
    } catch {
      throw Refusal(error)
    }
  }

  /// The set-id bits that a file gets back.
  private func returningSetID(_ item: VisitedItem, _ now: State, _ wanted: State) -> UInt32 {
    guard item.status.recordKind == .file, let mode = wanted.facts.mode else { return 0 }
    let changesOwner = now.facts.owner != wanted.facts.owner || now.facts.group != wanted.facts.group
    let standing = changesOwner ? 0 : UInt32(item.status.mode)
    return mode & 0o6000 & ~standing
  }

  // MARK: - Carrying it out

  private func keepAndCarryOut(
    _ now: State, _ wanted: State, _ record: DumpRecord, _ item: VisitedItem, _ known: RestoredParts,
    returning: UInt32
  ) throws(Refusal) {
    let kind = ObjectKind(isDirectory: item.status.kind == .directory)
    let former = DumpRecord(
      record.kind, path: item.location.relative, facts: now.facts,
      lines: wanted.list == nil ? nil : numericLines(now.list ?? nil, kind))
    let carryOut = { () throws(Refusal) in
      guard returning == 0 else { return try giveBack(returning, now, wanted, item) }
      let settlesMode = RestoredParts(record).subtracting(known).contains(.mode)
      try ownChanges.witness(item, settlesMode: settlesMode) { () throws(Refusal) in
        try self.carryOut(now, wanted, item)
      }
    }
    guard let undo = ledger.undo else { return try carryOut() }
    undo.keep([former])
    try undo.tell(former, item.place, ObjectKey(item.status), carryOut)
  }

  /// The same for a file that gets set-id bits: only if nobody comes in between.
  private func giveBack(
    _ bits: UInt32, _ now: State, _ wanted: State, _ item: VisitedItem
  ) throws(Refusal) {
    let place = item.place
    guard let witness = Witness(place, expecting: item.status.changeMoment) else {
      throw Refusal("was changed by somebody else just now; left alone")
    }
    try carryOut(now, wanted, item)
    guard witness.testify(place) == nil else { return }
    do throws(Errno) {
      try place.descriptor.changeMode(UInt16(truncatingIfNeeded: (wanted.facts.mode ?? 0) & ~bits))
    } catch {
      throw Refusal("was written to while it was restored, and its set-id bits cannot be taken off: \(error)")
    }
    throw Refusal("was written to while it was restored, so its set-id bits stay off")
  }

  private static let locks = FileFlags.immutable.union(.appendOnly)

  /// Whether locks have to be taken off before anything else.
  private func lifts(_ now: State, _ wanted: State) -> Bool {
    var before = now.facts
    before.flags = wanted.facts.flags
    let onlyFlagsDiffer = before == wanted.facts && now.list == wanted.list
    let standing = FileFlags(rawValue: now.facts.flags ?? 0)
    return !onlyFlagsDiffer && wanted.facts.flags != nil && !standing.isDisjoint(with: ItemRestorer.locks)
  }

  /// Asks about the calls of `carryOut`.
  private func foresee(_ now: State, _ wanted: State, _ item: VisitedItem) {
    var steps: [PlannedStep] = []
    let isLifted = lifts(now, wanted)
    if isLifted {
      steps.append(.flags(FileFlags(rawValue: now.facts.flags ?? 0).subtracting(ItemRestorer.locks)))
    }
    let changesOwner = now.facts.owner != wanted.facts.owner || now.facts.group != wanted.facts.group
    if changesOwner {
      let owner = now.facts.owner == wanted.facts.owner ? nil : wanted.facts.owner
      steps += PlannedStep.steps(of: owner, group: wanted.facts.group)
    }
    if let mode = wanted.facts.mode, changesOwner || mode != UInt32(item.status.mode) {
      steps.append(.mode(mode))
    }
    let kind = ObjectKind(isDirectory: item.status.kind == .directory)
    if let list = wanted.list, now.list != wanted.list { steps.append(.list(storedText(list, kind, names))) }
    if let flags = wanted.facts.flags, isLifted || flags != now.facts.flags {
      steps.append(.flags(FileFlags(rawValue: flags)))
    }
    let isUnlocked = isLifted || ledger.planned(item.status)?.facts.flags != nil
    let planned = PlannedItem(location: item.location, place: item.place, steps: steps) { error, deed in
      guard deed != "chflags" else { return refusal(error, item, wanted.facts.flags) }
      let right = deed == "chown" ? "chown" : "writesecurity"
      // The locks that are there now would be off by then.
      return isUnlocked && error == .notPermitted
        ? Refusal.missing(right, error) : .change(error, item.path, item.place.descriptor, needs: right)
    }
    ledger.foresee(planned)
  }

  /// Locks off, owner, mode, list, locks on: each step would undo or forbid one that stands before it.
  private func carryOut(_ now: State, _ wanted: State, _ item: VisitedItem) throws(Refusal) {
    let standing = FileFlags(rawValue: now.facts.flags ?? 0)
    let isLifted = lifts(now, wanted)
    if isLifted { try set(standing.subtracting(ItemRestorer.locks), on: item) }
    do throws(Refusal) {
      try setOwnerAndMode(now.facts, wanted.facts, item)
      if let list = wanted.list, now.list != wanted.list {
        try item.place.descriptor.setAccessList(list, of: item.status.kind, names, path: item.path)
      }
    } catch {
      // What was locked stays locked, whatever else fails; the first failure is the one to tell.
      if isLifted { try? set(standing, on: item) }
      throw error
    }
    if let flags = wanted.facts.flags, isLifted || flags != now.facts.flags {
      try set(FileFlags(rawValue: flags), on: item)
    }
  }

  private func setOwnerAndMode(
    _ now: ItemFacts, _ wanted: ItemFacts, _ item: VisitedItem
  ) throws(Refusal) {
    var mode = UInt32(item.status.mode)
    if now.owner != wanted.owner || now.group != wanted.group {
      do throws(Errno) {
        try item.place.descriptor.changeOwner(
          now.owner == wanted.owner ? nil : wanted.owner, group: wanted.group)
        mode = UInt32(try item.place.descriptor.status().mode)
      } catch {
        throw Refusal.change(error, item.path, item.place.descriptor, needs: "chown")
      }
    }
    guard let wantedMode = wanted.mode, wantedMode != mode else { return }
    do throws(Errno) {
      try item.place.descriptor.changeMode(UInt16(truncatingIfNeeded: wantedMode))
    } catch {
      throw Refusal.change(error, item.path, item.place.descriptor, needs: "writesecurity")
    }
  }

  private func set(_ flags: FileFlags, on item: VisitedItem) throws(Refusal) {
    do throws(Errno) { try item.place.descriptor.setFileFlags(flags) } catch {
      throw refusal(error, item, flags.rawValue)
    }
  }

  // MARK: - Telling

  private func tell(_ now: State, _ wanted: State, _ item: VisitedItem) {
    let kind = ObjectKind(isDirectory: item.status.kind == .directory)
    func json(_ state: State) -> JSON {
      var members = state.facts.members
      if let list = state.list {
        members.append(JSON.Member("acl", ListFormat.json(list, for: kind, names: names)))
      }
      return .object(members)
    }
    let (console, names, tellsHow) = (ledger.console, names, ledger.tellsHow)
    ledger.tell(item.path, before: json(now), after: json(wanted)) {
      var words = differences(now.facts, wanted.facts)
      if let list = wanted.list, now.list != wanted.list {
        words.append(entryCounts(now.list ?? nil, list))
      }
      console.printPath(item.path, ": \(words.joined(separator: ", "))")
      guard tellsHow, let list = wanted.list else { return }
      console.printDifferences(now.list ?? nil, list, kind, names)
    }
  }
}

private func refusal(_ error: Errno, _ item: VisitedItem, _ flags: UInt32?) -> Refusal {
  var instruction = FileFlags.Instruction()
  instruction.whole = FileFlags(rawValue: flags ?? 0)
  return Refusal.flags(error, item, instruction)
}

/// The list that a record's lines stand for; nil if there are none.
func readList(_ lines: [String], _ names: NameBook) throws(Refusal) -> AccessList? {
  do throws(FormatFailure) {
    let list = try ListFormat.macos.list(Array(lines.joined(separator: "\n").utf8), names: names)
    return lines.isEmpty ? nil : list
  } catch {
    throw Refusal("its record: \(error)")
  }
}
