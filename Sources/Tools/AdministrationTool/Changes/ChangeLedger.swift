// What a run that changes items keeps account of: the dry run, the way back, the counts, the end.

import AccessControl
import AccessForms
import Arguments
import FlagRules
import JSONForm
import LinuxFiles
import LinuxPrograms
import Synchronization

/// The books of one run, for any thread.
final class ChangeLedger: Sendable {
  /// What items have come to; what failed is counted by the console.
  struct Counts {
    var changed = 0
    var unchanged = 0
    /// Left alone: with what is below, or on another file system.
    var left = 0
    /// Of a dry run: what would be refused.
    var refused = 0
    /// Of a dry run: what would be copied to the upper directory.
    var copied = 0
    var copiedBytes = 0
  }

  /// What running the same command again does to items that were changed already.
  enum Repetition {
    case harmless
    /// It would change them once more: the change counts from what is there.
    case changesAgain
  }

  /// So many items are counted at a glance: chmod, chflags and chown, which print nothing but paths on macOS, count more.
  private static let fewItems = 10

  let console: Console
  let undo: UndoFile?
  let isDryRun: Bool
  /// Whether each change is printed, and so has to happen in order.
  let tells: Bool
  /// Of chmod, chflags and chown: 0: nothing is printed of a change; 1: the path; 2: what it was and is.
  let detail: Int
  /// Whether it is printed how an item changes, and a count at the end.
  let tellsHow: Bool
  /// Whether the counts are printed for a script.
  var tellsCounts: Bool { json != nil }
  private let json: JSONStream?
  private let repetition: Repetition
  private let counts: Mutex<Counts> = Mutex(Counts())
  private let dryRun: DryRun?
  /// Of a dry run: files with several names that were counted as copied.
  private let copied: Mutex<Set<[UInt64]>> = Mutex([])
  /// The file whose failure a script was told of last.
  private let reported: Mutex<[UInt8]> = Mutex([])
  /// Whether that nothing here can be changed was said of the tree; nil if it is said of every item.
  private let volumeWasTold: Mutex<Bool?> = Mutex(nil)

  init(
    _ invocation: Invocation, _ console: Console, repetition: Repetition = .harmless, tells: Bool? = nil
  ) throws(UsageError) {
    self.console = console
    self.repetition = repetition
    isDryRun = invocation.has(.dryRun)
    tellsHow = invocation.has(.listChanged)
    detail = isDryRun ? 2 : invocation.count(.listChanges)
    self.tells = tells ?? (tellsHow || detail > 0)
    if !isDryRun { console.surviveOutputLoss() }
    undo = try UndoFile(invocation, console)
    json = invocation.has(.json) ? JSONStream("changes", console) : nil
    dryRun = isDryRun ? DryRun(console) : nil
    guard json != nil else { return }
    console.tellFailures { [weak self] path, sentence in self?.heard(path, sentence) }
  }

  func count(_ change: (inout Counts) -> Void) {
    counts.withLock { change(&$0) }
  }

  // MARK: - Changes

  /// Makes a change, after `record` was kept for the way back, and tells of it; in a dry run, asks about it.
  func change(
    _ item: ItemChange, keeping record: @autoclosure () -> DumpRecord? = nil,
    _ call: () throws(Refusal) -> Void
  ) throws(Refusal) {
    if let dryRun { return dryRun.add(item, settle) }
    if let undo, let record = record() { undo.keep([record]) }
    try call()
    settle(item, Prospect())
  }

  /// What chmod, chflags and chown tell of an item, as the options ask.
  func told(
    _ item: VisitedItem, _ how: @autoclosure () -> String,
    before: @escaping @autoclosure @Sendable () -> JSON,
    after: @escaping @autoclosure @Sendable () -> JSON
  ) -> ToldChange {
    let (console, location, rest) = (console, item.location, detail > 1 ? ": \(how())" : "")
    return ToldChange(before: before, after: after) { console.printPath(location.path, rest) }
  }

  /// Says something of a path; in a dry run at its end, in the order of paths.
  func say(_ path: [UInt8], _ body: @escaping @Sendable () -> Void) {
    if let dryRun { dryRun.tell(path, body) } else { body() }
  }

  private func say(_ item: ItemChange, _ told: ToldChange?, _ refused: [JSON.Member] = []) {
    let path = item.location.path
    say(path) {
      guard let json = self.json else {
        told?.line()
        return
      }
      json.add(JSON.nameMembers("path", path) + (told?.members() ?? []) + refused)
    }
  }

