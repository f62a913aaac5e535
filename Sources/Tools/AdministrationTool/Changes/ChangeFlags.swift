// `varve chflags`, as chflags(1) of macOS has it.

import AccessForms
import Arguments
import FlagRules
import JSONForm
import LinuxFiles
import LinuxPrograms
import RecordFormat
import TextForms

func changeFlags(_ invocation: Invocation) throws(UsageError) -> Int32 {
  let console = Console(invocation)
  // Locks that were copied as twins wait to be put into force; each item has its own.
  let isWaiting = invocation.operands[0] == waitingWord
  let named = isWaiting ? FileFlags.Instruction() : try flagInstruction(invocation)
  let paths = try PathOperands(invocation, from: 1)
  let run = try ItemRun(invocation, console, paths)
  // Contents first: a tree can be locked in one pass.
  let walk = ItemWalk(invocation, .contentsFirst, console)
  run.go(walk) { item throws(Refusal) in
    guard isWaiting else { return try change(item, named, run) }
    if item.depth == 0 { try requireTwins(item) }
    guard let waiting = try waitingFlags(of: item) else { return }
    var wanted = FileFlags.Instruction()
    wanted.set = waiting
    try change(item, wanted, run)
  }
  return run.finish()
}

private let waitingWord = Array("waiting".utf8)

private func change(
  _ item: VisitedItem, _ wanted: FileFlags.Instruction, _ run: ItemRun
) throws(Refusal) {
  let held = item.held
  guard let before = try attempt(held.descriptor.fileFlags(), { Refusal.flags($0, item, wanted) }) else {
    throw Refusal(.unsupported)
  }
  let asked = wanted.applied(to: before)
  let after = FlagChange(from: before, to: asked).after
  let ignored = asked.symmetricDifference(after)
  let ledger = run.ledger
  // Whoever named the item and nothing else is told; of a tree only who wants details.
  let isWanted = ledger.detail > 0 || (item.depth == 0 && after == before)
  if !ignored.isEmpty, isWanted, !run.console.isQuiet {
    run.console.note(item.path, "\(ignored.text) is the volume's own to set, and stays as it is")
  }
  guard after != before else {
    // Locks that wait are forgotten when the flags are set, also to what they are.
    guard !ledger.isDryRun, let told = try waitingFlags(of: item), !told.isSubset(of: before) else { return }
    return try attempt(held.descriptor.setFileFlags(after)) { Refusal.flags($0, item, wanted) }
  }
  let (old, new) = (ItemFacts(flags: before.rawValue), ItemFacts(flags: after.rawValue))
  try run.change(item, facts: old, changes: [.flags(after)]) { error in
    Refusal.flags(error, item, wanted)
  } tell: { _ in
    ledger.told(
      item,
      ledger.isDryRun
        ? "\(flagWords(old.flags)) -> \(flagWords(new.flags))"
        : "\(octal(before)) -> \(octal(after))", before: .object(old.members), after: .object(new.members))
  } _: { () throws(Errno) in
    try held.descriptor.setFileFlags(after)
  }
}

/// Without twins nothing tells which locks wait, and nothing must look as if there were none.
private func requireTwins(_ item: VisitedItem) throws(Refusal) {
  let mount = try TypedPath(item.path, try volumeTable()).mount
  guard mount.isOurs, case .array(let options) = (try? volumeStatus(mount))?["options"] else { return }
  guard options.contains(.string("twins")) else {
    throw Refusal(
      "which locks wait is told only where a volume is mounted with 'twins': "
        + "unmount it, and mount it with -o twins")
  }
}

/// The flags that an item's twin tells, in force or not; nil without a twin.
private func waitingFlags(of item: VisitedItem) throws(Refusal) -> FileFlags? {
  do throws(Errno) {
    guard let twin = try item.held.descriptor.attribute(AttributeName("user.varve.flags")) else { return nil }
    guard let flags = TwinText.readFlags(twin) else { throw .badMessage }
    return flags
  } catch {
    // Linux keeps `user.` attributes of files and directories only.
    if error == .notPermitted { return nil }
    throw Refusal(error)
  }
}

private func flagInstruction(_ invocation: Invocation) throws(UsageError) -> FileFlags.Instruction {
  do throws(UsageError) { return try flagInstruction(invocation.operands[0]) } catch {
    throw invocation.pathTooEarly { $0 == waitingWord || (try? flagInstruction($0)) != nil } ?? error
  }
}

private func flagInstruction(_ word: Word) throws(UsageError) -> FileFlags.Instruction {
  let instruction: FileFlags.Instruction
  do throws(FileFlags.UnknownWord) {
    instruction = try FileFlags.instruction(String(decoding: word, as: UTF8.self))
  } catch {
    let known =
      Verb.flagWords + Verb.flagWords.map { $0 == "nodump" ? "dump" : "no\($0)" } + ["waiting"]
    guard !["waiting", "nowaiting"].contains(error.word) else {
      throw UsageError(
        "'waiting' must be alone: it is not a flag, but puts locks into force that were copied",
        verb: "chflags", .value)
    }
    guard !["uunlnk", "nouunlnk", "uunlink", "nouunlink"].contains(error.word) else {
      throw UsageError(
        "there is no flag \(error.word) here: only root's sunlnk keeps an item from being removed; for your own use "
          + "uchg, or deny it: varve chmod +a \"everyone deny delete\" PATH", verb: "chflags", .value)
    }
    let hint = suggestion(for: error.word, among: known)
    throw UsageError(
      "unknown flag '\(error.word)'" + (hint.isEmpty ? "; 'varve help chflags' lists them" : hint),
      verb: "chflags", .value)
  }
  let unknown = instruction.whole?.subtracting(.known) ?? []
  guard unknown.isEmpty else {
    throw UsageError(
      "\(shown(word)) has bits that are not flags: \(octal(unknown))", verb: "chflags", .value)
  }
  return instruction
}
