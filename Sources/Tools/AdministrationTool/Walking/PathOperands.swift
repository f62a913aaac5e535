// The paths a verb is for: operands, and with -0 standard input.

import Arguments
import LinuxFiles
import LinuxPrograms
import TextForms

/// What parts the names of a path.
let slash = UInt8(ascii: "/")

/// Goes through the paths of a command line.
struct PathOperands {
  private let named: ArraySlice<Word>
  private let readsInput: Bool

  /// Takes the operands from the given one on; without any, and without -0, a path is missing.
  init(_ invocation: Invocation, from first: Int = 0) throws(UsageError) {
    try self.init(invocation.operands.dropFirst(first), invocation)
  }

  /// Takes these words of a command line.
  init(_ words: ArraySlice<Word>, _ invocation: Invocation) throws(UsageError) {
    named = words
    readsInput = invocation.has(.fromInput)
    // As on BSD they are names. But whoever writes `--dry-run` behind a path means that nothing is to happen.
    for word in invocation.lateOptions {
      do throws(Errno) { _ = try Descriptor.place(word, .held) } catch .noSuchFile {
        throw UsageError(
          "'\(PathText.escaped(word))' stands behind the operands, where it is a name, and there is no such file; "
            + "options stand in front of everything else", verb: invocation.verb)
      } catch {
        // It is there, and what is wrong with it will be said.
      }
    }
    if named.isEmpty, !readsInput { throw UsageError("PATH is missing", verb: invocation.verb) }
  }

  func forEach(_ console: Console, _ body: (Word) -> Void) {
    for path in named where !Interruption.isRequested { body(path) }
    guard readsInput else { return }
    var rest: [UInt8] = []
    // A page at a time: somebody may send millions.
    while !Interruption.isRequested {
      do throws(Errno) {
        let page = try StandardStream.input.read()
        let isLast = page.isEmpty
        rest += page
        var words = rest.split(separator: 0, omittingEmptySubsequences: false)
        // What has no end yet waits for the next page.
        rest = isLast ? [] : words.popLast().map { Array($0) } ?? []
        for word in words where !word.isEmpty && !Interruption.isRequested { body(Array(word)) }
        if isLast { return }
      } catch {
        console.complain("standard input: \(error)")
        return
      }
    }
  }
}
