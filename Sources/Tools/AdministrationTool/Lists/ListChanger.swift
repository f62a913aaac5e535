// Carrying out what a rule says about lists: read, keep the way back, write, count, tell.

import AccessControl
import AccessForms
import Arguments
import LinuxFiles
import LinuxPrograms
import Synchronization

/// Changes lists, on any thread, and counts.
final class ListChanger: Sendable {
  let ledger: ChangeLedger
  let console: Console
  /// Whether items are to hold exactly what is handed down to them.
  let replaces: Bool
  var undo: UndoFile? { ledger.undo }
  /// One is held from the look at a file with several names until it is changed: two threads would count it twice.
  private let linkedFiles = (0..<64).map { _ in Guarded(()) }

  init(_ invocation: Invocation, _ console: Console) throws(UsageError) {
    ledger = try ChangeLedger(invocation, console)
    self.console = console
    replaces = invocation.has(.handDownOnly)
  }

  /// What one item has come to.
  enum Outcome {
    /// It has this list now.
    case has(AccessList?)
    /// It asks to be left alone, with everything below.
    case blocked
    /// Its list cannot be read.
    case unknown
    /// Nothing here can have a list, nor what is below.
    case outside
  }

  /// When a dry run has to know whether an item would be refused.
  enum Answer {
    /// At once: what is below depends on it.
    case atOnce
    case withOthers
  }

  /// An item whose list is to be what a rule says.
  private struct Target {
    let location: ItemLocation
    let held: SharedDescriptor
    var kind = ObjectKind.file
    let rule: ListRule
  }

  /// Decides about one item and carries it out.
  func change(_ item: VisitedItem, by rule: ListRule, _ answer: Answer = .atOnce) -> Outcome {
    let target = Target(location: item.location, held: item.held, kind: item.status.objectKind, rule: rule)
    return change([target], answer).first ?? .unknown
  }

  /// The same for many files at once, with one write to the undo file.
  func change(_ leaves: [(item: LeafItem, rule: ListRule)]) {
    var found: [Target] = []
    found.reserveCapacity(leaves.count)
    for (item, rule) in leaves {
      guard let (held, status) = open(item) else { continue }
      let target = Target(location: item.location, held: held, rule: rule)
      // By its next name such a file is to be met as this one has left it.
      guard status.linkCount > 1 else {
        found.append(target)
        continue
      }
      let lock = linkedFiles[Int(UInt(bitPattern: ObjectKey(status).hashValue) % UInt(linkedFiles.count))]
      lock.mutex.withLock { _ in _ = change([target], .withOthers) }
    }
    _ = change(found, .withOthers)
  }

  private func change(_ targets: [Target], _ answer: Answer) -> [Outcome] {
    var outcomes: [Outcome] = []
    outcomes.reserveCapacity(targets.count)
    var ready: [(index: Int, decision: ListDecision)] = []
    for (index, target) in targets.enumerated() {
      do throws(Refusal) {
        let decision = try decide(target)
        outcomes.append(.has(decision.before))
        switch decision.answer {
        case .store: ready.append((index, decision))
        case .unchanged: ledger.count { $0.unchanged += 1 }
        case .blocked:
          ledger.count { $0.left += 1 }
          outcomes[index] = .blocked
        case .refused(let sentence): console.complain(target.location.path, sentence)
        }
      } catch {
        console.complain(target.location.path, error.sentence)
        outcomes.append(error.isAboutVolume ? .outside : .unknown)
      }
    }
    if let undo, !ready.isEmpty {
      undo.keep(ready.map { record(targets[$0.index].location, targets[$0.index].kind, $0.decision) })
    }
    // Where it fails, what is below follows the list that is in force.
    for (index, decision) in ready {
      do throws(Refusal) {
        let list = try carryOut(decision, on: targets[index])
        if ledger.isDryRun, answer == .atOnce, let refusal = ledger.settle() {
          if refusal.isAboutVolume { outcomes[index] = .outside }
        } else {
          outcomes[index] = .has(list)
        }
      } catch {
        console.complain(targets[index].location.path, error.sentence)
        if error.isAboutVolume { outcomes[index] = .outside }
      }
    }
    return outcomes
  }

  private func open(_ item: LeafItem) -> (SharedDescriptor, FileStatus)? {
    do throws(Errno) {
      let held = SharedDescriptor(
        try FileName.with(item.location.name) { name throws(Errno) in
          try item.directory.descriptor.openPath(name)
        })
      // What the listing called it may have been replaced since.
      let status = try held.descriptor.knownStatus()
      let kind = status.kind
      guard kind != .directory, kind != .symbolicLink else {
        console.complain(
          item.location.path,
          "was a file when the directory was read, and is a \(kind == .directory ? "directory" : "link") now; "
            + "left alone")
        return nil
      }
      return (held, status)
    } catch .noSuchFile {
      // It was removed in the meantime.
    } catch .crossDevice {
      // Another file system is mounted on it.
    } catch {
      console.complain(item.location.path, Refusal(error).sentence)
    }
    return nil
  }

