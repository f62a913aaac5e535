// `varve acl dump`: every list of a tree, to keep or to carry elsewhere; with `--all` flags, modes and owners, too.

import AccessControl
import AccessForms
import Arguments
import FlagRules
import LinuxFiles
import LinuxPrograms

func dumpLists(_ invocation: Invocation) throws(UsageError) -> Int32 {
  let console = Console(invocation)
  let paths = try PathOperands(invocation)
  let isWhole = invocation.has(.dumpAll)
  let printed = invocation.has(.withNames) ? NameBook.machine : nil
  // On a terminal the dump itself shows that something happens.
  let progress = StandardStream.output.isTerminal ? nil : console.progress()
  Interruption.watch()
  console.print("\(DumpReader.header)\n")
  paths.forEach(console) { path in
    do throws(Errno) {
      console.print(DumpReader.rootLine(try absolute(path)) + "\n")
    } catch {
      console.complain(path, error)
      return
    }
    var walk = ItemWalk.ofLists(isRecursive: true, console, progress)
    // Links have owners and flags, but no lists.
    walk.actsOnLinks = isWhole
    walk.go(path, leaf: nil) { item in
      let isLink = item.status.kind == .symbolicLink
      guard isWhole || !isLink else { return .past }
      do throws(Refusal) {
        let kind = item.status.objectKind
        let list = isLink ? nil : try item.held.descriptor.accessList()
        let record = DumpRecord(
          item.status.recordKind, path: item.location.relative,
          facts: isWhole ? try facts(of: item) : ItemFacts(),
          lines: isLink ? nil : numericLines(list, kind, printed))
        console.print(record.text(names: printed ?? .numeric))
        return .into
      } catch {
        console.complain(item.path, error.sentence)
        // The walk stays on one file system, and what is below has its own lists.
        return error.isAboutVolume ? .past : .into
      }
    }
  }
  guard !Interruption.isRequested else {
    _ = console.finish()
    Interruption.end()
  }
  console.print("\(DumpReader.end)\n")
  return console.finish()
}

/// What `acl restore` can bring back of an item beside its list, and `chmod`, `chflags` and `chown` change.
private func facts(of item: VisitedItem) throws(Refusal) -> ItemFacts {
  let held = item.held
  let told: (status: FileStatus, owner: ItemFacts.Owner, flags: FileFlags?)
  do throws(Errno) {
    let status = try held.descriptor.status()
    told = (status, try held.descriptor.owner(status), try held.descriptor.fileFlags())
  } catch {
    throw Refusal.reading(error, held.descriptor)
  }
  guard let flags = told.flags else { throw Refusal(.unsupported) }
  return ItemFacts(
    owner: told.owner, group: told.status.group,
    mode: told.status.kind == .symbolicLink ? nil : UInt32(told.status.mode), flags: flags.rawValue)
}
