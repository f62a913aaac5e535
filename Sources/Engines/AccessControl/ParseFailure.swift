// What was wrong with a text, in a shape from which one clear line can be made.

/// A text that is not an access list.
package struct ParseFailure: Error, Hashable, Sendable {
  /// What was expected where the word stands.
  package enum Problem: Hashable, Sendable {
    /// Nothing but blanks where an entry was expected.
    case emptyEntry
    case missingName
    case unknownUser
    case unknownGroup
    /// Neither a user nor a group.
    case unknownName
    case numberTooLarge
    case missingVerb
    case unknownVerb
    /// An entry names no right and no inheritance.
    case missingWords
    /// Nothing between two commas, or beside one at an end.
    case emptyWord
    case unknownWord
    /// The first line of a list is not one that this format knows.
    case unknownHeader
    case tooManyEntries
    /// Not UTF-8.
    case notText
  }

  package var problem: Problem
  /// The word at fault, as it was typed; empty where something is missing.
  package var word: String
  /// The line in a list, counted from 1.
  package var line: Int?

  package init(_ problem: Problem, _ word: String = "", line: Int? = nil) {
    self.problem = problem
    self.word = word
    self.line = line
  }
}

extension ParseFailure: CustomStringConvertible {
  /// One line for a person: where, which word, what was expected, and what helps.
  package var description: String { complaint + (advice.map { "; \($0)" } ?? "") }

  /// The line without what helps.
  package var complaint: String { (line.map { "line \($0): " } ?? "") + sentence }

  /// What helps whoever meant no word that is known.
  private var advice: String? {
    switch problem {
    case .unknownUser, .unknownName: "a number will do, such as user:1001"
    case .unknownGroup: "a number will do, such as group:1001"
    case .unknownWord: "varve-acl(7) lists both"
    default: nil
    }
  }

  /// The words, one of which may have been meant by the one at fault.
  package var knownWords: [String] {
    switch problem {
    case .unknownName: AccessWords.identities
    // Behind `user:` and `group:` the other words would be names of accounts.
    case .unknownGroup: ["everyone"]
    case .unknownVerb: ["allow", "deny"]
    case .unknownWord: AccessWords.typed
    default: []
    }
  }

  private var sentence: String {
    switch problem {
    case .emptyEntry: "an entry is empty; expected NAME allow|deny WORD,…"
    case .missingName: "a name is missing in front of the verb"
    case .unknownUser: "no user is called '\(word)'"
    case .unknownGroup: "no group is called '\(word)'"
    case .unknownName: "'\(word)' is neither a user nor a group"
    case .numberTooLarge: "'\(word)' is too large for an id"
    case .missingVerb: "'allow' or 'deny' is missing after the name"
    case .unknownVerb: "expected 'allow' or 'deny', found '\(word)'"
    case .missingWords: "no right is named after the verb, such as read or full"
    case .emptyWord: "empty word in '\(word)'"
    case .unknownWord: "'\(word)' is not a right and not an inheritance word"
    case .unknownHeader: "'\(word)' is not a first line this version knows"
    case .tooManyEntries: "more than \(AccessList.entryLimit) entries"
    case .notText: "the list is not UTF-8 text"
    }
  }
}
