// The shape of a command line, as data: one table is parsed with, printed as help, and tested against.

/// What kind of thing a value or an operand is, for completion and manual pages.
package enum ArgumentKind: Equatable, Sendable {
  case text
  case path
  case directory
  case number
  /// The name of a user.
  case user
  /// An entry of an access list; an operand is one behind these words, with a number between if they end with `#`.
  case entry(after: [String])
  /// Whom an entry is about.
  case identity
  /// A user, a group behind a colon, or both.
  case owner
  /// Where a volume is mounted.
  case mountPoint
  /// One of these words.
  case words([String])
  /// One of these words, or several with commas between them; a word that ends with `=` takes a value.
  case list([String])
}

/// One option, in one or two spellings.
package struct Option: Equatable, Sendable {
  /// The value an option takes.
  package struct Value: Equatable, Sendable {
    package let name: String
    package let kind: ArgumentKind

    package init(_ name: String, _ kind: ArgumentKind = .text) {
      self.name = name
      self.kind = kind
    }
  }

  /// The letter after one dash.
  package let letter: Unicode.Scalar?
  /// The word after two dashes.
  package let word: String?
  package let value: Value?
  /// One line without a full stop.
  package let summary: String

  package init(
    _ letter: Unicode.Scalar?, _ word: String? = nil, value: Value? = nil, _ summary: String
  ) {
    self.letter = letter
    self.word = word
    self.value = value
    self.summary = summary
  }

  /// How messages name it: the long spelling if there is one.
  package var spelling: String {
    word.map { "--\($0)" } ?? letter.map { "-\($0)" } ?? ""
  }
}

/// One operand, or a run of operands.
package struct Operand: Equatable, Sendable {
  /// How many words it takes.
  package enum Count: Equatable, Sendable {
    case one
    case optional
    case oneOrMore
    case any
  }

  package let name: String
  package let count: Count
  package let kind: ArgumentKind
  package let summary: String

  package init(_ name: String, _ count: Count = .one, _ kind: ArgumentKind = .text, _ summary: String) {
    self.name = name
    self.count = count
    self.kind = kind
    self.summary = summary
  }

  /// How the synopsis shows it.
  package var synopsis: String {
    switch count {
    case .one: name
    case .optional: "[\(name)]"
    case .oneOrMore: "\(name)..."
    case .any: "[\(name)...]"
    }
  }
}

/// A command that can be copied, and what it does.
package struct Example: Equatable, Sendable {
  package let command: String
  package let effect: String

  package init(_ command: String, _ effect: String) {
    self.command = command
    self.effect = effect
  }
}

/// One verb of a program.
package struct Verb: Sendable {
  /// Where options may stand.
  package enum Order: Equatable, Sendable {
    /// Anywhere before `--`, as the GNU tools have it.
    case anywhere
    /// Before the first operand only, as the BSD tools have it.
    ///
    /// A word such as `-a#` or `-w` is that first operand if its first letter is one of these.
    case beforeOperands(dashed: String)
  }

  package let name: String
  package let summary: String
  package let order: Order
  package let options: [Option]
  package let operands: [Operand]
  /// Synopsis lines, without program and verb; empty: made from options and operands.
  package let forms: [String]
  /// Paragraphs that help prints below the usage.
  package let discussion: [String]
  package let examples: [Example]

  package init(
    _ name: String, _ summary: String, order: Order = .anywhere, options: [Option] = [],
    operands: [Operand] = [], forms: [String] = [], discussion: [String] = [], examples: [Example] = []
  ) {
    self.name = name
    self.summary = summary
    self.order = order
    self.options = options
    self.operands = operands
    self.forms = forms
    self.discussion = discussion
    self.examples = examples
  }

  /// All words but the last: `acl` of `acl get`, `key slot` of `key slot add`.
  package var group: String? {
    let words = name.split(separator: " ")
    return words.count > 1 ? words.dropLast().joined(separator: " ") : nil
  }

  /// The last word: `get` of `acl get`.
  package var lastWord: String {
    name.split(separator: " ").last.map { String($0) } ?? name
  }
}

/// Verbs about one thing: `acl get` belongs to the group `acl`.
///
/// A group can be in another one, as `key slot` is in `key`.
package struct VerbGroup: Sendable {
  package let name: String
  package let summary: String
  package let discussion: [String]
  package let examples: [Example]

  package init(_ name: String, _ summary: String, discussion: [String] = [], examples: [Example] = []) {
    self.name = name
    self.summary = summary
    self.discussion = discussion
    self.examples = examples
  }
}

/// A program with verbs.
package struct Program: Sendable {
  package let name: String
  package let version: String
  package let summary: String
  package let verbs: [Verb]
  package let groups: [VerbGroup]
  package let discussion: [String]
  package let examples: [Example]

  package init(
    _ name: String, version: String, _ summary: String, verbs: [Verb], groups: [VerbGroup] = [],
    discussion: [String] = [], examples: [Example] = []
  ) {
    self.name = name
    self.version = version
    self.summary = summary
    self.verbs = verbs
    self.groups = groups
    self.discussion = discussion
    self.examples = examples
  }

  package func verb(named name: String) -> Verb? {
    verbs.first { $0.name == name }
  }

  package func group(named name: String) -> VerbGroup? {
    groups.first { $0.name == name }
  }

  /// What may follow the program's name: verbs that are one word, and groups.
  package var firstWords: [(name: String, summary: String)] { words(in: nil) }

  /// What may follow the words of a group: verbs, and groups in it.
  package func words(in group: VerbGroup?) -> [(name: String, summary: String)] {
    let above = group?.name.split(separator: " ") ?? []
    var words: [(name: String, summary: String)] = []
    for verb in verbs {
      let path = verb.name.split(separator: " ")
      guard path.count > above.count, path.starts(with: above) else { continue }
      let name = String(path[above.count])
      guard !words.contains(where: { $0.name == name }) else { continue }
      if path.count == above.count + 1 {
        words.append((name, verb.summary))
      } else if let inner = self.group(named: path.prefix(above.count + 1).joined(separator: " ")) {
        words.append((name, inner.summary))
      }
    }
    return words
  }

  /// The group of this name in another one, or in none.
  func group(_ name: String, in outer: VerbGroup?) -> VerbGroup? {
    group(named: (outer.map { "\($0.name) " } ?? "") + name)
  }

  /// The option every verb has.
  package static let help = Option(nil, "help", "show this help")
  /// The option of the program itself.
  package static let version = Option(nil, "version", "show the version")
}
