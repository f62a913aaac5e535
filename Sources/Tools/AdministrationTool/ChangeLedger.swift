// What a run that changes items keeps account of: the plan, the way back, the counts, the end.

import AccessControl
import AccessForms
import Arguments
import FlagRules
import JSONForm
import LinuxFiles
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
    /// Of a plan: directories that only the run could look into.
    var unseen = 0
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
  let objects: PlannedObjects?
  /// The change that was planned last.
  private let lastPlanned: Mutex<PlannedItem?> = Mutex(nil)
  /// Whether that nothing here can be changed was said of the tree; nil if it is said of every item.
  private let volumeWasTold: Mutex<Bool?> = Mutex(nil)

  /// `mayRepeat`: whether it may come twice also to what has one name.
  init(
    _ invocation: Invocation, _ console: Console, undoVersion: DumpVersion = .lists,
    repetition: Repetition = .harmless, mayRepeat: Bool
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
    objects = isDryRun ? PlannedObjects(remembersAll: mayRepeat || invocation.has(.followAll)) : nil
    if let foresight {
      console.beforeComplaint = { [weak self] in _ = foresight.ask { self?.settle($0, $1) } }
    }
  }

  func count(_ change: (inout Counts) -> Void) {
    counts.withLock { change(&$0) }
  }

  /// Prints a change: as an object if that is asked for, else by `print`.
  ///
  /// In a plan that comes later, when it is known whether it would be refused. `isOfOwner`: whether there is none if the
  /// owner stays.
  func tell(
    _ path: [UInt8], before: @autoclosure () -> JSON, after: @autoclosure () -> JSON,
    isOfOwner: Bool = false, _ print: @escaping @Sendable () -> Void
  ) {
    let members = json == nil ? [] : [JSON.Member("before", before()), JSON.Member("after", after())]
    guard let foresight else { return tell(path, members, nil, print) }
    foresight.attach { foreseen in
      guard !isOfOwner || !foreseen.keepsOwner else { return false }
      self.tell(path, members, foreseen.refusal, print)
      return true
    }
  }

  /// The same of a mode in a plan: another may come of it than is asked for, and it is not known yet which.
  func tellMode(
    _ path: [UInt8], from before: UInt32, to asked: UInt32, note: @escaping @Sendable (UInt32) -> Void,
    _ print: @escaping @Sendable (UInt32) -> Void
  ) {
    foresight?.attach { foreseen in
      let after = foreseen.otherMode ?? asked
      if foreseen.refusal == nil { note(after) }
      guard after != before else { return false }
      let members = [
        JSON.Member("before", .object(ItemFacts(mode: before).members)),
        JSON.Member("after", .object(ItemFacts(mode: after).members)),
      ]
      self.tell(path, members, foreseen.refusal) { print(after) }
      return true
    }
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
    guard let foresight, let objects else { return }
    var item = item
    // Without a status it is planned as what it is now.
    if !item.isAboutNow, let status = try? item.place.descriptor.knownStatus() {
      var state = PlannedState()
      if let before = planned(status) {
        item.steps.insert(.assumed(before), at: 0)
        state = before
      }
      if item.settled == nil, objects.mayReturn(status) {
        for step in item.steps { state.take(step, status) }
        let key = ObjectKey(status)
        objects.open(key)
        item.leaves = (key, state)
      }
    }
    if item.settled == nil { lastPlanned.withLock { [item] in $0 = item } }
    foresight.add(item, settle)
  }

  /// Settles everything planned so far; answers why the last of it would be refused, if it would.
  @discardableResult
  func settlePlan() -> Refusal? {
    foresight?.ask(settle)
  }

  /// Asks what would become of an item after these steps; nothing is told of it.
  private func probe(
    _ item: VisitedItem, _ steps: [PlannedStep], isAboutNow: Bool = false,
    _ settled: @escaping @Sendable (Foreseen) -> Void
  ) {
    foresee(
      PlannedItem(
        location: item.location, place: item.place, steps: steps, refusal: { error, _ in Refusal(error) },
        settled: settled, isAboutNow: isAboutNow))
  }

  /// What of these is closed to whoever plans, now and after the change that was planned last.
  ///
  /// Nil if that was no change of this item, or would be refused.
  func foreseeEntrance(
    of item: VisitedItem
  ) -> (now: Set<EntranceDeed>, byThen: Set<EntranceDeed>)? {
    guard isDryRun else { return nil }
    let last = lastPlanned.withLock { $0 }
    let state = planned(item.status)
    let steps = last?.place === item.place ? last?.steps ?? [] : []
    guard state != nil || !steps.isEmpty else { return nil }
    let found: Mutex<(now: Set<EntranceDeed>, byThen: Set<EntranceDeed>)?> = Mutex(([], []))
    for deed in EntranceDeed.allCases {
      probe(item, [.then(deed.rawValue)], isAboutNow: true) { foreseen in
        if foreseen.refusal != nil { found.withLock { _ = $0?.now.insert(deed) } }
      }
      probe(item, (state == nil ? steps : []) + [.then(deed.rawValue)]) { foreseen in
        guard let refusal = foreseen.refusal else { return }
        found.withLock { found in
          if refusal.deed == deed.rawValue { found?.byThen.insert(deed) } else { found = nil }
        }
      }
    }
    settlePlan()
    return found.withLock { $0 }
  }

  /// From here on it is said once that nothing of a tree can be changed.
  func beginTree() {
    settlePlan()
    volumeWasTold.withLock { $0 = false }
  }

  private func settle(_ item: PlannedItem, _ foreseen: Foreseen) {
    if let settled = item.settled { return settled(foreseen) }
    guard let refusal = foreseen.refusal else {
      let differs = item.tell?(foreseen) ?? false
      if var leaves = item.leaves {
        leaves.state.facts.mode = foreseen.otherMode ?? leaves.state.facts.mode
        objects?.settle(leaves.key, differs ? leaves.state : nil)
      }
      return count { if differs { $0.changed += 1 } else { $0.unchanged += 1 } }
    }
    if let key = item.leaves?.key { objects?.settle(key, nil) }
    guard !wasTold(refusal.refusal) else { return count { $0.left += 1 } }
    count { $0.refused += 1 }
    if item.tell?(foreseen) != true { tell(item.location.path, [], refusal) {} }
    console.complain(item.location.path, refusal.refusal.sentence)
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
        ] + (foresight?.unknown.map { [JSON.Member("refusalsUnknown", .string($0))] } ?? [])
          + (missing(counts).map { [JSON.Member("incomplete", .string($0))] } ?? []))
    } else if isDryRun {
      let refused = counts.refused > 0 ? ", \(grouped(counts.refused)) would be refused" : ""
      let others = failed - counts.refused
      let failing = others > 0 ? ", \(grouped(others)) would fail" : ""
      let missing = missing(counts).map { "; incomplete: \($0)" } ?? ""
      console.print(
        "\(grouped(counts.changed)) of \(counted(items)) would change\(refused)\(failing)\(missing)\n")
    }
    if Interruption.isRequested { stopped(after: items, changed: counts.changed) }
    if json == nil, !isDryRun, tellsHow, !isQuiet {
      let left = counts.left > 0 ? ", \(grouped(counts.left)) left alone" : ""
      console.note(
        "\(counted(items)), \(grouped(counts.changed)) changed\(left), \(failed) failed")
    }
    return console.finish()
  }

  /// What a plan does not know; nil if it is complete.
  private func missing(_ counts: Counts) -> String? {
    var reasons: [String] = []
    if counts.unseen > 0 {
      reasons.append(
        counts.unseen == 1
          ? "1 directory the run would open is not looked into"
          : "\(grouped(counts.unseen)) directories the run would open are not looked into")
    }
    if objects?.isFull == true {
      reasons.append(
        "not all that would have changed is remembered: what comes again may be planned as it is now")
    }
    return reasons.isEmpty ? nil : reasons.joined(separator: "; ")
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

// MARK: - Items as a plan leaves them

extension ChangeLedger {
  /// What an earlier part of the plan leaves of an object; nil in a run, and if it leaves it as it is.
  func planned(_ status: FileStatus) -> PlannedState? {
    guard let objects, objects.mayReturn(status) else { return nil }
    let key = ObjectKey(status)
    if objects.isOpen(key) { settlePlan() }
    return objects[key]
  }

  /// The item as the run would meet it.
  func asPlanned(_ item: VisitedItem) -> VisitedItem {
    guard let planned = planned(item.status) else { return item }
    return VisitedItem(
      location: item.location, status: planned.applied(to: item.status), place: item.place, depth: item.depth)
  }

  func flags(of item: VisitedItem) throws(Errno) -> FileFlags? {
    if let flags = planned(item.status)?.facts.flags { return FileFlags(rawValue: flags) }
    return try item.place.descriptor.fileFlags()
  }

  /// Whether a flag forbids to change the item.
  func isLocked(_ item: VisitedItem) -> Bool {
    // Not known is not locked: then the failure had another reason.
    guard let flags = try? flags(of: item) else { return false }
    return flags.isImmutable || flags.isAppendOnly
  }

  func owner(of item: VisitedItem, _ names: NameBook) throws(Errno) -> ItemFacts.Owner {
    if let owner = planned(item.status)?.facts.owner { return owner }
    return try item.place.descriptor.owner(item.status, names)
  }

  /// The text of the access list; nil if there is none.
  func listText(of place: SharedDescriptor) throws(Errno) -> [UInt8]? {
    if objects != nil, let list = planned(try place.descriptor.knownStatus())?.list { return list }
    return try place.descriptor.attribute(AttributeName("system.varve.acl"))
  }

  func accessList(of place: SharedDescriptor, _ names: NameBook) throws(Refusal) -> AccessList? {
    let text: [UInt8]?
    do throws(Errno) { text = try listText(of: place) } catch {
      throw Refusal.reading(error, place.descriptor)
    }
    return try readAccessList(text, names)
  }
}
