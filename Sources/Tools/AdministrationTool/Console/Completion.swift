// `varve completion`: the scripts for shells, and what they ask about this machine while a user types.

import AccessControl
import Arguments
import LinuxFiles
import LinuxPrograms
import TextForms

func printCompletion(_ invocation: Invocation) throws(UsageError) -> Int32 {
  let name = String(decoding: invocation.operands[0], as: UTF8.self)
  let typed = invocation.operands.count > 1 ? invocation.operands[1] : []
  switch name {
  case "entry":
    return printLines(EntryCompletion(accounts(typed)).entries(String(decoding: typed, as: UTF8.self)))
  case "who":
    return printLines(EntryCompletion(accounts(typed)).identities(String(decoding: typed, as: UTF8.self)))
  case "owner":
    return printLines(owners(String(decoding: typed, as: UTF8.self)))
  case "mounts":
    let points = ((try? mountTable()) ?? []).filter { $0.isOurs && $0.mountPoint.starts(with: typed) }.map(
      \.mountPoint)
    // A line is a mount point.
    return printLines(
      points.filter { !$0.contains(UInt8(ascii: "\n")) }.map { String(decoding: $0, as: UTF8.self) })
  default: break
  }
  guard let shell = Shell(rawValue: name) else {
    throw invocation.mistake("'\(name)' is not a shell known here: bash, zsh and fish are")
  }
  guard typed.isEmpty else {
    throw invocation.mistake("a script is for all words; leave out '\(shown(typed))'")
  }
  return printed(Program.varve.completion(for: shell))
}

private func printLines(_ lines: [String]) -> Int32 {
  printed(lines.map { "\($0)\n" }.joined())
}

/// How OWNER, OWNER:GROUP, :GROUP or :group=GROUP of chown may go on.
private func owners(_ typed: String) -> [String] {
  guard let colon = typed.firstIndex(of: ":") else {
    return UserDatabase.userNames().filter { $0.hasPrefix(typed) }
  }
  let owningGroup = ":group="
  let start = typed.hasPrefix(owningGroup) ? owningGroup : String(typed[...colon])
  return UserDatabase.groupNames().map { start + $0 }.filter { $0.hasPrefix(typed) }
}

/// Those there are, unless the name is typed already: a directory server may take long to list them all.
private func accounts(_ typed: Word) -> (users: [String], groups: [String]) {
  typed.contains(UInt8(ascii: " ")) ? ([], []) : (UserDatabase.userNames(), UserDatabase.groupNames())
}
