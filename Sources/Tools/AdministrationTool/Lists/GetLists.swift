// `varve acl get`: lists as text, for people, for other tools and for `varve acl set`.

import AccessControl
import AccessForms
import Arguments
import JSONForm
import LinuxFiles
import LinuxPrograms
import TextForms

func getLists(_ invocation: Invocation) throws(UsageError) -> Int32 {
  let console = Console(invocation)
  let paths = try PathOperands(invocation)
  var format = try listFormat(invocation)
  if invocation.has(.json) { format = .json }
  let printer = ListPrinter(invocation, format, console, colors: try Colors(invocation))
  paths.forEach(console) { path in
    let walk = ItemWalk.ofLists(isRecursive: invocation.has(.recursive), console)
    walk.go(path, leaf: nil) { printer.show($0) ? .into : .past }
  }
  printer.json?.end()
  return console.finish()
}

/// Prints one list after the other.
private final class ListPrinter {
  private let format: ListFormat
  let json: JSONStream?
  private let console: Console
  private let colors: Colors
  private let isNumeric: Bool
  /// Items without a list are passed over in a tree.
  private let showsEverything: Bool
  private var isFirst = true
  private let isForTerminal = StandardStream.output.isTerminal

  init(_ invocation: Invocation, _ format: ListFormat, _ console: Console, colors: Colors) {
    self.format = format
    self.console = console
    self.colors = colors
    isNumeric = invocation.has(.numbers)
    showsEverything = invocation.has(.everyItem) || !invocation.has(.recursive)
    json = format == .json ? JSONStream(nil, console) : nil
  }

  /// Answers whether what is below can be any different.
  func show(_ item: VisitedItem) -> Bool {
    do throws(Refusal) {
      guard item.status.kind != .symbolicLink else { return true }
      let list = try item.held.descriptor.accessList()
      guard list != nil || showsEverything || item.depth == 0 else { return true }
      let kind = item.status.objectKind
      if let json { json.add(members(list, item, kind)) } else { showText(list, item, kind) }
      isFirst = false
      return true
    } catch {
      console.complain(item.path, error.sentence)
      // The walk stays on one file system.
      return !error.isAboutVolume
    }
  }

  private func showText(_ list: AccessList?, _ item: VisitedItem, _ kind: ObjectKind) {
    // Always on one line, or a name could pretend to be an entry.
    let name = PathText.escaped(item.path)
    console.print((isFirst ? "" : "\n") + colors.dimmed("# file: \(name)") + "\n")
    guard let list else {
      console.print(colors.dimmed("# no access list") + "\n")
      return
    }
    let lines = format.lines(list, for: kind, names: .machine, numeric: isNumeric)
    // A line of list flags may stand in front.
    let extra = lines.count - list.entries.count
    for (number, line) in lines.enumerated() {
      let entry = number >= extra ? list.entries[number - extra] : nil
      let text =
        isForTerminal ? String(decoding: PathText.forTerminal(Array(line.utf8)), as: UTF8.self) : line
      console.print(colors.entry(text, entry) + "\n")
    }
  }

  private func members(_ list: AccessList?, _ item: VisitedItem, _ kind: ObjectKind) -> [JSON.Member] {
    var members = JSON.nameMembers("path", item.path)
    members.append(JSON.Member("kind", .string("\(item.status.kind)")))
    if let flags = list?.flags, !flags.isEmpty {
      members.append(JSON.Member("noInherit", .bool(flags.contains(.noInherit))))
    }
    return members + [JSON.Member("acl", ListFormat.json(list, for: kind, names: .machine))]
  }
}
