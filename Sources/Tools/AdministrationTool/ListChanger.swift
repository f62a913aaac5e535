// Carrying out what a rule says about lists: read, keep the way back, write, count, tell.

import AccessControl
import AccessForms
import Arguments
import JSONForm
import LinuxFiles
import LinuxPrograms
import Synchronization
import Verbs

/// Changes lists, on any thread, and counts.
final class ListChanger: Sendable {
  private struct Counts {
    var items = 0
    var changed = 0
    var left = 0
  }

  let names: NameBook
  let console: Console
  let undo: UndoFile?
  let isDryRun: Bool
  /// Whether each change is printed, and so has to happen in order.
  let tells: Bool
  private let tellsHow: Bool
  private let json: JSONStream?
  private let isQuiet: Bool
  private let verb: String
  private let counts: Mutex<Counts> = Mutex(Counts())

  init(_ invocation: Invocation, _ console: Console, _ names: NameBook) throws(UsageError) {
    self.console = console
    self.names = names
    isDryRun = invocation.has(.dryRun)
    isQuiet = invocation.has(.quiet)
    tellsHow = invocation.has(.listChanged)
    tells = isDryRun || tellsHow
    verb = invocation.verb
    undo = try UndoFile(invocation, console)
    json = invocation.has(.json) ? JSONStream("changes", console) : nil
  }

  /// What one item has come to.
  enum Outcome {
    /// It has this list now.
    case has(AccessList?)
    /// It asks to be left alone, with everything below.
    case blocked
    /// Its list cannot be read.
    case unknown
  }

  /// Decides about one item and carries it out.
  func change(_ item: VisitedItem, by rule: ListRule) -> Outcome {
    let kind = ObjectKind(isDirectory: item.status.kind == .directory)
    let decision: ListDecision
    do throws(Refusal) {
      decision = try decide(item.place.descriptor, kind, rule)
    } catch {
      console.complain(item.path, error.sentence)
      return .unknown
    }
    do throws(Refusal) {
      switch decision.answer {
      case .store(let list):
        undo?.keep(record(item.location, kind, decision).text)
        try carryOut(decision, on: item.place.descriptor, item.location, kind)
        return .has(list)
      case .unchanged: return .has(decision.before)
      case .blocked: return .blocked
      case .refused(let sentence): throw Refusal(sentence)
      }
    } catch {
      // What is below follows the list that is in force.
      console.complain(item.path, error.sentence)
      return .has(decision.before)
    }
  }

  /// The same for many files at once, with one write to the undo file.
  func change(_ leaves: [(item: LeafItem, rule: ListRule)]) {
    var ready: [(location: ItemLocation, place: SharedDescriptor, decision: ListDecision)] = []
    ready.reserveCapacity(leaves.count)
    for (item, rule) in leaves {
      guard let place = open(item) else { continue }
      do throws(Refusal) {
        let decision = try decide(place.descriptor, .file, rule)
        switch decision.answer {
        case .store: ready.append((item.location, place, decision))
        case .unchanged, .blocked: break
        case .refused(let sentence): throw Refusal(sentence)
        }
      } catch {
        console.complain(item.location.path, error.sentence)
      }
    }
    if let undo, !ready.isEmpty {
      undo.keep(ready.map { record($0.location, .file, $0.decision).text }.joined())
    }
    for (location, place, decision) in ready {
      do throws(Refusal) {
        try carryOut(decision, on: place.descriptor, location, .file)
      } catch {
        console.complain(location.path, error.sentence)
      }
    }
  }

  /// The same for files that inherit from their directory: the volume takes hundreds of names at once.
  ///
  /// What it leaves aside, and everything on a volume that cannot do it, is changed one by one.
  func handDown(_ leaves: [(item: LeafItem, rule: ListRule)]) {
    var rest = leaves[...]
    while let first = rest.first {
      let directory = first.item.directory
      var question = HandingDown()
      let taken = rest.prefix { $0.item.directory === directory && question.add($0.item.location.name) }
      rest = rest.dropFirst(taken.count)
      var bytes = question.bytes
      do throws(Errno) {
        try directory.descriptor.control(HandingDown.control, &bytes)
      } catch {
        change(Array(taken))
        continue
      }
      guard let outcomes = HandingDown.outcomes(bytes, of: taken.count) else {
        change(Array(taken))
        continue
      }
      counts.withLock { counts in
        for outcome in outcomes where outcome != .aside {
          counts.items += 1
          if outcome == .changed { counts.changed += 1 }
          if outcome == .blocked { counts.left += 1 }
        }
      }
      change(zip(taken, outcomes).filter { $0.1 == .aside }.map(\.0))
    }
  }

