// What a run that changes items keeps account of: the plan, the way back, the counts, the end.

import AccessForms
import Arguments
import JSONForm
import LinuxPrograms
import Synchronization
import Verbs

/// The books of one run, for any thread.
final class ChangeLedger: Sendable {
  /// What items have come to; what failed is counted by the console.
  struct Counts {
    var changed = 0
    var unchanged = 0
    /// Left alone: with what is below, or on another file system.
    var left = 0
    /// Of a plan: what would be refused.
    var refused = 0
  }

  /// What running the same command again does to items that were changed already.
  enum Repetition {
    case harmless
    /// It would change them once more: the change counts from what is there.
    case changesAgain
  }

  let console: Console
  let undo: UndoFile?
  let isDryRun: Bool
  /// Whether each change is printed, and so has to happen in order.
  let tells: Bool
  /// Whether it is printed how an item changes, and a count at the end.
  let tellsHow: Bool
  let isQuiet: Bool
  /// Whether the counts are printed for a script.
  var tellsCounts: Bool { json != nil }
  private let json: JSONStream?
  private let repetition: Repetition
  private let counts: Mutex<Counts> = Mutex(Counts())
  /// Of a plan.
  private let foresight: Foresight?
  /// Whether that nothing here can be changed was said of the tree; nil if it is said of every item.
  private let volumeWasTold: Mutex<Bool?> = Mutex(nil)

  init(
    _ invocation: Invocation, _ console: Console, undoVersion: DumpVersion = .lists,
    repetition: Repetition = .harmless
  ) throws(UsageError) {
    self.console = console
    self.repetition = repetition
    isDryRun = invocation.has(.dryRun) || invocation.has(.plan)
    isQuiet = invocation.has(.quiet)
    tellsHow = invocation.has(.listChanged)
    tells = isDryRun || tellsHow || invocation.has(.listChanges)
    if !isDryRun { console.surviveOutputLoss() }
    undo = try UndoFile(invocation, undoVersion, console)
    json = invocation.has(.json) ? JSONStream("changes", console) : nil
    foresight = isDryRun ? Foresight(console) : nil
    if let foresight {
      console.beforeComplaint = { [weak self] in _ = foresight.ask { self?.settle($0, $1) } }
    }
  }

  func count(_ change: (inout Counts) -> Void) {
    counts.withLock { change(&$0) }
  }

  /// Prints a change: as an object if that is asked for, else by `print`.
  ///
  /// In a plan that comes later, when it is known whether it would be refused.
  func tell(
    _ path: [UInt8], before: @autoclosure () -> JSON, after: @autoclosure () -> JSON,
    _ print: @escaping @Sendable () -> Void
  ) {
    let members = json == nil ? [] : [JSON.Member("before", before()), JSON.Member("after", after())]
    guard let foresight else { return tell(path, members, nil, print) }
    foresight.attach { self.tell(path, members, $0, print) }
  }

  private func tell(
    _ path: [UInt8], _ members: [JSON.Member], _ refusal: ForeseenRefusal?, _ print: () -> Void
  ) {
    if let json {
      let refused = refusal.map { [JSON.Member("refused", $0.json)] } ?? []
      json.add(JSON.nameMembers("path", path) + members + refused)
    } else if refusal == nil {
      print()
    }
  }

  // MARK: - Plans

  /// Takes a change that is only planned; what `tell` says next is about it.
  func foresee(_ item: PlannedItem) {
    foresight?.add(item, settle)
  }

  /// Settles everything planned so far; answers why the last of it would be refused, if it would.
  @discardableResult
  func settlePlan() -> Refusal? {
    foresight?.ask(settle)
  }

