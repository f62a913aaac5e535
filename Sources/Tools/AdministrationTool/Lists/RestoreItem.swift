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
  static let posix = RestoredParts(rawValue: 16)

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
    if record.facts.posix != nil { insert(.posix) }
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

  /// Brings back what `record` says and no earlier record has brought back.
  ///
  /// Only set-id bits of a file do not come back: another owner may have changed its content.
  func restore(
    _ record: DumpRecord, _ item: VisitedItem, known: RestoredParts
  ) throws(Refusal) {
    var wanted = State(facts: record.facts, list: try list(record, known))
    var now = try state(of: item, like: wanted)
    if let flags = wanted.facts.flags, let standing = now.facts.flags {
      // What no chflags changes does not come back either: `compressed` says how the bytes are stored now.
      let change = FlagChange(from: FileFlags(rawValue: standing), to: FileFlags(rawValue: flags))
      wanted.facts.flags = change.after.rawValue
    }
    // What an earlier record has brought back is to be there afterwards, too: a new owner takes set-id bits away,
    // and locks have to be lifted for the rest.
    if known.contains(.owner) {
      (wanted.facts.owner, wanted.facts.group) = (now.facts.owner, now.facts.group)
    }
    if known.contains(.mode) { wanted.facts.mode = wanted.facts.mode.map { _ in UInt32(item.status.mode) } }
    if known.contains(.posix) { (wanted.facts.posix, now.facts.posix) = (nil, nil) }
    if known.contains(.flags) {
      now.facts.flags = try flags(of: item)
      wanted.facts.flags = now.facts.flags
    }
    guard now != wanted else { return ledger.count { $0.unchanged += 1 } }
    let lost = returningSetID(item, now, wanted)
    wanted.facts.mode? &= ~lost
    if now != wanted {
      let (now, wanted) = (now, wanted)
      let told = told(now, wanted, item)
      let change = ItemChange(
        location: item.location, held: item.held, changes: changes(now, wanted, item),
        refusal: { error, deed in
          guard deed != "chflags" else { return refusal(error, item, wanted.facts.flags) }
          let right = deed == "chown" ? "chown" : "writesecurity"
          return .change(error, item.path, item.held.descriptor, needs: right)
        }, tell: { _ in told })
      let lines = { wanted.list == nil ? nil : numericLines(now.list ?? nil, item.status.objectKind) }
      try ledger.change(
        change,
        keeping: DumpRecord(record.kind, path: item.location.relative, facts: now.facts, lines: lines())
      ) { () throws(Refusal) in try carryOut(now, wanted, item) }
      if lost != 0 {
        // It fails once, and is no change.
        guard ledger.settle() == nil else { return }
        ledger.count { $0.changed -= 1 }
      }
    }
    guard lost == 0 else {
      let mode = String((wanted.facts.mode ?? 0) | lost, radix: 8)
      throw Refusal(
        "its set-id bits stay off, as its content may have changed; if it can be trusted: varve chmod "
          + "\(mode) \(shellWord(item.path))")
    }
  }

  // MARK: - What is, and what should be

  private func list(_ record: DumpRecord, _ known: RestoredParts) throws(Refusal) -> AccessList?? {
    guard let lines = record.lines, !known.contains(.list) else { return nil }
    return .some(try readList(lines))
  }

  private func state(of item: VisitedItem, like wanted: State) throws(Refusal) -> State {
    var state = State(facts: ItemFacts(), list: nil)
    if wanted.facts.owner != nil || wanted.facts.group != nil {
      let owner = try attempt(item.held.descriptor.owner(item.status))
      if wanted.facts.owner != nil { state.facts.owner = owner }
      if wanted.facts.group != nil { state.facts.group = item.status.group }
    }
    if wanted.facts.mode != nil { state.facts.mode = UInt32(item.status.mode) }
    if wanted.facts.flags != nil { state.facts.flags = try flags(of: item) }
    if wanted.facts.posix != nil { state.facts.posix = try attempt(item.held.descriptor.posixLists()) }
    if wanted.list != nil {
      do throws(Refusal) { state.list = .some(try item.held.descriptor.accessList()) } catch {
        // A damaged list is replaced all the same.
        guard !error.isAboutVolume else { throw error }
      }
    }
    return state
  }

  private func flags(of item: VisitedItem) throws(Refusal) -> UInt32 {
    guard let flags = try attempt(item.held.descriptor.fileFlags()) else { throw Refusal(.unsupported) }
    return flags.rawValue
  }

  /// The set-id bits that a file would get back.
  private func returningSetID(_ item: VisitedItem, _ now: State, _ wanted: State) -> UInt32 {
    guard item.status.recordKind == .file, let mode = wanted.facts.mode else { return 0 }
    let changesOwner = now.facts.owner != wanted.facts.owner || now.facts.group != wanted.facts.group
    let standing = changesOwner ? 0 : UInt32(item.status.mode)
    return mode & 0o6000 & ~standing
  }

  // MARK: - Carrying it out

  private static let locks = FileFlags.immutable.union(.appendOnly)

  /// Whether locks have to be taken off before anything else.
  private func lifts(_ now: State, _ wanted: State) -> Bool {
    var before = now.facts
    before.flags = wanted.facts.flags
    let onlyFlagsDiffer = before == wanted.facts && now.list == wanted.list
    let standing = FileFlags(rawValue: now.facts.flags ?? 0)
    return !onlyFlagsDiffer && wanted.facts.flags != nil && !standing.isDisjoint(with: ItemRestorer.locks)
  }

  /// The calls of `carryOut`; where locks come off first, that alone, as the rest follows from it.
  private func changes(_ now: State, _ wanted: State, _ item: VisitedItem) -> [AskedChange] {
    guard !lifts(now, wanted) else {
      return [.flags(FileFlags(rawValue: now.facts.flags ?? 0).subtracting(ItemRestorer.locks))]
    }
    var changes: [AskedChange] = []
    let changesOwner = now.facts.owner != wanted.facts.owner || now.facts.group != wanted.facts.group
    if changesOwner {
      let owner = now.facts.owner == wanted.facts.owner ? nil : wanted.facts.owner
      changes += AskedChange.changes(of: owner, group: wanted.facts.group)
    }
    let changesMode = changesOwner || now.facts.posix != wanted.facts.posix
    if let mode = wanted.facts.mode, changesMode || mode != UInt32(item.status.mode) {
      changes.append(.mode(mode))
    }
    if let list = wanted.list, now.list != wanted.list { changes.append(.list(isRemoved: list == nil)) }
    if let flags = wanted.facts.flags, flags != now.facts.flags {
      changes.append(.flags(FileFlags(rawValue: flags)))
    }
    return changes
  }

  /// Locks off, owner, mode, list, locks on: each step would undo or forbid one that stands before it.
  private func carryOut(_ now: State, _ wanted: State, _ item: VisitedItem) throws(Refusal) {
    let standing = FileFlags(rawValue: now.facts.flags ?? 0)
    let isLifted = lifts(now, wanted)
    if isLifted { try set(standing.subtracting(ItemRestorer.locks), on: item) }
    do throws(Refusal) {
      try setOwnerAndMode(now.facts, wanted.facts, item)
      if let list = wanted.list, now.list != wanted.list {
        try attempt(item.held.descriptor.setAccessListText(storedText(list, item.status.objectKind))) {
          error in Refusal.change(error, item.path, item.held.descriptor, needs: "writesecurity")
        }
      }
      if let posix = wanted.facts.posix, posix != now.facts.posix {
        try attempt(item.held.descriptor.setPosixLists(posix)) { error in
          Refusal.change(error, item.path, item.held.descriptor, needs: "writesecurity")
        }
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
      let owner = now.owner == wanted.owner ? nil : wanted.owner
      let refusal = { (error: Errno) in
        Refusal.change(error, item.path, item.held.descriptor, needs: "chown")
      }
      try attempt(item.held.descriptor.changeOwner(owner, group: wanted.group), refusal)
      mode = UInt32(try attempt(item.held.descriptor.status(), refusal).mode)
    }
    guard let wantedMode = wanted.mode, wantedMode != mode else { return }
    try attempt(item.held.descriptor.changeMode(UInt16(truncatingIfNeeded: wantedMode))) { error in
      Refusal.change(error, item.path, item.held.descriptor, needs: "writesecurity")
    }
  }

  private func set(_ flags: FileFlags, on item: VisitedItem) throws(Refusal) {
    try attempt(item.held.descriptor.setFileFlags(flags)) { refusal($0, item, flags.rawValue) }
  }

  // MARK: - Telling

  private func told(_ now: State, _ wanted: State, _ item: VisitedItem) -> ToldChange {
    let (kind, console, tellsHow) = (item.status.objectKind, ledger.console, ledger.tellsHow)
    let json = { @Sendable (state: State) -> JSON in
      let list = state.list.map { [JSON.Member("acl", ListFormat.json($0, for: kind, names: .machine))] }
      return .object(state.facts.members + (list ?? []))
    }
    let location = item.location
    return ToldChange {
      json(now)
    } after: {
      json(wanted)
    } line: {
      var words = differences(now.facts, wanted.facts)
      if let list = wanted.list, now.list != wanted.list {
        words.append(entryCounts(now.list ?? nil, list))
      }
      console.printPath(location.path, ": \(words.joined(separator: ", "))")
      guard tellsHow, let list = wanted.list else { return }
      console.printDifferences(now.list ?? nil, list, kind)
    }
  }
}

private func refusal(_ error: Errno, _ item: VisitedItem, _ flags: UInt32?) -> Refusal {
  var instruction = FileFlags.Instruction()
  instruction.whole = FileFlags(rawValue: flags ?? 0)
  return Refusal.flags(error, item, instruction)
}

/// The list that a record's lines stand for; nil if there are none.
func readList(_ lines: [String]) throws(Refusal) -> AccessList? {
  do throws(FormatFailure) {
    let list = try ListFormat.macos.list(Array(lines.joined(separator: "\n").utf8), names: .machine)
    return lines.isEmpty ? nil : list
  } catch {
    throw Refusal("its record: \(error)")
  }
}
