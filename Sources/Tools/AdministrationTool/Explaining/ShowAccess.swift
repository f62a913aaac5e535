// `varve access`: what may be done with files, a line for each operation.

import Arguments
import JSONForm
import LinuxFiles
import LinuxPrograms
import TextForms

func showAccess(_ invocation: Invocation) throws(UsageError) -> Int32 {
  var paths = invocation.operands[...]
  let readsInput = invocation.has(.fromInput)
  var operations = Verb.operationWords
  var isComplete = true
  if let first = paths.first, paths.count > 1 || readsInput, let unknown = mistypedOperation(first) {
    let hint = suggestion(for: unknown, among: operations)
    throw invocation.mistake(
      "no such operation '\(unknown)'" + (hint.isEmpty ? "; 'varve help why' lists them" : hint))
  }
  if let first = paths.first, let chosen = chosenOperations(first), paths.count > 1 || readsInput {
    operations = chosen
    paths = paths.dropFirst()
    isComplete = false
  }
  if isComplete, let first = paths.first, paths.count > 1 || readsInput, namesNothingHere(first) {
    let hint = suggestion(for: String(decoding: first, as: UTF8.self), among: operations)
    throw invocation.mistake(
      "\(shown(first)) is neither an operation nor a file"
        + (hint.isEmpty ? "; 'varve help why' lists the operations" : hint))
  }
  let operands = try PathOperands(paths, invocation)
  let console = Console("varve access")
  let colors = try Colors(invocation)
  let other = try AskedUser(invocation)
  var tables: [JSON] = []
  var worst: Int32 = 0
  var isFirst = true
  operands.forEach(console) { path in
    do throws(Refusal) {
      let volumePath = try VolumePath(path, try volumeTable())
      let questions = operations.map { WhyQuestion(operation: $0, path: volumePath) }
      let answers = try askWhy(questions, other).filter {
        !isComplete || ExplanationText($0, mountPoint: volumePath.mount.mountPoint).isForItsKind
      }
      let texts = answers.map { ExplanationText($0, mountPoint: volumePath.mount.mountPoint) }
      if let obstacle = ExplanationText.commonObstacle(texts) {
        guard invocation.has(.json) else { throw Refusal(obstacle, status: 2) }
        // A program finds it in its table.
        tables.append(table(path, answers))
        worst = 2
        return
      }
      if invocation.has(.json) {
        tables.append(table(path, answers))
      } else {
        if paths.count > 1 || readsInput {
          if !isFirst { console.print("\n") }
          isFirst = false
          console.print(console.forOutput(PathText.escaped(path)) + ":\n")
        }
        printTable(texts, console, colors)
      }
      worst = texts.reduce(worst) { max($0, $1.exitStatus == 0 ? 0 : 1) }
    } catch {
      console.complain(path, error.sentence)
    }
  }
  if invocation.has(.json) { console.print(JSON.array(tables).indentedText() + "\n") }
  return console.finish() == 0 ? worst : 2
}

private func table(_ path: Word, _ answers: [JSON]) -> JSON {
  .object(JSON.nameMembers("path", path) + [JSON.Member("operations", .array(answers))])
}

private func operations(_ word: Word) -> [String] {
  String(decoding: word, as: UTF8.self).split(separator: ",", omittingEmptySubsequences: false).map(
    String.init)
}

/// The word that is none among operations with commas between them.
private func mistypedOperation(_ word: Word) -> String? {
  let words = operations(word)
  // Anything else is a file.
  guard words.count > 1, words.contains(where: { Verb.operationWords.contains($0) }) else { return nil }
  return words.first { !Verb.operationWords.contains($0) }
}

/// Whether a word without a slash is not a name in the working directory: in front of files it was meant as an operation.
private func namesNothingHere(_ word: Word) -> Bool {
  guard !word.isEmpty, !word.contains(UInt8(ascii: "/")) else { return false }
  do throws(Errno) { _ = try Descriptor.item(atPath: word, .held) } catch { return error == .noSuchFile }
  return false
}

/// The operations a word names; `nil` if it is anything else, such as a path.
private func chosenOperations(_ word: Word) -> [String]? {
  let words = operations(word)
  return words.allSatisfy { Verb.operationWords.contains($0) } ? words : nil
}

private func printTable(_ texts: [ExplanationText], _ console: Console, _ colors: Colors) {
  let width = Verb.operationWords.map(\.count).max() ?? 0
  if let layer = texts.lazy.compactMap(\.layer).first {
    let start = filled("layer", width) + "       "
    console.print(start + console.line(layer, indent: start.count, start: start.count) + "\n")
  }
  for text in texts {
    let row = text.row(width: width)
    let answer = filled(row.answer, 3)
    let painted =
      switch row.answer {
      case "yes": colors.success(answer)
      case "no": colors.failure(answer)
      default: colors.dimmed(answer)
      }
    let start = "\(row.operation)  \(answer)  ".count
    let reason = console.line(row.reason, indent: start, start: start)
    console.print("\(row.operation)  \(painted)  \(reason)\n")
  }
}
