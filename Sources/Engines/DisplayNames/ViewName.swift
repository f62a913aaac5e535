// The names of views: `fr`, `fr-CA+en,all`, `default,ext=bit`.

/// Which extensions a view hides.
package enum ExtensionPolicy: UInt8, CaseIterable, Sendable {
  /// None.
  case never
  /// Those whose item says so, and of applications.
  case bit
  /// Those whose type is known.
  case known
  /// All.
  case all

  /// How it is written; the usual one is not.
  package var word: String {
    switch self {
    case .never: "never"
    case .bit: "bit"
    case .known: "known"
    case .all: "all"
    }
  }

  package init?(word: some StringProtocol) {
    guard let policy = ExtensionPolicy.allCases.first(where: { $0.word == word }) else { return nil }
    self = policy
  }
}

/// What a view shows, which its name says in exactly one way.
package struct ViewName: Hashable, Sendable, CustomStringConvertible {
  /// Nil: those of the volume.
  package var languages: LanguageList?
  package var showsHidden: Bool
  package var extensions: ExtensionPolicy

  package init(
    languages: LanguageList? = nil, showsHidden: Bool = false, extensions: ExtensionPolicy = .known
  ) {
    self.languages = languages
    self.showsHidden = showsHidden
    self.extensions = extensions
  }

  /// Reads a name; nil unless it is the one way to write it.
  package init?(_ bytes: [UInt8]) {
    // Eight languages of eleven letters, and some words.
    guard bytes.count <= 128, let text = String(validating: bytes, as: UTF8.self) else { return nil }
    var parts = text.split(separator: ",", omittingEmptySubsequences: false)[...]
    guard let first = parts.popFirst() else { return nil }
    if first == "default" {
      languages = nil
    } else {
      guard let list = LanguageList(String(first), separator: "+") else { return nil }
      languages = list
    }
    showsHidden = parts.first == "all"
    if showsHidden { parts.removeFirst() }
    extensions = .known
    if let part = parts.popFirst() {
      guard part.hasPrefix("ext="), let policy = ExtensionPolicy(word: part.dropFirst(4)), policy != .known
      else {
        return nil
      }
      extensions = policy
    }
    // What can be written in two ways is read in one.
    guard parts.isEmpty, Array(description.utf8) == bytes else { return nil }
  }

  /// A name as people write it: in other letters, with other marks between languages, or in another order.
  private init?(meant text: String) {
    var (languages, name) = ("", ViewName())
    for part in text.split(separator: ",") {
      let word = part.lowercased()
      if word == "all" {
        name.showsHidden = true
      } else if word.hasPrefix("ext=") {
        guard let policy = ExtensionPolicy(word: word.dropFirst(4)) else { return nil }
        name.extensions = policy
      } else if word != "default" {
        languages += "+" + part
      }
    }
    if !languages.isEmpty {
      guard let list = LanguageList(meant: languages) else { return nil }
      name.languages = list
    }
    self = name
  }

  /// What views are called, for those who wrote something else; with the right form of what they may have meant.
  package static func words(insteadOf text: String) -> String {
    let words = "views have names such as fr, fr-CA+en,all or default,ext=bit"
    guard let name = ViewName(meant: text), name.description != text else { return words }
    return "\(words); write \(name)"
  }

  package var description: String {
    var text = "default"
    if let list = languages?.languages, !list.isEmpty {
      text = list.map(\.description).joined(separator: "+")
    }
    if showsHidden { text += ",all" }
    if extensions != .known { text += ",ext=" + extensions.word }
    return text
  }
}
