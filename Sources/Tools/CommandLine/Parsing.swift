// From words to options and operands. Words are bytes: a file name need not be UTF-8.

/// One word of a command line.
package typealias Word = [UInt8]

/// A command line that cannot be understood, with the sentence for its author.
package struct UsageError: Error, Equatable, Sendable {
  /// What kind of mistake it is; help is worth mentioning for one of them only.
  package enum Kind: Equatable, Sendable {
    /// A verb, an option or the number of operands.
    case form
    /// An operand in its place that makes no sense: a flag or an account nobody knows.
    case value
  }

  package let message: String
  /// The verb whose help would explain it.
  package let verb: String?
  package let kind: Kind

  package init(_ message: String, verb: String?, _ kind: Kind = .form) {
    self.message = message
    self.verb = verb
    self.kind = kind
  }
}

/// The options and operands given to a verb.
package struct Invocation: Equatable, Sendable {
  /// An option as it was given.
  package struct Given: Equatable, Sendable {
    package let option: Option
    package let value: Word?
  }

  package let verb: String
  /// In the order given.
  package private(set) var given: [Given] = []
  package fileprivate(set) var operands: [Word] = []
  /// Those of the operands that would keep everything from being done, or undoable, stood they in front: `-n`, long words.
  package fileprivate(set) var lateOptions: [Word] = []

  init(verb: String) {
    self.verb = verb
  }

  fileprivate mutating func add(_ option: Option, _ value: Word? = nil) {
    given.append(Given(option: option, value: value))
  }

  package func has(_ option: Option) -> Bool {
    given.contains { $0.option == option }
  }

  package func count(_ option: Option) -> Int {
    given.count { $0.option == option }
  }

  package func values(_ option: Option) -> [Word] {
    given.compactMap { $0.option == option ? $0.value : nil }
  }

  /// The error for a value or an operand that makes no sense.
  package func mistake(_ message: String) -> UsageError { UsageError(message, verb: verb, .value) }

  /// The one given last, of options that overrule each other.
  package func last(of options: [Option]) -> Option? {
    given.last { options.contains($0.option) }?.option
  }
}

/// What a command line asks for.
package enum Request: Equatable, Sendable {
  case run(Invocation)
  /// Help about a verb, or about the whole program.
  case help(String?)
  case version
}

extension Program {
  /// Understands the words after the program's name.
  package func parse(_ words: [Word]) throws(UsageError) -> Request {
    guard let first = words.first else { throw UsageError("what should be done?", verb: nil) }
    switch text(first) {
    case "--help", "-h": return .help(nil)
    case "--version": return .version
    case "help":
      let asked = words.dropFirst()
      if asked.contains(Word("--version".utf8)) { return .version }
      let topics = asked.filter { !["--help", "-h", "help"].contains(text($0)) }
      return .help(topics.isEmpty ? nil : try topic(topics))
    default: break
    }
    var rest = words[...]
    var group: VerbGroup?
    while let word = rest.first, let inner = self.group(text(word), in: group) {
      group = inner
      rest = rest.dropFirst()
      guard let next = rest.first else {
        let names = self.words(in: inner).map(\.name).joined(separator: ", ")
        throw UsageError("what should be done? One of \(names)", verb: inner.name)
      }
      if ["--help", "-h", "help"].contains(text(next)) { return .help(inner.name) }
      if text(next) == "--version" { return .version }
    }
    return try knownVerb(rest.first ?? first, in: group).parse(Array(rest.dropFirst()))
  }

  /// What help is asked about: a verb or a group.
  private func topic(_ words: [Word]) throws(UsageError) -> String {
    var group: VerbGroup?
    for word in words {
      guard let inner = self.group(text(word), in: group) else { return try knownVerb(word, in: group).name }
      group = inner
    }
    return group?.name ?? ""
  }

  /// The verb that a word names, in a group or alone.
  private func knownVerb(_ word: Word, in group: VerbGroup? = nil) throws(UsageError) -> Verb {
    let name = text(word)
    if let verb = verbs.first(where: { $0.group == group?.name && $0.lastWord == name }) { return verb }
    if name.hasPrefix("-") {
      let bare = String(name.drop { $0 == "-" })
      let hint =
        advice(onForeign: name, of: group?.name)
        ?? suggestion(for: bare, among: ["help", "version"], prefix: "--")
      throw UsageError("unknown option '\(name)'" + hint, verb: group?.name)
    }
    let known = self.words(in: group).map(\.name) + (group == nil ? ["help"] : [])
    let hint = (group == nil ? advice(onForeignVerb: name) : nil) ?? suggestion(for: name, among: known)
    throw UsageError("unknown verb '\(name)'" + hint, verb: group?.name)
  }
}

extension Verb {
  /// Understands the words after the verb.
  package func parse(_ words: [Word]) throws(UsageError) -> Request {
    var invocation = Invocation(verb: name)
    var position = 0
    while position < words.count {
      let word = words[position]
      position += 1
      if word == Word("--".utf8) {
        invocation.operands += words[position...]
        break
      }
      if !isOption(word) {
        invocation.operands.append(word)
        guard order != .anywhere else { continue }
        invocation.operands += words[position...]
        invocation.lateOptions = words[position...].filter(isLateOption)
        break
      }
      if word == Word("--help".utf8) { return .help(name) }
      if word == Word("--version".utf8) { return .version }
      let following = position < words.count ? words[position] : nil
      let tookFollowing =
        if word[1] == UInt8(ascii: "-") {
          try parseLong(word, following, into: &invocation)
        } else if isLongWithOneDash(word) {
          try parseLong([UInt8(ascii: "-")] + word, following, into: &invocation)
        } else {
          try parseCluster(word, following, into: &invocation)
        }
      if tookFollowing { position += 1 }
    }
    try checkOperands(invocation.operands)
    return .run(invocation)
  }