  private func decide(_ target: Target) throws(Refusal) -> ListDecision {
    let text: [UInt8]?
    do throws(Errno) { text = try target.held.descriptor.storedAccessList() } catch {
      guard error == .inputOutput, target.rule.replacesDamage else {
        throw Refusal.reading(error, target.held.descriptor)
      }
      return try target.rule.decideUnread(target.kind)
    }
    return try target.rule.decide(text, target.kind)
  }

  func record(_ location: ItemLocation, _ kind: ObjectKind, _ decision: ListDecision) -> DumpRecord {
    DumpRecord(kind == .directory ? .directory : .file, path: location.relative, lines: decision.linesBefore)
  }

  /// Answers the list that is in force afterwards.
  private func carryOut(_ decision: ListDecision, on target: Target) throws(Refusal) -> AccessList? {
    guard case .store(let after) = decision.answer else { return decision.before }
    let (location, held) = (target.location, target.held)
    let (kind, before, console, tellsHow) = (target.kind, decision.before, console, ledger.tellsHow)
    let told = ToldChange {
      ListFormat.json(before, for: kind, names: .machine)
    } after: {
      ListFormat.json(after, for: kind, names: .machine)
    } line: {
      console.printPath(location.path, ": \(entryCounts(before, after))")
      if tellsHow { console.printDifferences(before, after, kind) }
    }
    let change = change(of: location, held, isRemoved: decision.text.isEmpty, told)
    try ledger.change(change) { () throws(Refusal) in
      try attempt(held.descriptor.setAccessListText(decision.text)) { change.refusal($0, "") }
    }
    return after
  }

  private func change(
    of location: ItemLocation, _ held: SharedDescriptor, isRemoved: Bool, _ told: ToldChange?
  ) -> ItemChange {
    ItemChange(
      location: location, held: held, changes: [.list(isRemoved: isRemoved)],
      refusal: { error, _ in
        Refusal.change(error, location.path, held.descriptor, needs: "writesecurity")
      }, tell: { _ in told })
  }

  /// Why the list of an item could not be changed as things stand; nil also where the daemon cannot be asked.
  func refusal(_ location: ItemLocation, _ held: SharedDescriptor, isRemoved: Bool) -> Refusal? {
    // That it is not known is no news: the change will show it.
    let silent = Console("")
    silent.isSilent = true
    let question = DryRun(silent)
    question.add(change(of: location, held, isRemoved: isRemoved, nil)) { _, _ in }
    return question.ask { _, _ in }
  }

  /// Ends the work: the undo file, the summary, the exit status.
  func finish() -> Int32 { ledger.finish() }
}

extension Console {
  /// Prints how a list changes.
  func printDifferences(_ before: AccessList?, _ after: AccessList?, _ kind: ObjectKind) {
    func lines(_ list: AccessList?) -> [String] {
      list.map { ListFormat.macos.lines($0, for: kind, names: .machine, numeric: false) } ?? []
    }
    for line in differences(lines(before), lines(after)) { print("  \(line)\n") }
  }
}

/// How the length of a list changes: `0 -> 1 entry`.
func entryCounts(_ before: AccessList?, _ after: AccessList?) -> String {
  let new = after?.entries.count ?? 0
  return "\(before?.entries.count ?? 0) -> \(new) \(new == 1 ? "entry" : "entries")"
}

/// What leaves a list, with `-`, what comes, with `+`, and what stays, in the order of the new list.
func differences(_ before: [String], _ after: [String]) -> [String] {
  // Lists are short: the table of common lengths is small.
  var common = Array(repeating: Array(repeating: 0, count: after.count + 1), count: before.count + 1)
  for old in before.indices.reversed() {
    for new in after.indices.reversed() {
      common[old][new] =
        before[old] == after[new]
        ? common[old + 1][new + 1] + 1 : max(common[old + 1][new], common[old][new + 1])
    }
  }
  var lines: [String] = []
  var (old, new) = (0, 0)
  while old < before.count || new < after.count {
    if old < before.count, new < after.count, before[old] == after[new] {
      lines.append("  \(after[new])")
      old += 1
      new += 1
    } else if new == after.count || (old < before.count && common[old + 1][new] >= common[old][new + 1]) {
      lines.append("- \(before[old])")
      old += 1
    } else {
      lines.append("+ \(after[new])")
      new += 1
    }
  }
  return lines
}
