// `varve acl dump`: every list of a tree, to keep or to carry elsewhere.

import AccessControl
import AccessForms
import Arguments
import LinuxFiles
import LinuxPrograms
import Verbs

func dumpLists(_ invocation: Invocation) throws(UsageError) -> Int32 {
  let console = Console("varve acl dump")
  let paths = try PathOperands(invocation)
  let names = NameBook.machine(Accounts())
  let printed = invocation.has(.withNames) ? names : nil
  // On a terminal the dump itself shows that something happens.
  let progress =
    invocation.has(.quiet) || StandardStream.output.isTerminal ? nil : Progress("varve acl dump", console)
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
        let kind = ObjectKind(isDirectory: item.status.kind == .directory)
        let list = try item.place.descriptor.accessList(names)
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
