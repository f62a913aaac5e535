// `varve acl dump`: every list of a tree, to keep or to carry elsewhere.

import AccessControl
import AccessForms
import Arguments
import LinuxFiles
import LinuxPrograms

func dumpLists(_ invocation: Invocation) throws(UsageError) -> Int32 {
  let console = Console(invocation)
  let paths = try PathOperands(invocation)
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
    let walk = ItemWalk.ofLists(isRecursive: true, console, progress)
    walk.go(path, leaf: nil) { item in
      guard item.status.kind != .symbolicLink else { return .past }
      do throws(Refusal) {
        let kind = item.status.objectKind
        let list = try item.held.descriptor.accessList()
        let record = DumpRecord(
          kind == .directory ? .directory : .file, path: item.location.relative,
          lines: numericLines(list, kind, printed))
        console.print(record.text)
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
