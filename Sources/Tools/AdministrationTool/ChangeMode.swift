// `varve chmod`: modes for chmod(2), and the forms of macOS for access lists.

import AccessControl
import Arguments
import LinuxFiles
import LinuxPrograms
import TextForms
import Verbs

func changeMode(_ invocation: Invocation) throws(UsageError) -> Int32 {
  let console = Console("varve chmod")
  let names = NameBook.machine(Accounts())
  let request = try ModeRequest(invocation, names)
  // Only now: what is wrong with the words is said in any case.
  console.isSilent = invocation.has(.force)
  if invocation.has(.recursive), invocation.has(.actOnLinks) {
    throw UsageError("-R and -h exclude each other", verb: "chmod")
  }
  let walk = ItemWalk(invocation, .directoryFirst, console)
  let change = ChangeOfItem(
    console: console, names: names, detail: invocation.count(.listChanges), umask: ThisProgram.umask)
  for path in request.paths {
    walk.go(path) { change.apply(request.action, to: $0) }
  }
  return console.finish()
}

/// Does to one item what was asked for.
private struct ChangeOfItem {
  let console: Console
  let names: NameBook
  let detail: Int
  let umask: UInt32

  func apply(_ action: ModeRequest.Action, to item: VisitedItem) {
    do throws(Refusal) {
      switch action {
      case .mode(let change): try apply(change, to: item)
      case .checkOrder: try checkOrder(of: item)
      case .edit(let edit): try apply(edit, to: item)
      }
    } catch {
      console.complain(item.path, error.sentence)
    }
  }

  private func apply(_ change: FileModeChange, to item: VisitedItem) throws(Refusal) {
    let before = item.status.kind.modeBits | UInt32(item.status.mode)
    let after = change.applied(to: before, isDirectory: item.status.kind == .directory, umask: umask)
    do throws(Errno) {
      // Also if nothing differs: whether it is permitted is for the volume to say.
      try item.place.descriptor.changeMode(UInt16(truncatingIfNeeded: after))
    } catch .unsupported where item.status.kind == .symbolicLink {
      throw Refusal("a link has no mode of its own on Linux (ENOTSUP)")
    } catch {
      throw Refusal.change(error, item.path, item.place.descriptor, needs: "writesecurity")
    }
    let complete = item.status.kind.modeBits | after
    guard detail > 0, complete != before else { return }
    report(item, "\(octal(before)) [\(modeText(before)) ] -> \(octal(complete)) [\(modeText(complete)) ]")
  }

  private func apply(_ edit: AccessListEdit, to item: VisitedItem) throws(Refusal) {
    let before: AccessList?
    do throws(Refusal) {
      before = try item.place.descriptor.accessList(names)
    } catch {
      // What is removed need not be readable.
      guard edit == .removeList else { throw error }
      return try item.place.descriptor.setAccessList(nil, of: item.status.kind, names, path: item.path)
    }
    let after: AccessList?
    do throws(EditFailure) {
      after = try edit.applied(to: before)
    } catch {
      // As chmod of macOS has it: a position that exists nowhere is a mistake in the command, not in a file.
      guard case .insert = edit, case .noSuchPosition = error else { throw Refusal("\(error)") }
      console.complain(item.path, "\(error)")
      ThisProgram.exit(console.finish())
    }
    guard after != before else { return }
    if before == nil, case .replaceEntry(let position, _) = edit, position > 0 {
      console.note(item.path, "there was no access list; the entry became entry 0")
    }
    try item.place.descriptor.setAccessList(after, of: item.status.kind, names, path: item.path)
    report(item, "\(before?.entries.count ?? 0) -> \(after?.entries.count ?? 0) entries")
  }

  private func checkOrder(of item: VisitedItem) throws(Refusal) {
    guard let list = try item.place.descriptor.accessList(names) else { return }
    do throws(NoCanonicalPlace) {
      guard try !list.isCanonical() else { return }
    } catch {
      throw Refusal("entry \(error.entry) neither allows nor denies")
    }
    throw Refusal("the access list is not in canonical order; 'varve acl sort' puts it into it")
  }

  private func report(_ item: VisitedItem, _ change: String) {
    guard detail > 0 else { return }
    console.printPath(item.path, detail > 1 ? ": \(change)" : "")
  }

  private func octal(_ mode: UInt32) -> String {
    "0" + String(mode, radix: 8)
  }
}
