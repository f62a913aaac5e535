// What a verb says: results on standard output, complaints and progress on standard error.
//
// For people at a terminal and for scripts alike: what is printed is the same, but for colours and progress (`TerminalTests`).

import Arguments
import LinuxFiles
import LinuxPrograms
import Synchronization
import TextForms

/// The output of one verb, and the count of what went wrong; for any thread.
final class Console: Sendable {
  /// What becomes of a run when its results cannot be printed.
  enum OutputLoss {
    /// Nothing but results was wanted: the program ends there.
    case endsProgram
    /// Half of a change is worth less than all of it untold: the work goes on, and the loss is told in the end.
    case isSurvived
    /// The same with the numbers of mount(8).
    case isSurvivedByMount

    fileprivate var status: Int32 { self == .isSurvivedByMount ? 2 : 3 }
  }

  private struct State {
    var waiting: [UInt8] = []
    var outputLoss: OutputLoss
    var failures = 0
    /// Whether a failure was said, or had to be.
    var hasFailed = false
    var isSilent = false
    /// How often each kind of sentence was said of a file.
    var kinds: [String: Int] = [:]
    /// Told of each file with which something went wrong, and why.
    var listener: (@Sendable ([UInt8], String) -> Void)?
    /// Whether what is printed from now on goes nowhere: nobody reads it, or it cannot be written.
    var isOutputLost = false
    /// Whether results could not be written, and a program may wait for them.
    var hasLostResults = false
    var lostDaemons = 0
    /// Whether a line of progress stands on the terminal.
    var hasProgress = false
    /// Whether one ever stood there: then the work took a while, and its end is worth a line.
    var hasShownProgress = false
  }

  /// `varve chmod`: what every complaint begins with.
  let name: String
  /// Whether only failures are said (`-q`).
  let isQuiet: Bool
  private let state: Mutex<State>
  private let isTerminal = StandardStream.error.isTerminal
  private let outputIsTerminal = StandardStream.output.isTerminal
  /// How wide the terminal is that results go to; nil if they go elsewhere.
  private let columns = StandardStream.output.columns

  init(_ name: String, isQuiet: Bool = false, outputLoss: OutputLoss = .endsProgram) {
    self.name = name
    self.isQuiet = isQuiet
    state = Mutex(State(outputLoss: outputLoss))
  }

  /// What a verb says.
  convenience init(_ invocation: Invocation, outputLoss: OutputLoss = .endsProgram) {
    self.init("varve \(invocation.verb)", isQuiet: invocation.has(.quiet), outputLoss: outputLoss)
  }

  /// Counts what long work has done, where the user wants to see it.
  func progress() -> Progress? { isQuiet ? nil : Progress(self) }

  /// From now on results are no more than a report: the work continues without them.
  func surviveOutputLoss() {
    state.withLock { $0.outputLoss = .isSurvived }
  }

  /// Failures are not printed, and the exit status does not tell of them (`-f`).
  var isSilent: Bool {
    get { state.withLock { $0.isSilent } }
    set { state.withLock { $0.isSilent = newValue } }
  }

  var hasShownProgress: Bool { state.withLock { $0.hasShownProgress } }

  var failures: Int { state.withLock { $0.failures } }

  /// How often something could not be done because the daemon of a volume is gone: a walk of that volume ends.
  var lostDaemons: Int { state.withLock { $0.lostDaemons } }

  func noteLostDaemon() { state.withLock { $0.lostDaemons += 1 } }

  func print(_ text: String) {
    print(Array(text.utf8))
  }

  func print(_ bytes: [UInt8]) {
    state.withLock { state in
      state.waiting += bytes
      if state.waiting.count > 32_768 { flush(&state) }
    }
  }

  /// Prints a path, then what is said about it, in one line; a name does not steer the terminal.
  func printPath(_ path: [UInt8], _ rest: String) {
    var shown = outputIsTerminal ? PathText.forTerminal(path) : path
    let breaksLines = shown.contains { $0 < 0x20 || $0 == 0x7F }
    if breaksLines, !rest.isEmpty { shown = Array(PathText.escaped(path).utf8) }
    print(shown + Array("\(rest)\n".utf8))
  }

  /// A text for standard output: on a terminal, what could steer it is taken away.
  func forOutput(_ text: String) -> String {
    guard outputIsTerminal else { return text }
    return String(decoding: PathText.forTerminal(Array(text.utf8)), as: UTF8.self)
  }

  /// A line for standard output: as wide as the terminal at most, and what could steer it taken away.
  func line(_ text: String, indent: Int, start: Int = 0) -> String {
    let text = forOutput(text)
    return columns.map { folded(text, width: $0, indent: indent, start: start) } ?? text
  }

  /// Prints lines that other code wrote.
  func printLines(_ text: String) {
    let bytes = Array(text.utf8)
    print(outputIsTerminal ? PathText.forTerminal(bytes, keepingNewlines: true) : bytes)
  }

  /// Writes what is waiting.
  func flush() {
    state.withLock { flush(&$0) }
  }

  /// Writes what is waiting; when the reader has closed its end, a verb that only shows something ends by SIGPIPE.
  private func flush(_ state: inout State) {
    let bytes = state.waiting
    state.waiting = []
    guard !bytes.isEmpty, !state.isOutputLost else { return }
    clearProgress(&state)
    do throws(Errno) {
      try StandardStream.output.write(bytes)
    } catch {
      state.isOutputLost = true
      if error == .brokenPipe, !ThisProgram.wantsBrokenPipesTold {
        if state.outputLoss == .endsProgram { ThisProgram.endByBrokenPipe() }
        return
      }
      // A user who wants silence about failures must still not take half of the results for all of them.
      write(Array("\(name): standard output: \(error)".utf8))
      state.hasLostResults = true
      if state.outputLoss == .endsProgram { ThisProgram.exit(state.outputLoss.status) }
    }
  }

