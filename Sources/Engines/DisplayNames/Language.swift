// Languages: their tags, what is looked for in the name of one, and what an environment says.

/// The tag of a language as views write it: `fr`, `pt-BR`, `zh-Hant`, `sr-Latn-RS`.
package struct Language: Hashable, Sendable, CustomStringConvertible {
  /// Two or three letters.
  package let code: String
  /// Four letters, such as `Hant`.
  package let script: String?
  /// Two letters or three digits.
  package let region: String?

  /// Nil if the text is not written in exactly this way.
  package init?(_ text: some StringProtocol) {
    var parts = text.split(separator: "-", omittingEmptySubsequences: false).map { Array($0.utf8) }[...]
    guard parts.count <= 3, let code = parts.popFirst(), 2...3 ~= code.count, code.allSatisfy(\.isLowerLetter)
    else {
      return nil
    }
    self.code = String(decoding: code, as: UTF8.self)
    if let part = parts.first, part.count == 4, part[0].isUpperLetter, part[1...].allSatisfy(\.isLowerLetter)
    {
      script = String(decoding: part, as: UTF8.self)
      parts.removeFirst()
    } else {
      script = nil
    }
    if let part = parts.first {
      let isRegion = part.count == 2 && part.allSatisfy(\.isUpperLetter)
      guard isRegion || part.count == 3 && part.allSatisfy({ 0x30...0x39 ~= $0 }) else { return nil }
      region = String(decoding: part, as: UTF8.self)
      parts.removeFirst()
    } else {
      region = nil
    }
    guard parts.isEmpty else { return nil }
  }

  /// A language as the environment has it: `fr_CA.UTF-8`, `sr_RS@latin`.
  package init?(locale: some StringProtocol) {
    let halves = String(locale).split(separator: "@", maxSplits: 1, omittingEmptySubsequences: false)
    let name = halves.first?.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false).first
    var parts = (name ?? "").split(separator: "_", omittingEmptySubsequences: false)
    if halves.count > 1, parts.count < 3, let script = Language.scripts[String(halves[1])] {
      parts.insert(Substring(script), at: min(1, parts.count))
    }
    self.init(parts.joined(separator: "-"))
  }

  /// A language as people write it: as a locale, or in other letters.
  package init?(meant text: some StringProtocol) {
    let end = text.firstIndex { $0 == "." || $0 == "@" } ?? text.endIndex
    let parts = text[..<end].split(omittingEmptySubsequences: false) { $0 == "_" || $0 == "-" }
    let words = parts.enumerated().map { index, part in
      if index == 0 { return part.lowercased() }
      return part.count == 4 ? part.prefix(1).uppercased() + part.dropFirst().lowercased() : part.uppercased()
    }
    self.init(locale: words.joined(separator: "_") + text[end...])
  }

  private static let scripts = ["latin": "Latn", "cyrillic": "Cyrl", "devanagari": "Deva", "arabic": "Arab"]

  package var description: String { [code, script, region].compactMap { $0 }.joined(separator: "-") }

  // MARK: What is looked for

  /// The names under which this language may have been filed, the best first.
  package var tried: [String] {
    var result: [String] = []
    for tag in row {
      for name in [tag, tag.split(separator: "-").joined(separator: "_")] where !result.contains(name) {
        result.append(name)
      }
    }
    if let legacy = Language.legacy[code] { result.append(legacy) }
    return result
  }

  /// The tags of this language: itself, and those that stand in for it.
  private var row: [String] {
    switch code {
    case "zh":
      let isTraditional = script == "Hant" || script == nil && ["TW", "HK", "MO"].contains(region)
      return [description] + (isTraditional ? ["zh-Hant", "zh-TW", "zh-HK"] : ["zh-Hans", "zh-CN", "zh"])
    case "pt":
      let isBrazilian = script == nil && (region == nil || region == "BR")
      return [description, isBrazilian ? "pt-BR" : "pt-PT", "pt"]
    case "nn": return shorter + ["nb", "no"]
    case "nb": return shorter + ["no"]
    case "no": return shorter + ["nb"]
    default: return shorter
    }
  }

  /// The tag, then without its last part, until the language alone.
  private var shorter: [String] {
    var parts = [code, script, region].compactMap { $0 }
    var result: [String] = []
    while !parts.isEmpty {
      result.append(parts.joined(separator: "-"))
      parts.removeLast()
    }
    return result
  }

  /// The names of languages before there were tags.
  private static let legacy = [
    "en": "English", "fr": "French", "de": "German", "ja": "Japanese", "es": "Spanish", "it": "Italian",
    "nl": "Dutch", "sv": "Swedish", "da": "Danish", "nb": "Norwegian", "nn": "Norwegian", "no": "Norwegian",
    "fi": "Finnish", "pt": "Portuguese", "ko": "Korean", "ru": "Russian", "pl": "Polish",
  ]

  /// What the development region of a bundle stands for: a language, or the old name of one.
  ///
  /// Nothing else: it comes out of a file, and becomes part of a path.
  package static func tried(forRegion text: String) -> [String] {
    if let language = Language(text.replacing(underscores: "-")) { return language.tried }
    return legacy.values.contains(text) ? [text] : []
  }
}