  /// The words of find(1) have one dash; where the first letter is an option, it is a cluster of letters.
  private func isLongWithOneDash(_ word: Word) -> Bool {
    let name = text(Word(word.dropFirst().prefix { $0 != UInt8(ascii: "=") }))
    guard let first = name.unicodeScalars.first, !options.contains(where: { $0.letter == first }) else {
      return false
    }
    return options.contains { $0.word == name }
  }

  private func isLateOption(_ word: Word) -> Bool {
    isOption(word) && word.count > 2 && word[1] == UInt8(ascii: "-")
      || word == Word("-n".utf8) && options.contains { $0.letter == "n" }
  }

  private func isOption(_ word: Word) -> Bool {
    guard word.count > 1, word[0] == UInt8(ascii: "-") else { return false }
    if case .beforeOperands(let dashed) = order, dashed.utf8.contains(word[1]) { return false }
    return true
  }

  /// Reads `--word`, `--word=value` or `--word value`; answers whether the following word was the value.
  private func parseLong(
    _ word: Word, _ following: Word?, into invocation: inout Invocation
  ) throws(UsageError) -> Bool {
    let parts = word.dropFirst(2).split(
      separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
    let name = text(Word(parts[0]))
    func valueless() -> UsageError { UsageError("option '--\(name)' takes no value", verb: self.name) }
    guard let option = options.first(where: { $0.word == name }) else {
      guard name != "help", name != "version" else { throw valueless() }
      let hint =
        advice(onForeign: name, of: self.name)
        ?? suggestion(for: name, among: options.compactMap(\.word) + ["help", "version"], prefix: "--")
      throw UsageError("unknown option '--\(name)'" + hint, verb: self.name)
    }
    guard let value = option.value else {
      guard parts.count == 1 else { throw valueless() }
      invocation.add(option)
      return false
    }
    let attached = parts.count == 2 ? Word(parts[1]) : nil
    return try take(value, of: option, "--\(name)", attached, following, into: &invocation)
  }

  /// Takes the value of an option; answers whether it was the following word.
  private func take(
    _ value: Option.Value, of option: Option, _ spelling: String, _ attached: Word?, _ following: Word?,
    into invocation: inout Invocation
  ) throws(UsageError) -> Bool {
    guard let word = attached ?? following else {
      throw UsageError("option '\(spelling)' needs a value: \(value.name)", verb: name)
    }
    invocation.add(option, word)
    return attached == nil
  }

  /// Reads `-abc`, `-ovalue` or `-o value`; answers whether the following word was the value.
  private func parseCluster(
    _ word: Word, _ following: Word?, into invocation: inout Invocation
  ) throws(UsageError) -> Bool {
    for position in word.indices.dropFirst() {
      let letter = Unicode.Scalar(word[position])
      guard let option = options.first(where: { $0.letter == letter }) else {
        throw UsageError(unknown(letter, in: word), verb: name)
      }
      guard let value = option.value else {
        invocation.add(option)
        continue
      }
      let attached = position + 1 < word.count ? Word(word[(position + 1)...]) : nil
      return try take(value, of: option, "-\(letter)", attached, following, into: &invocation)
    }
    return false
  }

  private func unknown(_ letter: Unicode.Scalar, in word: Word) -> String {
    let whole = text(Word(word.dropFirst()))
    if whole.count > 1, options.contains(where: { $0.word == whole }) {
      return "unknown option '-\(whole)'; did you mean '--\(whole)'?"
    }
    if let advice = advice(onForeign: whole, of: name) { return "unknown option '-\(whole)'" + advice }
    // A byte above 127 is a piece of a character and means nothing alone.
    return letter.isASCII ? "unknown option '-\(letter)'" : "unknown option '-\(whole)'"
  }

  private func checkOperands(_ words: [Word]) throws(UsageError) {
    var available = words.count
    let needed = operands.count { $0.count == .one || $0.count == .oneOrMore }
    // An optional word in front takes what the others leave.
    var surplus = max(0, words.count - needed)
    var isOpen = false
    for operand in operands {
      switch operand.count {
      case .one, .oneOrMore:
        guard available > 0 else { throw UsageError("\(operand.name) is missing", verb: name) }
        available -= 1
        if operand.count == .oneOrMore { isOpen = true }
      case .optional:
        guard surplus > 0 else { continue }
        surplus -= 1
        available -= 1
      case .any: isOpen = true
      }
    }
    if available > 0, !isOpen {
      throw UsageError("one word too many: '\(text(words[words.count - available]))'", verb: name)
    }
  }
}

/// The word for a message; bytes that are not UTF-8 show as U+FFFD.
private func text(_ word: Word) -> String {
  String(decoding: word, as: UTF8.self)
}