  /// Which of these deeds somebody who plans could not do any more after these steps.
  func closed(_ item: VisitedItem, after steps: [PlannedStep], _ deeds: [String]) -> Set<String> {
    let closed = SharedSet()
    for deed in deeds {
      var probe = PlannedItem(
        location: item.location, place: item.place, steps: steps + [.then(deed)],
        refusal: { error, _ in Refusal(error) })
      probe.isProbe = true
      probe.settled = { if $0?.deed == deed { closed.insert(deed) } }
      foresee(probe)
    }
    settlePlan()
    return closed.words
  }

  /// From here on it is said once that nothing of a tree can be changed.
  func beginTree() {
    settlePlan()
    volumeWasTold.withLock { $0 = false }
  }

  private func settle(_ item: PlannedItem, _ foreseen: ForeseenRefusal?) {
    item.settled?(foreseen)
    guard !item.isProbe else { return }
    guard let foreseen else {
      guard let tell = item.tell else { return count { $0.unchanged += 1 } }
      count { $0.changed += 1 }
      return tell(nil)
    }
    guard !wasTold(foreseen.refusal) else { return count { $0.left += 1 } }
    count { $0.refused += 1 }
    if let tell = item.tell { tell(foreseen) } else { self.tell(item.location.path, [], foreseen) {} }
    console.complain(item.location.path, foreseen.refusal.sentence)
  }

  private func wasTold(_ refusal: Refusal) -> Bool {
    guard refusal.isAboutVolume else { return false }
    return volumeWasTold.withLock { told in
      defer { if told != nil { told = true } }
      return told == true
    }
  }

  // MARK: - The end

  /// Ends the work: the undo file, the summary, the exit status.
  func finish() -> Int32 {
    settlePlan()
    undo?.end()
    let counts = counts.withLock { $0 }
    let failed = console.failures
    // Each item has come to one of these, so they always add up.
    let items = counts.changed + counts.unchanged + counts.left + failed
    if let json {
      json.end(
        [
          JSON.Member("dryRun", .bool(isDryRun)), JSON.Member("items", .number(items)),
          JSON.Member("changed", .number(counts.changed)),
          JSON.Member("unchanged", .number(counts.unchanged)),
          JSON.Member("leftAlone", .number(counts.left)), JSON.Member("failed", .number(failed)),
          JSON.Member("interrupted", .bool(Interruption.isRequested)),
        ] + (foresight?.unknown.map { [JSON.Member("refusalsUnknown", .string($0))] } ?? []))
    } else if isDryRun {
      let refused = counts.refused > 0 ? ", \(grouped(counts.refused)) would be refused" : ""
      console.print("\(grouped(counts.changed)) of \(counted(items)) would change\(refused)\n")
    }
    if Interruption.isRequested { stopped(after: items, changed: counts.changed) }
    if json == nil, !isDryRun, tellsHow, !isQuiet {
      let left = counts.left > 0 ? ", \(grouped(counts.left)) left alone" : ""
      console.note(
        "\(counted(items)), \(grouped(counts.changed)) changed\(left), \(failed) failed")
    }
    return console.finish()
  }

  private func stopped(after items: Int, changed: Int) {
    var sentence = "interrupted after \(counted(items)), \(grouped(changed)) changed"
    if !isDryRun {
      switch (repetition, undo == nil) {
      case (.harmless, true): sentence += "; run it again to go on"
      case (.harmless, false):
        sentence += "; run it again with --resume to go on, or go back with 'varve acl restore'"
      case (.changesAgain, true):
        sentence += "; run again it would change those once more: name the others"
      case (.changesAgain, false):
        sentence += "; run again it would change those once more: go back with 'varve acl restore' first"
      }
    }
    // Silence is about failures; that the work is not done must be known.
    console.isSilent = false
    console.note(sentence)
    _ = console.finish()
    Interruption.end()
  }
}

/// Words that come from another place.
private final class SharedSet: Sendable {
  private let state: Mutex<Set<String>> = Mutex([])

  var words: Set<String> { state.withLock { $0 } }

  func insert(_ word: String) {
    state.withLock { _ = $0.insert(word) }
  }
}