/// The languages of a view, the best first.
package struct LanguageList: Hashable, Sendable {
  package static let limit = 8

  package private(set) var languages: [Language] = []

  /// None: names stay untranslated.
  package init() {}

  /// Nil if there are too many, or one of them twice.
  package init?(_ languages: [Language]) {
    guard languages.count <= LanguageList.limit, Set(languages).count == languages.count else { return nil }
    self.languages = languages
  }

  /// Tags with a separator between; nil if it is not a list of tags.
  package init?(_ text: String, separator: Character) {
    let parts = text.split(separator: separator, omittingEmptySubsequences: false)
    let languages = parts.compactMap { Language($0) }
    guard languages.count == parts.count else { return nil }
    self.init(languages)
  }

  /// The value of `lang=`: tags with `+` between, or with the colons that `LANGUAGE` has.
  package init?(option text: String) {
    self.init(String(text.map { $0 == ":" ? "+" : $0 }), separator: "+")
  }

  /// Languages as people write them, each taken once.
  package init?(meant text: String) {
    let parts = text.split { "+:, ".contains($0) }
    for part in parts {
      guard let language = Language(meant: part) else { return nil }
      if !languages.contains(language) { languages.append(language) }
    }
    if languages.isEmpty || languages.count > LanguageList.limit { return nil }
  }

  /// What `lang=` takes, for those who said something else; with the right form of what they may have meant.
  package static func words(insteadOf text: String) -> String {
    let words = "a language such as fr or pt-BR, or up to \(limit) with '+' between them"
    guard let list = LanguageList(meant: text) else { return words }
    return "\(words); write \(list.languages.map(\.description).joined(separator: "+"))"
  }

  /// The sentence about a language behind a comma, which ends an option; nil if `word` is none, or none was before it.
  package static func complaint(aboutComma word: String, after list: String) -> String? {
    // Letters of another size are no sign of a language there: the word may be any option.
    guard LanguageList(option: word) != nil || Language(locale: word) != nil,
      LanguageList(option: list) != nil, let all = LanguageList(meant: "\(list)+\(word)")
    else { return nil }
    let text = all.languages.map(\.description).joined(separator: "+")
    return "languages have '+' between them, because a comma ends an option: lang=\(text)"
  }

  /// What the environment of a program asks for; nil: the languages of the volume.
  ///
  /// `LANGUAGE` is a list, of which what is no language is passed over. The others are one locale each.
  package init?(language: String?, all: String?, messages: String?, lang: String?) {
    guard let text = [language, all, messages, lang].lazy.compactMap({ $0 }).first(where: { !$0.isEmpty })
    else {
      return nil
    }
    for part in text.split(separator: ":") {
      guard part != "C", part != "POSIX", !part.hasPrefix("C.") else { break }
      guard let language = Language(locale: part), !languages.contains(language) else { continue }
      if languages.count < LanguageList.limit { languages.append(language) }
    }
    if languages.isEmpty { return nil }
  }

  /// The names of strings files and of folders with translations, and the tags of the table of standard names.
  package var tried: [String] {
    var result: [String] = []
    for name in languages.flatMap(\.tried) where !result.contains(name) { result.append(name) }
    return result
  }

  /// The same for a bundle, which may say in which language it was made.
  package func tried(withRegion region: String?) -> [String] {
    var result = tried
    guard let region, !languages.isEmpty else { return result }
    for name in Language.tried(forRegion: region) where !result.contains(name) { result.append(name) }
    return result
  }
}

extension String {
  fileprivate func replacing(underscores text: String) -> String {
    split(separator: "_", omittingEmptySubsequences: false).joined(separator: text)
  }
}

extension UInt8 {
  fileprivate var isLowerLetter: Bool { 0x61...0x7A ~= self }
  fileprivate var isUpperLetter: Bool { 0x41...0x5A ~= self }
}
