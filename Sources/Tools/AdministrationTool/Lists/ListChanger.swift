// Carrying out what a rule says about lists: read, keep the way back, write, count, tell.

import AccessControl
import AccessForms
import Arguments
import LinuxFiles
import LinuxPrograms
import Synchronization
import Verbs

/// Changes lists, on any thread, and counts.
final class ListChanger: Sendable {
  let names: NameBook
  let ledger: ChangeLedger
  let console: Console
  /// Whether each change is printed, and so has to happen in order.
  var tells: Bool { ledger.tells }
  var undo: UndoFile? { ledger.undo }
  /// One is held from the look at a file with several names until it is changed: two threads would count it twice.
  private let linkedFiles = (0..<64).map { _ in LinkedFileLock() }

  init(_ invocation: Invocation, _ console: Console, _ names: NameBook) throws(UsageError) {
    ledger = try ChangeLedger(invocation, console)
    self.names = names
    self.console = console
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

  /// Decides about one item and carries it out.
  func change(_ item: VisitedItem, by rule: ListRule, _ answer: Answer = .atOnce) -> Outcome {
    let kind = ObjectKind(isDirectory: item.status.kind == .directory)
    let decision: ListDecision
    do throws(Refusal) {
      decision = try decide(item.place, kind, rule)
    } catch {
      console.complain(item.path, error.sentence)
      return error.isAboutVolume ? .outside : .unknown
    }
    do throws(Refusal) {
      switch decision.answer {
      case .store(let list):
        undo?.keep([record(item.location, kind, decision)])
        try carryOut(decision, on: item.place, item.location, kind)
        guard ledger.isDryRun, answer == .atOnce, let refusal = ledger.settle() else {
          return .has(list)
        }
        return refusal.isAboutVolume ? .outside : .has(decision.before)
      case .unchanged:
        ledger.count { $0.unchanged += 1 }
        return .has(decision.before)
      case .blocked:
        ledger.count { $0.left += 1 }
        return .blocked
      case .refused(let sentence): throw Refusal(sentence)
      }
    } catch {
      // What is below follows the list that is in force.
      console.complain(item.path, error.sentence)
      return error.isAboutVolume ? .outside : .has(decision.before)
    }
  }

  /// The same for many files at once, with one write to the undo file.
  func change(_ leaves: [(item: LeafItem, rule: ListRule)]) {
    var found: [(location: ItemLocation, place: SharedDescriptor, rule: ListRule)] = []
    found.reserveCapacity(leaves.count)
    for (item, rule) in leaves {
      guard let (place, status) = open(item) else { continue }
      let leaf = (item.location, place, rule)
      // By its next name such a file is to be met as this one has left it.
      guard status.linkCount > 1 else {
        found.append(leaf)
        continue
      }
      let lock = linkedFiles[Int(UInt(bitPattern: ObjectKey(status).hashValue) % UInt(linkedFiles.count))]
      lock.mutex.withLock { _ in change([leaf]) }
    }
    change(found)
  }

  private func change(_ found: [(location: ItemLocation, place: SharedDescriptor, rule: ListRule)]) {
    var ready: [(location: ItemLocation, place: SharedDescriptor, decision: ListDecision)] = []
    ready.reserveCapacity(found.count)
    for (location, place, rule) in found {
      do throws(Refusal) {
        let decision = try decide(place, .file, rule)
        switch decision.answer {
        case .store: ready.append((location, place, decision))
        case .unchanged: ledger.count { $0.unchanged += 1 }
        case .blocked: ledger.count { $0.left += 1 }
        case .refused(let sentence): throw Refusal(sentence)
        }
      } catch {
        console.complain(location.path, error.sentence)
      }
    }
    if let undo, !ready.isEmpty {
      undo.keep(ready.map { record($0.location, .file, $0.decision) })
    }
    for (location, place, decision) in ready {
      do throws(Refusal) {
        try carryOut(decision, on: place, location, .file)
      } catch {
        console.complain(location.path, error.sentence)
      }
    }
  }

  private func open(_ item: LeafItem) -> (SharedDescriptor, FileStatus)? {
    do throws(Errno) {
      let place = SharedDescriptor(
        try FileName.with(item.location.name) { name throws(Errno) in
          try item.directory.descriptor.openPath(name)
        })
      // What the listing called it may have been replaced since.
      let status = try place.descriptor.knownStatus()
      let kind = status.kind
      guard kind != .directory, kind != .symbolicLink else {
        console.complain(
          item.location.path,
          "was a file when the directory was read, and is a \(kind == .directory ? "directory" : "link") now; "
            + "left alone")
        return nil
      }
      return (place, status)
    } catch .noSuchFile {
      // Somebody removed it in the meantime.
    } catch .crossDevice {
      // Another file system is mounted on it.
    } catch {
      console.complain(item.location.path, Refusal(error).sentence)
    }
    return nil
  }

  private func decide(
    _ place: SharedDescriptor, _ kind: ObjectKind, _ rule: ListRule
  ) throws(Refusal) -> ListDecision {
    let text: [UInt8]?
    do throws(Errno) {
      text = try place.descriptor.attribute(AttributeName("system.varve.acl"))
    } catch .inputOutput where rule.replacesDamage {
      return try rule.decideUnread(kind)
    } catch {
      throw Refusal.reading(error, place.descriptor)
    }
    return try rule.decide(text, kind)
  }

  func record(_ location: ItemLocation, _ kind: ObjectKind, _ decision: ListDecision) -> DumpRecord {
    DumpRecord(kind == .directory ? .directory : .file, path: location.relative, lines: decision.linesBefore)
  }

  private func carryOut(
    _ decision: ListDecision, on place: SharedDescriptor, _ location: ItemLocation, _ kind: ObjectKind
  ) throws(Refusal) {
    let refusal: @Sendable (Errno) -> Refusal = { error in
      Refusal.change(error, location.path, place.descriptor, needs: "writesecurity")
    }
    guard !ledger.isDryRun else {
      let change = AskedChange.list(isRemoved: decision.text.isEmpty)
      ledger.ask(
        AskedItem(location: location, place: place, changes: [change]) { error, _ in refusal(error) })
      return tell(decision, location, kind)
    }
    do throws(Errno) { try place.descriptor.setAccessListText(decision.text) } catch {
      throw refusal(error)
    }
    ledger.count { $0.changed += 1 }
    if tells { tell(decision, location, kind) }
  }

  // MARK: - Telling

  private func tell(_ decision: ListDecision, _ location: ItemLocation, _ kind: ObjectKind) {
    guard case .store(let after) = decision.answer else { return }
    let (console, names, before, tellsHow) = (console, names, decision.before, ledger.tellsHow)
    ledger.tell(
      location.path, before: ListFormat.json(before, for: kind, names: names),
      after: ListFormat.json(after, for: kind, names: names)
    ) {
      console.printPath(location.path, ": \(entryCounts(before, after))")
      if tellsHow { console.printDifferences(before, after, kind, names) }
    }
  }

  /// Ends the work: the undo file, the summary, the exit status.
  func finish() -> Int32 {
    ledger.finish()
  }
}

extension Console {
  /// Prints how a list changes.
  func printDifferences(_ before: AccessList?, _ after: AccessList?, _ kind: ObjectKind, _ names: NameBook) {
    func lines(_ list: AccessList?) -> [String] {
      list.map { ListFormat.macos.lines($0, for: kind, names: names, numeric: false) } ?? []
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

private final class LinkedFileLock: Sendable {
  let mutex: Mutex<Void> = Mutex(())
}
