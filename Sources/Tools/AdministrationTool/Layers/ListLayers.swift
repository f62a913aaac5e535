// `varve layer list`: the layers of a mounted volume, as its status tells them.

import Arguments
import JSONForm
import LinuxFiles
import LinuxPrograms
import TextForms

func listLayers(_ invocation: Invocation) throws(UsageError) -> Int32 {
  let console = Console(invocation)
  let path = invocation.operands.first ?? Array(".".utf8)
  do throws(Refusal) {
    let table = try attempt(mountTable()) { Refusal("/proc/self/mountinfo: \($0)") }
    let mount = try VolumePath(path, table).mount
    try requireItem(path)
    let status = try heardStatus(mount)
    if invocation.has(.json) {
      // A script finds the list of layers also where there is none, and the volume tells of former ones alone.
      let layers = JSON.Member("layers", status["layers"] ?? .array([]))
      let rest = ["broughtUp", "formerLowers", "replacedLowers", "upperDirectory"].compactMap { name in
        status[name].map { JSON.Member(name, $0) }
      }
      console.printLines(JSON.object([layers] + rest).indentedText() + "\n")
    } else {
      print(status, path, console)
    }
  } catch {
    console.complain(path, error.sentence)
  }
  return console.finish()
}

private func print(_ status: JSON, _ path: Word, _ console: Console) {
  if case .array(let layers)? = status["layers"] {
    for layer in layers { console.printLines(line(layer) + "\n") }
  } else {
    console.printPath(
      path, ": the volume has no lower directories; everything it shows is in its upper directory")
  }
  if let items = status["broughtUp"]?["items"]?.integer, let bytes = status["broughtUp"]?["bytes"]?.integer {
    console.print(
      "copied to the upper directory since it was mounted: \(counted(items)), \(grouped(bytes)) bytes\n"
    )
  }
  if let former = status["formerLowers"]?.string {
    console.printLines(
      former.isEmpty
        ? "the last time it was mounted without lowers\n" : "the last time it was mounted over: \(former)\n")
  }
  if let replaced = status["replacedLowers"]?.string {
    console.printLines("the last time another directory was there: \(replaced)\n")
  }
  if let words = status["upperDirectory"]?.string { console.printLines("the upper directory \(words)\n") }
}

private func line(_ layer: JSON) -> String {
  let number = layer["layer"]?.integer ?? 0
  var words: [String] = [number == 0 ? "upper" : "lower"]
  if let sealed = layer["sealed"] { words.append(sealed == .bool(true) ? "sealed" : "not sealed") }
  switch layer["records"]?.string {
  case "yes": words.append("has records")
  case "none": words.append("has no records")
  default: words.append("may have records")
  }
  if let entries = layer["indexEntries"]?.integer, entries > 0 {
    words.append("index of \(grouped(entries))")
  }
  let path = PathText.escaped(layer.nameBytes("path") ?? [])
  return "\(number) \(path) (\(layer["fileSystem"]?.string ?? "unknown")): \(words.joined(separator: ", "))"
}
