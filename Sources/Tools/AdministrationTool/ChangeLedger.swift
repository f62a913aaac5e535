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
  }

  func count(_ change: (inout Counts) -> Void) {
    counts.withLock { change(&$0) }
  }

  /// Tells of a change as an object, if that is asked for; answers whether it was.
  func addJSON(_ path: [UInt8], before: @autoclosure () -> JSON, after: @autoclosure () -> JSON) -> Bool {
    guard let json else { return false }
    json.add(
      JSON.nameMembers("path", path) + [
        JSON.Member("before", before()), JSON.Member("after", after()),
      ])
    return true
  }

  /// Ends the work: the undo file, the summary, the exit status.
  func finish() -> Int32 {
    undo?.end()
    let counts = counts.withLock { $0 }
    let failed = console.failures
    // Each item has come to one of these, so they always add up.
    let items = counts.changed + counts.unchanged + counts.left + failed
    if let json {
      json.end([
        JSON.Member("dryRun", .bool(isDryRun)), JSON.Member("items", .number(items)),
        JSON.Member("changed", .number(counts.changed)), JSON.Member("unchanged", .number(counts.unchanged)),
        JSON.Member("leftAlone", .number(counts.left)), JSON.Member("failed", .number(failed)),
        JSON.Member("interrupted", .bool(Interruption.isRequested)),
      ])
    } else if isDryRun {
      console.print("\(grouped(counts.changed)) of \(counted(items)) would change\n")
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
