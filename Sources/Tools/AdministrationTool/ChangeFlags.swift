// `varve chflags`, as chflags(1) of macOS has it.

import Arguments
import FlagRules
import LinuxFiles
import Verbs

func changeFlags(_ invocation: Invocation) throws(UsageError) -> Int32 {
  let console = Console("varve chflags")
  console.isSilent = invocation.has(.force)
  let wanted = try flagInstruction(invocation.operands[0])
  let detail = invocation.count(.listChanges)
  // Contents first: a tree can be locked in one pass.
  let walk = ItemWalk(invocation, .contentsFirst, console)
  for path in invocation.operands.dropFirst() {
    walk.go(path) { item in
      do throws(Errno) {
        guard let before = try item.place.descriptor.fileFlags() else { throw .unsupported }
        let after = wanted.applied(to: before)
        guard after != before else { return }
        try item.place.descriptor.setFileFlags(after)
        if detail > 0 {
          let change = detail > 1 ? ": \(octal(before)) -> \(octal(after))" : ""
          console.print(item.path + Array("\(change)\n".utf8))
        }
      } catch {
        console.complain(item.path, Refusal(error).sentence)
      }
    }
  }
  return console.finish()
}

private func flagInstruction(_ word: Word) throws(UsageError) -> FileFlags.Instruction {
  do throws(FileFlags.UnknownWord) {
    return try FileFlags.instruction(String(decoding: word, as: UTF8.self))
  } catch {
    let known = Verb.flagWords + Verb.flagWords.map { "no\($0)" } + ["dump"]
    throw UsageError(
      "unknown flag '\(error.word)'" + suggestion(for: error.word, among: known), verb: "chflags", .value)
  }
}
