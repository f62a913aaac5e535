// What to say where the words of a command line are in the wrong order: the whole command, as it was probably meant.

import Arguments
import LinuxFiles
import LinuxPrograms

extension Invocation {
  /// The error for a path that came before the word it needs; nil if that is not what happened.
  ///
  /// `isFirst` tells whether a word makes sense in the place of the first operand. A word that names a file is taken for
  /// one, and where the files come from standard input the order is no mistake.
  func pathTooEarly(_ isFirst: (Word) -> Bool) -> UsageError? {
    guard operands.count > 1, !has(.fromInput), let last = operands.last,
      isFirst(last), !isItem(last), operands.dropLast().allSatisfy(isItem)
    else { return nil }
    return mistake("the path comes last; \(meant([last] + operands.dropLast()))")
  }

  /// `did you mean: varve chflags -R uchg plan`: the same command with other operands, for a shell.
  func meant(_ operands: [Word]) -> String {
    let options = given.map { one in
      let spelling = one.option.letter.map { "-\($0)" } ?? one.option.spelling
      guard let value = one.value else { return spelling }
      return spelling + (spelling.hasPrefix("--") ? "=" : " ") + shellOperand(value)
    }
    return "did you mean: "
      + (["varve \(verb)"] + options + operands.map(shellOperand)).joined(separator: " ")
  }

  /// A mode such as `-w` stays one, and so do `+a#` and standard input.
  private func shellOperand(_ word: Word) -> String {
    if word.count > 1, word.last == UInt8(ascii: "#") { return shellOperand(word.dropLast()) + "#" }
    guard word.first == UInt8(ascii: "-"), !isItem(word) else { return shellWord(word) }
    return word.count == 1 ? "-" : "-" + shellWord(Array(word.dropFirst()))
  }
}

/// Whether a path names something that is there, be it a link to nowhere.
func isItem(_ path: Word) -> Bool {
  // What cannot be looked at is taken for missing: then nothing is suggested.
  do throws(Errno) { _ = try Descriptor.item(atPath: path, .held) } catch { return false }
  return true
}