  /// Settles everything asked so far; answers why the last of it would be refused, if it would.
  @discardableResult
  func settle() -> Refusal? {
    dryRun?.ask(settle)
  }

  /// From here on it is said once that nothing of a tree can be changed.
  func beginTree() {
    settle()
    volumeWasTold.withLock { $0 = false }
  }

  /// Whether no other name of it was met before: all names of a file become one copy.
  private func isMetFirst(_ item: ItemChange) -> Bool {
    guard let status = try? item.held.descriptor.status(), status.linkCount > 1 else { return true }
    return copied.withLock { $0.insert([status.device, status.inode]).inserted }
  }

  private func settle(_ item: ItemChange, _ prospect: Prospect) {
    let told = item.tell(prospect)
    guard let refusal = prospect.refusal else {
      if let told, tells { say(item, told) }
      if told != nil, let bytes = prospect.copiedBytes, isMetFirst(item) {
        count {
          $0.copied += 1
          $0.copiedBytes += bytes
        }
      }
      return count { if told != nil { $0.changed += 1 } else { $0.unchanged += 1 } }
    }
    guard !wasTold(refusal) else { return count { $0.left += 1 } }
    count { $0.refused += 1 }
    if json != nil { say(item, told, prospect.refused.map { [JSON.Member("refused", $0)] } ?? []) }
    let path = item.location.path
    say(path) {
      self.reported.withLock { $0 = path }
      self.console.complain(path, refusal.sentence)
    }
  }

  private func wasTold(_ refusal: Refusal) -> Bool {
    guard refusal.isAboutVolume else { return false }
    return volumeWasTold.withLock { told in
      defer { if told != nil { told = true } }
      return told == true
    }
  }

  // MARK: - The end

  /// What a verb adds to the summary.
  struct Addition {
    /// In front of the count of a dry run.
    var sentence = ""
    var members: [JSON.Member] = []
  }

  /// Tells a script of an item that could not be changed; a person hears it from the console.
  func report(failureOf path: [UInt8], _ members: [JSON.Member]) {
    reported.withLock { $0 = path }
    json?.add(JSON.nameMembers("path", path) + members)
  }

  private func heard(_ path: [UInt8], _ sentence: String) {
    let isReported = reported.withLock { $0 == path }
    if !isReported { report(failureOf: path, [JSON.Member("error", .string(sentence))]) }
  }

  /// Ends the work: the undo file, the summary, the exit status.
  func finish(_ addition: () -> Addition = { Addition() }) -> Int32 {
    settle()
    dryRun?.end()
    let addition = addition()
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
        ] + addition.members + counts.copiedMembers
          + (dryRun?.unknown.map { [JSON.Member("refusalsUnknown", .string($0))] } ?? []))
    } else if isDryRun {
      let refused = counts.refused > 0 ? ", \(grouped(counts.refused)) would be refused" : ""
      let others = failed - counts.refused
      let failing = others > 0 ? ", \(grouped(others)) would fail" : ""
      if !addition.sentence.isEmpty { console.print("\(addition.sentence)\n") }
      console.print("\(grouped(counts.changed)) of \(counted(items)) would change\(refused)\(failing)\n")
      if counts.copied > 0 {
        console.print(
          "\(counted(counts.copied)) of lower layers, \(grouped(counts.copiedBytes)) bytes, would be copied to the "
            + "upper directory\n")
      }
    }
    if isDryRun, !console.isQuiet {
      console.note("as things stand now; earlier steps of the same run are not taken into account")
    }
    if Interruption.isRequested { stopped(after: items, changed: counts.changed) }
    let isCountWanted =
      tellsHow || console.hasShownProgress || (detail > 0 && items > ChangeLedger.fewItems)
    if json == nil, !isDryRun, isCountWanted, !console.isQuiet {
      let left = counts.left > 0 ? ", \(grouped(counts.left)) left alone" : ""
      console.note(
        "\(counted(items)), \(grouped(counts.changed)) changed\(left), \(grouped(failed)) failed")
    }
    return console.finish()
  }

  /// Items that were not tried, because of what was said of the volume.
  var leftAlone: Int { counts.withLock { $0.left } }

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

extension ChangeLedger.Counts {
  /// Nothing where nothing would be copied.
  fileprivate var copiedMembers: [JSON.Member] {
    guard copied > 0 else { return [] }
    return [JSON.Member("copied", .number(copied)), JSON.Member("copiedBytes", .number(copiedBytes))]
  }
}
