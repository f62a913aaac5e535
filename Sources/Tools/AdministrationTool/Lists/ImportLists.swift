// `varve acl import`: entries and a mode that say what the POSIX lists of a tree have said, in their place.
//
// For each item the entries come first, then the list goes, which gives the group what it really had. A run that ends in
// between leaves nobody more than there was, and running it again goes on.

import AccessControl
import AccessForms
import Arguments
import JSONForm
import LinuxFiles
import LinuxPrograms

func importLists(_ invocation: Invocation) throws(UsageError) -> Int32 {
  let console = Console(invocation)
  let paths = try PathOperands(invocation)
  let run = try ItemRun(invocation, console, paths)
  // Contents first: a list may close a directory to the user who runs this.
  var walk = ItemWalk(isRecursive: true, order: .contentsFirst, console)
  walk.links = .named
  walk.staysOnFileSystem = true
  var narrowed = 0
  run.go(walk) { item throws(Refusal) in
    if try importLists(of: item, run) { narrowed += 1 }
  }
  return run.finish {
    guard narrowed > 0 else { return ChangeLedger.Addition() }
    if !run.ledger.tellsCounts, !console.isQuiet {
      console.note(
        "\(counted(narrowed)) \(narrowed == 1 ? "has" : "have") groups of which neither has all rights of the other: "
          + "members of both get those of one")
    }
    return ChangeLedger.Addition(members: [JSON.Member("narrowed", .number(narrowed))])
  }
}

/// Answers whether members of several groups get less than the list gave them.
private func importLists(of item: VisitedItem, _ run: ItemRun) throws(Refusal) -> Bool {
  guard item.status.kind != .symbolicLink else {
    run.ignore()
    return false
  }
  let held = item.held
  let lists = try attempt(held.descriptor.posixLists()) { Refusal.reading($0, held.descriptor) }
  guard !lists.isEmpty else { return false }
  let kind = item.status.objectKind
  let before = try held.descriptor.accessList()
  let after: AccessList?
  do throws(TooManyEntries) {
    after = try lists.imported(into: before, for: kind, isSticky: item.status.mode & 0o1000 != 0)
  } catch {
    throw Refusal("its entries would be more than \(AccessList.entryLimit); left as it is")
  }
  let isNarrowed = lists.access?.hasRivalGroups ?? false || lists.initial?.hasRivalGroups ?? false
  let mode = lists.access.map { item.status.mode & ~0o777 | $0.modeBits } ?? item.status.mode
  let facts = ItemFacts(mode: UInt32(item.status.mode), posix: lists)
  let told = ItemFacts(mode: UInt32(mode), posix: PosixLists())
  let (console, location, detail) = (run.console, item.location, run.ledger.tellsHow)
  let shown = ToldChange {
    members(facts, before, kind)
  } after: {
    members(told, after, kind)
  } line: {
    let words = (before == after ? [] : [entryCounts(before, after)]) + differences(facts, told)
    console.printPath(location.path, ": \(words.joined(separator: ", "))")
    if detail { console.printDifferences(before, after, kind) }
  }
  let changes: [AskedChange] = (before == after ? [] : [.list(isRemoved: false)]) + [.mode(UInt32(mode))]
  let text = storedText(after, kind)
  try run.change(item, facts: facts, lines: numericLines(before, kind), changes: changes) { error in
    Refusal.change(error, item.path, item.held.descriptor, needs: "writesecurity")
  } tell: { _ in
    shown
  } _: { () throws(Errno) in
    if before != after { try held.descriptor.setAccessListText(text) }
    try held.descriptor.setPosixLists(PosixLists())
    // What was in a lower until now had its list there.
    if try held.descriptor.status().mode != mode { try held.descriptor.changeMode(mode) }
  }
  return isNarrowed
}

private func members(_ facts: ItemFacts, _ list: AccessList?, _ kind: ObjectKind) -> JSON {
  .object(facts.members + [JSON.Member("acl", ListFormat.json(list, for: kind, names: .machine))])
}
