// Completion for shells, made from the same table that parses and helps.
//
// For users of bash, zsh and fish, who find verbs, options and mount options by it: the table is the only list of them
// (`ArgumentsTests`).

/// A shell completion is made for.
package enum Shell: String, CaseIterable, Sendable {
  case bash
  case zsh
  case fish
}

extension Program {
  /// The script that completes this program's command lines.
  package func completion(for shell: Shell) -> String {
    switch shell {
    case .bash: bashCompletion
    case .zsh: zshCompletion
    case .fish: fishCompletion
    }
  }

  /// The words that can follow the program's name.
  var openingWords: [String] { firstWords.map(\.name) + ["help", "--help", "--version"] }
}

/// In single quotes, for any of the three shells.
func quoted(_ text: String) -> String {
  "'" + text.replacing("'", with: "'\\''") + "'"
}

extension Option {
  /// Both spellings, with their dashes.
  package var spellings: [String] {
    [letter.map { "-\($0)" }, word.map { "--\($0)" }].compactMap { $0 }
  }
}

extension Verb {
  /// The operand that words are offered for.
  var completedOperand: Operand? {
    operands.first { $0.kind.words != nil || $0.kind == .mountPoint || $0.kind == .owner }
  }

  /// How an option is offered: in the words of find with one dash as well, because find(1) has them so.
  ///
  /// Every verb understands one dash where no letter can be meant. Offering it everywhere would double every list.
  func offeredSpellings(_ option: Option) -> [String] {
    guard hasWordsWithOneDash, options.contains(option), let word = option.word else {
      return option.spellings
    }
    return option.spellings + ["-\(word)"]
  }

  var hasWordsWithOneDash: Bool { name == "find" }

  /// The words behind which an operand is an entry of an access list.
  var wordsBeforeEntry: [String]? {
    for operand in operands {
      if case .entry(let words) = operand.kind, !words.isEmpty { return words }
    }
    return nil
  }
}

extension ArgumentKind {
  var words: [String]? {
    switch self {
    case .words(let words), .list(let words): words
    default: nil
    }
  }

  /// The words a value can be; `<file>` for a path, nil where nothing can be offered.
  var bashWords: String? {
    switch self {
    case .words(let words), .list(let words): words.joined(separator: " ")
    case .path, .directory: "<file>"
    case .user: "<user>"
    case .entry: "<entry>"
    case .identity: "<who>"
    case .owner: "<owner>"
    case .mountPoint: "<mounts>"
    case .text, .number: nil
    }
  }

  /// What tells the function for bash that commas separate words.
  var bashList: String {
    if case .list = self { " list=1" } else { " list=" }
  }

  /// What fish offers in place of files.
  func fishWords(_ program: String) -> String {
    switch self {
    case .words, .list: " -f" + fishArguments(program)
    case .user: " -f -a '(__fish_complete_users)'"
    case .entry, .identity, .owner, .mountPoint: " -f" + fishArguments(program)
    case .text, .number: " -f"
    case .path, .directory: ""
    }
  }

  func fishArguments(_ program: String) -> String {
    switch self {
    case .entry: return " -a '(__\(program)_asked entry)'"
    case .identity: return " -a '(__\(program)_asked who)'"
    case .owner: return " -a '(__\(program)_asked owner)'"
    case .mountPoint: return " -a '(__\(program)_asked mounts)'"
    default: break
    }
    let words = (words ?? []).joined(separator: " ")
    if case .list = self { return " -a \(quoted("(__\(program)_list \(words))"))" }
    return " -a \(quoted(words))"
  }

  var zshAction: String {
    switch self {
    case .words(let words), .list(let words): "(\(words.joined(separator: " ")))"
    case .path: "_files"
    case .directory: "_files -/"
    case .user: "_users"
    case .text, .number, .entry, .identity, .owner, .mountPoint: " "
    }
  }
}
