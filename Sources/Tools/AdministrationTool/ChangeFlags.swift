// `varve chflags`, as chflags(1) of macOS has it.

import Arguments
import FlagRules
import LinuxFiles
import LinuxPrograms
import RecordFormat
import Verbs

func changeFlags(_ invocation: Invocation) throws(UsageError) -> Int32 {
  let console = Console("varve chflags")
  console.isSilent = invocation.has(.force)
  // Locks that were copied as twins wait to be put into force; each item has its own.
  let isWaiting = invocation.operands[0] == Array("waiting".utf8)
  let named = isWaiting ? FileFlags.Instruction() : try flagInstruction(invocation.operands[0])
  let detail = invocation.count(.listChanges)
  // Contents first: a tree can be locked in one pass.
  let walk = ItemWalk(invocation, .contentsFirst, console)
  for path in invocation.operands.dropFirst() {
    var isOutside = false
    walk.go(path) { item in
      do throws(Refusal) {
        let wanted = isWaiting ? try waitingFlags(of: item) : named
        try change(item, wanted, detail: detail, console)
      } catch {
        guard error.isAboutVolume else { return console.complain(item.path, error.sentence) }
        // Once for a tree: the first thing that comes is at its bottom, and the rest is no different.
        if !isOutside { console.complain(keepsFlags(path) ? item.path : path, error.sentence) }
        isOutside = true
      }
    }
  }
  return console.finish()
}

/// Whether what is named is on a volume, so that something mounted below it is not.
private func keepsFlags(_ path: Word) -> Bool {
  // Of what cannot be asked, nothing is known.
  (try? Descriptor.place(path, .followed).fileFlags()) != nil
}

private func change(
  _ item: VisitedItem, _ wanted: FileFlags.Instruction, detail: Int, _ console: Console
) throws(Refusal) {
  let place = item.place
  do throws(Errno) {
    guard let before = try place.descriptor.fileFlags() else { throw .unsupported }
    let after = wanted.applied(to: before)
    guard after != before else { return }
    try place.descriptor.setFileFlags(after)
    guard detail > 0 else { return }
    let ignored = try place.descriptor.fileFlags()?.symmetricDifference(after) ?? []
    if !ignored.isEmpty {
      console.note(item.path, "\(ignored.text) is the volume's own to set, and stayed as it was")
    }
    guard ignored != after.symmetricDifference(before) else { return }
    console.printPath(item.path, detail > 1 ? ": \(octal(before)) -> \(octal(after))" : "")
  } catch {
    throw refusal(error, item, wanted)
  }
}

/// The flags that an item's twin tells, in force or not.
private func waitingFlags(of item: VisitedItem) throws(Refusal) -> FileFlags.Instruction {
  var wanted = FileFlags.Instruction()
  do throws(Errno) {
    guard let twin = try item.place.descriptor.attribute(AttributeName("user.varve.flags")) else {
      return wanted
    }
    guard let flags = TwinText.readFlags(twin) else { throw .badMessage }
    wanted.set = flags
    return wanted
  } catch {
    // Linux keeps `user.` attributes of files and directories only.
    if error == .notPermitted { return wanted }
    throw Refusal(error)
  }
}

/// Says why flags did not change: those of the system are root's, whatever else is right.
private func refusal(_ error: Errno, _ item: VisitedItem, _ wanted: FileFlags.Instruction) -> Refusal {
  guard error == .notPermitted else {
    return .change(error, item.path, item.place.descriptor, needs: "writesecurity")
  }
  guard let before = try? item.place.descriptor.fileFlags() else { return Refusal(error) }
  let changed = before.symmetricDifference(wanted.applied(to: before))
  let system = changed.intersection(.systemDomain)
  let pinned = before.intersection([.systemImmutable, .systemAppendOnly])
  if ThisProgram.isRoot, !pinned.isEmpty || !system.isEmpty {
    return Refusal(
      "\(pinned.union(system).text) cannot be changed while the volume is mounted with securelevel above 0, "
        + "or by root of a container (EPERM)")
  }
  if !system.isEmpty { return Refusal("only root may set or clear \(system.text) (EPERM)") }
  if !pinned.isEmpty {
    return Refusal("is locked by \(pinned.text), which only root may clear (EPERM)")
  }
  return Refusal(
    "\(error): this needs the right writesecurity, which the owner and root have; "
      + "'varve acl get' shows who else")
}

private func flagInstruction(_ word: Word) throws(UsageError) -> FileFlags.Instruction {
  do throws(FileFlags.UnknownWord) {
    return try FileFlags.instruction(String(decoding: word, as: UTF8.self))
  } catch {
    let known =
      Verb.flagWords + Verb.flagWords.map { $0 == "nodump" ? "dump" : "no\($0)" } + ["waiting"]
    guard !["waiting", "nowaiting"].contains(error.word) else {
      throw UsageError(
        "'waiting' stands alone: it is no flag, but puts locks into force that were copied", verb: "chflags",
        .value)
    }
    throw UsageError(
      "unknown flag '\(error.word)'" + suggestion(for: error.word, among: known), verb: "chflags", .value)
  }
}
