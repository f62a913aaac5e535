// `varve acl edit`: a list in an editor, as often as it takes.

import AccessControl
import AccessForms
import Arguments
import LinuxFiles
import LinuxPrograms
import TextForms

func editLists(_ invocation: Invocation) throws(UsageError) -> Int32 {
  let console = Console(invocation)
  let changer = try ListChanger(invocation, console)
  let editor = ListEditor(console: console, changer: changer, isNumeric: invocation.has(.numbers))
  for path in invocation.operands {
    do throws(Refusal) { try editor.edit(path) } catch { console.complain(path, error.sentence) }
  }
  return changer.finish()
}

private struct ListEditor {
  let console: Console
  let changer: ListChanger
  let isNumeric: Bool

  func edit(_ path: Word) throws(Refusal) {
    let held = SharedDescriptor(try attempt(Descriptor.item(atPath: path, .followed)))
    let status = try attempt(held.descriptor.status())
    let before = try held.descriptor.accessList()
    let kind = status.objectKind
    let location = ItemLocation(root: path, above: [], name: [])
    // Where it can only be removed, there is still something to do in an editor.
    if let refusal = changer.refusal(location, held, isRemoved: false),
      before == nil || changer.refusal(location, held, isRemoved: true) != nil
    {
      throw refusal
    }
    let text = Array(sheet(before, path, kind).utf8)
    let directory = environment("TMPDIR") ?? Array("/tmp".utf8)
    let file = try attempt(WritableFile.temporary(in: directory, suffix: ".acl", contents: text)) {
      Refusal("no file to edit in \(shown(directory)): \($0)")
    }
    guard let edited = try edited(file, former: text) else {
      forget(file)
      if !console.isQuiet { console.note(path, "unchanged") }
      return
    }
    let after = edited.isEmpty ? nil : edited
    do throws(Refusal) {
      guard try held.descriptor.accessList() == before else {
        throw Refusal("the list has changed meanwhile")
      }
      guard try store(after, held, status, path) else {
        return console.note(path, "not changed; what you wrote is in \(shown(file))")
      }
      forget(file)
    } catch {
      throw Refusal("\(error.sentence); what you wrote is in \(shown(file))")
    }
  }

  /// Answers whether that could be done; if not, it was said why.
  private func store(
    _ after: AccessList?, _ held: SharedDescriptor, _ status: FileStatus, _ path: Word
  ) throws(Refusal) -> Bool {
    try attempt(changer.undo?.begin(path))
    let rule = ListRule { before, _ in before == after ? .unchanged : .store(after) }
    let failures = console.failures
    _ = changer.change(
      VisitedItem(
        location: ItemLocation(root: path, above: [], name: []), status: status, held: held, depth: 0),
      by: rule)
    guard console.failures == failures else { return false }
    if after == nil, !console.isQuiet { console.note(path, "no entry is left; the access list was removed") }
    return true
  }

  /// Lets the text be edited until it is a list; nil if it was left as it was, or given up.
  private func edited(_ file: [UInt8], former: [UInt8]) throws(Refusal) -> AccessList? {
    while true {
      do throws(Refusal) { try run(file) } catch {
        guard (try? Descriptor.reading(file).readToEnd(limit: 1 << 20)) == former else {
          throw Refusal("\(error.sentence); what you wrote is in \(shown(file))")
        }
        forget(file)
        throw error
      }
      let text = try attempt(Descriptor.reading(file).readToEnd(limit: 1 << 20)) {
        Refusal("\(shown(file)): \($0)")
      }
      guard text != former else { return nil }
      do throws(FormatFailure) {
        return try ListFormat.macos.list(text, names: .machine)
      } catch {
        console.explain(error.sentence)
        if let line = error.line { console.explain("  " + self.line(line, of: text)) }
        guard try wantsToGoOn() else {
          throw Refusal("not changed; what you wrote is in \(shown(file))")
        }
      }
    }
  }

  private func line(_ number: Int, of text: [UInt8]) -> String {
    let lines = text.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    return lines.indices.contains(number - 1) ? PathText.escaped(Array(lines[number - 1])) : ""
  }

  /// Asks on a terminal; without one, nobody could answer.
  private func wantsToGoOn() throws(Refusal) -> Bool {
    guard StandardStream.input.isTerminal else { return false }
    try? StandardStream.error.write(Array("Edit again? [Y/n] ".utf8))
    guard let first = try attempt(StandardStream.input.readLine(limit: 80)).first else { return false }
    return !"nNq".utf8.contains(first)
  }

  /// Runs the editor through a shell, because people keep options in these variables: `code --wait`.
  private func run(_ file: [UInt8]) throws(Refusal) {
    let chosen = [environment("VISUAL"), environment("EDITOR")].compactMap { $0 }.first { !$0.isEmpty }
    let fallback = ["/usr/bin/sensible-editor", "/usr/bin/nano", "/usr/bin/vi"].map { Array($0.utf8) }
    guard let editor = chosen ?? fallback.first(where: { isExecutable($0) }) else {
      throw Refusal("there is no editor; set VISUAL or EDITOR")
    }
    let words = ["sh", "-c", String(decoding: editor, as: UTF8.self) + " \"$@\"", "sh"].map { Array($0.utf8) }
    do throws(Errno) {
      let child = try ChildProcess(
        Array("/bin/sh".utf8), words: words + [file],
        ChildProcess.Streams(input: 0, output: 1, error: 2))
      let status = try Interruption.leave { () throws(Errno) in try child.wait() }
      guard status == 0 else { throw .canceled }
    } catch .canceled {
      throw Refusal("the editor '\(PathText.escaped(editor))' failed; not changed")
    } catch {
      throw Refusal("the editor '\(PathText.escaped(editor))': \(error)")
    }
  }

  private func forget(_ file: [UInt8]) {
    // A file that stays in the directory for temporary files is no failure of the edit.
    try? removeFile(file)
  }

  private func sheet(_ list: AccessList?, _ path: Word, _ kind: ObjectKind) -> String {
    var text =
      "# The access list of \(PathText.escaped(path)), a \(kind == .directory ? "directory" : "file").\n"
    text += "# One entry a line; the first that applies decides. Lines with # are comments.\n\n"
    for line in list.map({ ListFormat.macos.lines($0, for: kind, names: .machine, numeric: isNumeric) }) ?? []
    {
      text += line + "\n"
    }
    let rights =
      kind == .directory
      ? "list add_file search add_subdirectory delete_child" : "read write execute append"
    text += """

      #   [user:|group:]NAME [inherited] allow|deny WORD,WORD,...
      # NAME: a user, a group, a number, everyone, owner@, group@ or nobody@
      # Rights: \(rights) delete
      #   readattr writeattr readextattr writeextattr readsecurity writesecurity chown
      #   in short: full, modify, readonly

      """
    if kind == .directory {
      text += "# For what is made here: file_inherit directory_inherit limit_inherit only_inherit\n"
    }
    return text + "# Without any entry the access list is removed.\n"
  }
}