  private func open(_ item: LeafItem) -> SharedDescriptor? {
    do throws(Errno) {
      let place = SharedDescriptor(
        try FileName.with(item.location.name) { name throws(Errno) in
          try item.directory.descriptor.openPath(name)
        })
      // What the listing called it may have been replaced since.
      let kind = try place.descriptor.knownStatus().kind
      guard kind != .directory, kind != .symbolicLink else {
        console.complain(
          item.location.path,
          "was a file when the directory was read, and is a \(kind == .directory ? "directory" : "link") now; "
            + "left alone")
        return nil
      }
      return place
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
    _ place: borrowing Descriptor, _ kind: ObjectKind, _ rule: ListRule
  ) throws(Refusal) -> ListDecision {
    counts.withLock { $0.items += 1 }
    let text: [UInt8]?
    do throws(Errno) {
      text = try place.attribute(AttributeName("system.varve.acl"))
    } catch .inputOutput where rule.replacesDamage {
      return try rule.decideUnread(kind)
    } catch {
      throw Refusal.reading(error, place)
    }
    let decision = try rule.decide(text, kind)
    if case .blocked = decision.answer { counts.withLock { $0.left += 1 } }
    return decision
  }

  private func record(_ location: ItemLocation, _ kind: ObjectKind, _ decision: ListDecision) -> DumpRecord {
    DumpRecord(isDirectory: kind == .directory, path: location.relative, lines: decision.linesBefore)
  }

  private func carryOut(
    _ decision: ListDecision, on place: borrowing Descriptor, _ location: ItemLocation, _ kind: ObjectKind
  ) throws(Refusal) {
    if !isDryRun {
      do throws(Errno) {
        try place.setAccessListText(decision.text)
      } catch {
        throw Refusal.change(error, location.path, place, needs: "writesecurity")
      }
    }
    counts.withLock { $0.changed += 1 }
    if tells { tell(decision, location, kind) }
  }

  // MARK: - Telling

  private func tell(_ decision: ListDecision, _ location: ItemLocation, _ kind: ObjectKind) {
    guard case .store(let after) = decision.answer else { return }
    let path = location.path
    if let json {
      return json.add(
        JSON.nameMembers("path", path) + [
          JSON.Member("before", ListFormat.json(decision.before, for: kind, names: names)),
          JSON.Member("after", ListFormat.json(after, for: kind, names: names)),
        ])
    }
    let (old, new) = (decision.before?.entries.count ?? 0, after?.entries.count ?? 0)
    console.printPath(path, ": \(old) -> \(new) \(new == 1 ? "entry" : "entries")")
    guard tellsHow else { return }
    let before = decision.before.map { ListFormat.macos.lines($0, for: kind, names: names, numeric: false) }
    let lines = after.map { ListFormat.macos.lines($0, for: kind, names: names, numeric: false) }
    for line in differences(before ?? [], lines ?? []) { console.print("  \(line)\n") }
  }

  /// Ends the work: the undo file, the summary, the exit status.
  func finish() -> Int32 {
    undo?.end()
    let counts = counts.withLock { $0 }
    let failed = console.failures
    if let json {
      json.end([
        JSON.Member("dryRun", .bool(isDryRun)), JSON.Member("items", .number(counts.items)),
        JSON.Member("changed", .number(counts.changed)), JSON.Member("leftAlone", .number(counts.left)),
        JSON.Member("failed", .number(failed)), JSON.Member("interrupted", .bool(Interruption.isRequested)),
      ])
    } else if isDryRun {
      console.print("\(grouped(counts.changed)) of \(counted(counts.items)) would change\n")
    }
    if Interruption.isRequested { stopped(counts) }
    if json == nil, !isDryRun, tellsHow, !isQuiet {
      let left = counts.left > 0 ? ", \(grouped(counts.left)) left alone with what is below" : ""
      console.note(
        "\(counted(counts.items)), \(grouped(counts.changed)) changed\(left), \(failed) failed")
    }
    return console.finish()
  }

  private func stopped(_ counts: Counts) {
    var sentence = "interrupted after \(counted(counts.items)), \(grouped(counts.changed)) changed"
    if !isDryRun {
      sentence +=
        undo == nil
        ? "; run it again to go on"
        : "; run it again with --resume to go on, or go back "
          + "with 'varve acl restore'"
    }
    console.note(sentence)
    _ = console.finish()
    Interruption.end()
  }
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
