// The paths a verb is for: operands, and with -0 standard input.

import Arguments
import LinuxFiles
import LinuxPrograms
import TextForms

/// What parts the names of a path.
let slash = UInt8(ascii: "/")

/// Goes through the paths of a command line.
struct PathOperands {
  let named: ArraySlice<Word>
  private let readsInput: Bool

  /// Takes the operands from the given one on; without any, and without -0, a path is missing.
  init(_ invocation: Invocation, from first: Int = 0) throws(UsageError) {
    try self.init(invocation.operands.dropFirst(first), invocation)
  }

  /// Takes these words of a command line.
  init(_ words: ArraySlice<Word>, _ invocation: Invocation) throws(UsageError) {
    // GNU's programs take `--` here as well; a file of that name is `./--`.
    let isParted = words.startIndex > 0 && words.first == Word("--".utf8)
    named = isParted ? words.dropFirst() : words
    readsInput = invocation.has(.fromInput)
    // As on BSD they are names. But a user who writes `--dry-run` after a path wants nothing to change.
    for word in invocation.lateOptions where !(isParted && word == Word("--".utf8)) {
      do throws(Errno) { _ = try Descriptor.item(atPath: word, .held) } catch .noSuchFile {
        throw UsageError(
          "'\(PathText.escaped(word))' comes after the operands, so it is a file name, and that file does not exist; "
            + "write options before everything else", verb: invocation.verb)
      } catch {
        // It is there, and what is wrong with it will be said.
      }
    }
    if named.isEmpty, !readsInput { throw UsageError("PATH is missing", verb: invocation.verb) }
  }

  func forEach(_ console: Console, _ body: (Word) -> Void) {
    for path in named where !Interruption.isRequested { body(path) }
    guard readsInput else { return }
    do throws(Errno) {
      let last = try pieces(endedBy: 0, of: { () throws(Errno) in try StandardStream.input.read() }) { word in
        if !word.isEmpty { body(word) }
        return !Interruption.isRequested
      }
      if !last.isEmpty, !Interruption.isRequested { body(last) }
    } catch {
      console.complain("standard input: \(error)")
    }
  }
}

/// Takes apart what comes page by page, until a page is empty or `body` wants no more: there may be millions of pieces.
///
/// Answers what is left behind the last end.
func pieces(
  endedBy end: UInt8, of page: () throws(Errno) -> [UInt8], _ body: ([UInt8]) throws(Errno) -> Bool
) throws(Errno) -> [UInt8] {
  var piece: [UInt8] = []
  while true {
    var rest = try page()[...]
    if rest.isEmpty { break }
    while let index = rest.firstIndex(of: end) {
      piece += rest[..<index]
      rest = rest[(index + 1)...]
      guard try body(piece) else { return [] }
      piece = []
    }
    piece += rest
    // Far more than any line has: a path of a million bytes.
    guard piece.count < 1 << 22 else { throw .tooBig }
  }
  return piece
}
