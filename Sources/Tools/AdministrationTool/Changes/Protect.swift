// `varve protect`: the class of files and directories, set through the door `system.varve.class`. The volume does the rest.

import Arguments
import JSONForm
import LinuxFiles
import LinuxPrograms

func protect(_ invocation: Invocation) throws(UsageError) -> Int32 {
  if let swapped = swappedClass(invocation.operands) {
    throw UsageError(
      "the class comes first: 'varve protect \(swapped) \(shellWord(invocation.operands[0]))'",
      verb: invocation.verb, .value)
  }
  let wanted = try classNamed(invocation.operands[0], for: invocation.verb)
  let change = ChangeOfClass(
    to: wanted, try FormRun(invocation, PathOperands(invocation, from: 1), door: "system.varve.class"))
  change.form.go(invocation) { item throws(Refusal) in try change.apply(to: item) }
  return change.finish()
}

/// The class, where the only path stands before it.
private func swappedClass(_ operands: [Word]) -> String? {
  guard operands.count == 2, (try? classNamed(operands[0], for: nil)) == nil else { return nil }
  let word = String(decoding: operands[1], as: UTF8.self)
  return Verb.classWords.contains(word) ? word : nil
}

/// A class by its word or its letter.
func classNamed(_ word: Word, for verb: String?) throws(UsageError) -> String {
  let text = String(decoding: word, as: UTF8.self)
  if Verb.classWords.contains(text) { return text }
  let short = ["a": "complete", "b": "complete-unless-open", "c": "until-first-unlock"]
  if let known = short[text.lowercased()] { return known }
  let hint = suggestion(for: text, among: Verb.classWords)
  let words = "; the classes are complete (a), complete-unless-open (b), until-first-unlock (c) and none"
  throw UsageError("'\(text)' is not a class" + (hint.isEmpty ? words : hint), verb: verb, .value)
}

extension Descriptor {
  /// The word of the class; nil where files are not encrypted.
  borrowing func protectionWord() throws(Errno) -> String? {
    try attribute(AttributeName("system.varve.class")).map { String(decoding: $0, as: UTF8.self) }
  }
}

/// Gives items their class.
private final class ChangeOfClass {
  /// Below a directory that is changed alone, so many items are looked at.
  private static let mostBelow = 10_000

  private let wanted: String
  let form: FormRun
  private var run: ItemRun { form.items }
  private let tally = ProtectionTally()
  private let refusals: ClassRefusals

  init(to wanted: String, _ form: FormRun) {
    (self.wanted, self.form) = (wanted, form)
    refusals = ClassRefusals(to: wanted)
  }

  func apply(to item: VisitedItem) throws(Refusal) {
    let kind = item.status.kind
    guard kind == .regular || kind == .directory else {
      run.ignore()
      guard item.depth == 0 else { return }
      throw Refusal(
        kind == .symbolicLink
          ? "is a symbolic link, which is not followed here; name what it leads to"
          : "is neither a file nor a directory; nothing of it can be encrypted")
    }
    if form.wasMet(item) { return run.ignore() }
    let before = try attempt(item.held.descriptor.protectionWord()) { error in
      error == .unsupported
        ? Refusal.stored(item, for: .changing) ?? FormRun.unreadable(error, item)
        : FormRun.unreadable(error, item)
    }
    if before ?? "none" == wanted {
      tally.count(.standing, item.status)
    } else {
      try change(item, from: before ?? "none")
    }
    if kind == .directory, item.depth == 0, !form.isRecursive { tellWhatStays(below: item) }
  }

  private func change(_ item: VisitedItem, from before: String) throws(Refusal) {
    let isDirectory = item.status.kind == .directory
    let deed: ProtectionTally.Deed =
      isDirectory ? .directory : before == "none" ? .encrypt : wanted == "none" ? .decrypt : .otherClass
    let (tally, wanted, refusals, ledger) = (tally, wanted, refusals, run.ledger)
    let (location, status) = (item.location, item.status)
    let members: @Sendable (_ result: String) -> [JSON.Member] = { result in
      [JSON.Member("from", .string(before)), JSON.Member("to", .string(wanted))]
        + (isDirectory ? [] : [JSON.Member("size", .number(status.size))])
        + [JSON.Member("result", .string(result))]
    }
    let isWritten = deed == .encrypt || deed == .decrypt
    if isWritten, !ledger.isDryRun { run.progress?.begin(item.path, bytes: status.size) }
    var isGivenUp = false
    do throws(Refusal) {
      try run.change(item, changes: [.protection(wanted)]) { error in
        refusals.refusal(error, item, from: before)
      } tell: { prospect in
        let isRefused = prospect.refusal != nil
        if !isRefused { tally.count(deed, status) }
        return ToldChange {
          members(isRefused ? "refused" : ledger.isDryRun ? deed.plan : deed.result)
        } line: {
          ledger.console.printPath(location.path, ": \(before) -> \(wanted)")
        }
      } _: { () throws(Errno) in
        do throws(Errno) { try form.set(item, wanted) } catch {
          isGivenUp = error == .interrupted
          throw error
        }
      }
    } catch {
      // It is as it was, and the end says how to go on.
      if isGivenUp, Interruption.isRequested { return run.ignore() }
      form.report(error, of: item, members("failed"))
      throw error
    }
    if isWritten, !ledger.isDryRun { run.progress?.add(bytes: status.size) }
  }

  /// Says how many items of another class are below a directory that was changed alone.
  private func tellWhatStays(below directory: VisitedItem) {
    guard !run.console.isQuiet else { return }
    // What cannot be seen is no failure of this run.
    let silent = Console("")
    silent.isSilent = true
    var (seen, others) = (0, 0)
    var walk = ItemWalk(isRecursive: true, order: .directoryFirst, silent)
    walk.staysOnFileSystem = true
    walk.hasEnough = { seen > ChangeOfClass.mostBelow }
    walk.go(directory.path, at: directory.held, leaf: nil) { item in
      guard item.depth > 0, item.status.kind == .regular || item.status.kind == .directory else {
        return .into
      }
      seen += 1
      let word = try? item.held.descriptor.protectionWord()
      if word ?? "none" != wanted { others += 1 }
      return .into
    }
    guard others > 0 else { return }
    let count = (seen > ChangeOfClass.mostBelow ? "at least " : "") + counted(others)
    let verb = others == 1 ? "keeps what it has" : "keep what they have"
    run.console.note(directory.path, "\(count) below \(verb); -R changes what is there already")
  }

  func finish() -> Int32 {
    form.finish(tally, tells: run.ledger.tellsHow) { [tally, run] in
      var warnings: [String] = []
      if tally.bytes(of: .encrypt) > 0 {
        warnings.append(
          "the disk may keep the old bytes of what is encrypted now until their room is used again: they are not erased"
        )
      }
      let left = run.ledger.leftAlone
      if left > 0 {
        warnings.append(
          "\(counted(left)) \(left == 1 ? "was" : "were") not tried for the same reason; run it again to go on"
        )
      }
      return warnings
    }
  }
}