  /// Says what went wrong with a file.
  func complain(_ path: [UInt8], _ error: Errno) {
    if error == .notConnected { noteLostDaemon() }
    complain(path, "\(error)\(error.advice(about: path))")
  }

  /// The same sentence is said of ten files, and then counted: a tree of another user says it a million times.
  ///
  /// A command in it that names the file does not make it another sentence. That a daemon is gone is said once for its mount: nothing else can be said of what is there.
  func complain(_ path: [UInt8], _ sentence: String) {
    // Who met it could not name the mount.
    if sentence == "\(Errno.notConnected)" { return complain(path, .notConnected) }
    state.withLock { $0.listener }?(path, sentence)
    state.withLock { state in
      guard !state.isSilent else { return fail("", &state) }
      let kind = Console.kind(of: sentence, about: path)
      let isKnown = state.kinds.count < Console.mostKinds || state.kinds[kind] != nil
      let count = isKnown ? state.kinds[kind, default: 0] + 1 : 1
      if isKnown { state.kinds[kind] = count }
      fail(count > Console.most(sentence) ? nil : about(path, sentence), &state)
    }
  }

  /// What a sentence is counted as: a command for the file, as in "clear it first: varve chflags nouchg d/f (EPERM)", is one for PATH.
  private static func kind(of sentence: String, about path: [UInt8]) -> String {
    guard !path.isEmpty else { return sentence }
    let word = " \(shellWord(path))"
    if sentence.hasSuffix(word) { return "\(sentence.dropLast(word.count)) PATH" }
    return sentence.replacing("\(word) (", with: " PATH (")
  }

  private static func most(_ sentence: String) -> Int {
    sentence.contains(MountState.goneWords) ? 1 : mostOfAKind
  }

  func complain(_ sentence: String) {
    state.withLock { fail(sentence, &$0) }
  }

  private static let mostOfAKind = 10
  /// Sentences that are about one file alone are all different.
  private static let mostKinds = 256

  /// From now on `listener` is told of each file with which something goes wrong.
  func tellFailures(to listener: @escaping @Sendable ([UInt8], String) -> Void) {
    state.withLock { $0.listener = listener }
  }

  private func fail(_ sentence: String?, _ state: inout State) {
    state.failures += 1
    guard !state.isSilent else { return }
    state.hasFailed = true
    if let sentence { say("\(name): \(sentence)", &state) }
  }

  /// What was counted and not said.
  private func sayCounted(_ state: inout State) {
    let counted = state.kinds.filter { kind, count in
      count > Console.mostOfAKind && Console.most(kind) == Console.mostOfAKind
    }.sorted { $0.key < $1.key }
    state.kinds = [:]
    for (sentence, count) in counted {
      let others = count - Console.mostOfAKind
      // "2 more: is gone" is of one.
      let each = others > 1 && Console.verbs.contains(where: sentence.hasPrefix) ? "each " : ""
      say("\(name): \(grouped(others)) more: \(each)\(sentence)", &state)
    }
  }

  /// Sentences about a file begin with them.
  private static let verbs = ["is ", "has ", "does ", "was "]

  /// Says something about a file that is no failure.
  func note(_ path: [UInt8], _ sentence: String) {
    note(about(path, sentence))
  }

  func note(_ sentence: String) {
    explain("\(name): \(sentence)")
  }

  /// Adds a line that explains a complaint.
  func explain(_ text: String) {
    state.withLock { state in
      if !state.isSilent { say(text, &state) }
    }
  }

  /// What is said about a file, wherever it goes: a name with a line break would pretend to be another complaint.
  private func about(_ path: [UInt8], _ sentence: String) -> String {
    "\(path.isEmpty ? "''" : PathText.escaped(path)): \(sentence)"
  }

  private func say(_ line: String, _ state: inout State) {
    flush(&state)
    clearProgress(&state)
    write(Array(line.utf8))
  }

  private func write(_ line: [UInt8]) {
    // A name must not steer the terminal.
    let line = isTerminal ? PathText.forTerminal(line, keepingNewlines: true) : line
    // Standard error is the last place to complain at.
    try? StandardStream.error.write(line + [0x0A])
  }

  // MARK: - Progress

  /// Shows how far the work is, in place of what was shown before; on a terminal only.
  func showProgress(_ text: String) {
    guard let columns = StandardStream.error.columns else { return }
    // A line that is full would go on in the next one, where nothing takes it away.
    let text = text.prefix(max(0, columns - 1))
    state.withLock { state in
      state.hasProgress = true
      state.hasShownProgress = true
      try? StandardStream.error.write(Array("\r\(text)\u{1B}[K".utf8))
    }
  }

  func clearProgress() {
    state.withLock { clearProgress(&$0) }
  }

  private func clearProgress(_ state: inout State) {
    guard state.hasProgress else { return }
    state.hasProgress = false
    try? StandardStream.error.write(Array("\r\u{1B}[K".utf8))
  }

  /// Writes what is left and answers the exit status; after results were lost, the program ends here.
  func finish() -> Int32 {
    state.withLock { state in
      flush(&state)
      sayCounted(&state)
      clearProgress(&state)
      if state.hasLostResults { ThisProgram.exit(state.outputLoss.status) }
      return state.hasFailed ? 1 : 0
    }
  }
}
