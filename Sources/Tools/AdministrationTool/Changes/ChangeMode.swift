// `varve chmod`: modes for chmod(2), and the forms of macOS for access lists.

import AccessControl
import AccessForms
import Arguments
import JSONForm
import LinuxFiles
import LinuxPrograms
import TextForms

func changeMode(_ invocation: Invocation) throws(UsageError) -> Int32 {
  let console = Console(invocation)
  if invocation.has(.recursive), invocation.has(.actOnLinks) {
    throw UsageError("-R and -h exclude each other", verb: "chmod")
  }
  let request = try ModeRequest(invocation)
  if request.action.changesAgain, invocation.has(.resume) {
    throw invocation.mistake(
      "a change that counts entries cannot be resumed: it would change the same items again; go back "
        + "with 'varve acl restore' first")
  }
  let run = try ItemRun(
    invocation, console, request.paths, repetition: request.action.changesAgain ? .changesAgain : .harmless)
  let change = ChangeOfItem(
    run: run, umask: ThisProgram.umask, showsEntries: invocation.has(.dryRun) && invocation.has(.listChanges))
  let walk = ItemWalk(invocation, .directoryFirst, console)
  run.go(walk) { item throws(Refusal) in
    try change.apply(request.action, to: item)
  }
  return run.finish()
}

/// Does to one item what was asked for.
private struct ChangeOfItem {
  let run: ItemRun
  let umask: UInt32
  /// Whether a plan shows which entries come and go.
  let showsEntries: Bool

  func apply(_ action: ModeRequest.Action, to item: VisitedItem) throws(Refusal) {
    switch action {
    case .mode(let change): try apply(change, to: item)
    case .checkOrder: try checkOrder(of: item)
    case .edit(let edit): try apply(edit, to: item)
    }
  }

  private func apply(_ change: FileModeChange, to item: VisitedItem) throws(Refusal) {
    let noMode = Refusal("a link has no mode of its own on Linux (ENOTSUP)")
    if run.ledger.isDryRun, item.status.kind == .symbolicLink { throw noMode }
    let (type, old) = (item.status.kind.modeBits, UInt32(item.status.mode))
    let asked =
      change.applied(to: type | old, isDirectory: item.status.kind == .directory, umask: umask) & 0o7777
    // A set-gid bit that stands and is asked for goes all the same, if it is not granted any more.
    let mayDiffer = asked != old || (asked & 0o2000 != 0 && !CurrentProcess.isRoot)
    let isKept = mayDiffer && item.status.kind != .symbolicLink
    let ledger = run.ledger
    try run.change(item, facts: isKept ? ItemFacts(mode: old) : ItemFacts(), changes: [.mode(asked)]) {
      error in
      guard error != .unsupported || item.status.kind != .symbolicLink else { return noMode }
      return Refusal.change(error, item.path, item.held.descriptor, needs: "writesecurity")
    } tell: { prospect in
      let mode = ledger.isDryRun ? prospect.otherMode ?? asked : standing(item, asked)
      let isWatched = ledger.detail > 0 && !ledger.console.isQuiet && prospect.refusal == nil
      if isWatched, asked & 0o2000 & ~mode != 0 {
        ledger.say(item.path) { [path = item.path, group = item.status.group] in
          ledger.console.note(
            path, "stays without its set-gid bit, which only members of group \(group) can set")
        }
      }
      guard mode != old else { return nil }
      return ledger.told(
        item, "\(shown(type | old)) -> \(shown(type | mode))", before: .object(ItemFacts(mode: old).members),
        after: .object(ItemFacts(mode: mode).members))
    } _: { () throws(Errno) in
      // Also if nothing differs: whether it is permitted is for the volume to say.
      try item.held.descriptor.changeMode(UInt16(truncatingIfNeeded: asked))
    }
  }

  private func apply(_ edit: AccessListEdit, to item: VisitedItem) throws(Refusal) {
    let before: AccessList?
    do throws(Refusal) {
      before = try item.held.descriptor.accessList()
    } catch {
      // What is removed need not be readable.
      guard edit == .removeList else { throw error }
      return try store(nil, in: item, before: nil, isTold: false)
    }
    let after: AccessList?
    do throws(EditFailure) {
      after = try edit.applied(to: before)
    } catch {
      // As chmod of macOS has it: a position that exists nowhere is a mistake in the command, not in a file.
      guard case .insert = edit, case .noSuchPosition = error else { throw Refusal("\(error)") }
      run.console.complain(item.path, "\(error)")
      ThisProgram.exit(run.finish())
    }
    guard after != before else { return }
    if before == nil, case .replaceEntry(let position, _) = edit, position > 0, !run.console.isQuiet {
      run.console.note(item.path, "there was no access list; the entry became entry 0")
    }
    try store(after, in: item, before: before)
  }

  private func store(
    _ list: AccessList?, in item: VisitedItem, before: AccessList?, isTold: Bool = true
  ) throws(Refusal) {
    let (kind, ledger, showsEntries) = (item.status.objectKind, run.ledger, showsEntries)
    let change = AskedChange.list(isRemoved: list == nil)
    try run.change(item, lines: numericLines(before, kind), changes: [change]) { error in
      Refusal.change(error, item.path, item.held.descriptor, needs: "writesecurity")
    } tell: { _ in
      guard isTold else { return nil }
      let told = ledger.told(
        item, entryCounts(before, list), before: ListFormat.json(before, for: kind, names: .machine),
        after: ListFormat.json(list, for: kind, names: .machine))
      guard showsEntries else { return told }
      return ToldChange(members: told.members) {
        told.line()
        ledger.console.printDifferences(before, list, kind)
      }
    } _: { () throws(Errno) in
      try item.held.descriptor.setAccessListText(storedText(list, kind))
    }
  }

  private func checkOrder(of item: VisitedItem) throws(Refusal) {
    guard let list = try item.held.descriptor.accessList() else { return }
    do throws(NoCanonicalPosition) {
      guard try !list.isCanonical() else { return }
    } catch {
      throw Refusal("entry \(error.entry) neither allows nor denies")
    }
    throw Refusal("the access list is not in canonical order; 'varve acl sort' fixes that")
  }
}

/// The mode an item has after a change to `mode`: a file system may drop bits, and add some.
private func standing(_ item: VisitedItem, _ mode: UInt32) -> UInt32 {
  // Not known is taken for done.
  UInt32((try? item.held.descriptor.knownStatus().mode) ?? UInt16(truncatingIfNeeded: mode))
}

private func shown(_ mode: UInt32) -> String { "0\(String(mode, radix: 8)) [\(modeText(mode)) ]" }
