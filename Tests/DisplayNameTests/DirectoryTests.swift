// Random directories against the reference, and what must be true of every directory.

import DisplayNames
import Foundation
import ItemKinds
import NameVectors
import Randomness
import Testing

extension Dice {
  private static let stems = [
    "a", "b", "report", "Report", "cafe\u{301}", "caf\u{E9}", "a\u{202E}b", "a\\u202Eb", "x.q", "x", ".git",
    "v1.2", "A.txt",
    "e\u{323}\u{301}", "e\u{301}\u{323}", "\u{301}x", "Music", "Musique", "Library", "Bibliothèque", "Notes",
    "Mémos", "q", "y",
    "👩\u{200D}💻", "a\u{200D}", "🏴\u{E0067}\u{E007F}", "a b", "a ", "a   b", "J.S. B", "1\u{FE0F}", "\u{958}",
    "Dr.Müller", "я.рdf", "a.b",
    "\u{2126}", "\u{212B}", "Å", "z\u{34F}", "я\u{200D}", "a\u{301}\u{200D}", "א\u{200D}\u{200D}", "名前",
    "\u{2800}", "in.c", "foo.desktop",
  ]
  private static let ends = [
    "", "", "", ".txt", ".txt", ".pdf", ".md", ".app", ".app", ".localized", ".localized", ".exe", ".sh",
    ".qqq", ".c", ".key",
    ".rtfd", ".", ".TXT", ".plugin", "\u{301}", ".localized.txt",
  ]
  private static let texts = [
    "Z", "q", "y", "a", "Musique", "b.txt", " x", "x/y", ".s", "caf\u{E9}", "cafe\u{301}", "Mémos",
    "a\u{202E}b", "", "report",
    "Notizen.app", "caf\u{E9} [81ef06]", "Akte.pdf", "a.Ü", "x:y",
  ]
  private static let tags = ["fr", "de", "en", "French", "pt_BR"]
  /// What stands in for other languages.
  private static let rarer = [
    "de-AT", "de_AT", "German", "zh", "zh-TW", "zh_HK", "zh-Hant", "zh_CN", "zh-Hans", "nb", "nn", "no",
    "Norwegian",
    "pt", "pt-PT", "Portuguese", "sr-Latn", "sr_Latn_RS", "sr", "en_GB", "English",
  ]

  private mutating func stem() -> String {
    if once(in: 30) { return String(repeating: pick(Dice.stems), count: 1 + below(40)) }
    return once(in: 6) ? pick(Dice.stems) + pick(Dice.stems) : pick(Dice.stems)
  }

  mutating func name() -> [UInt8] {
    var bytes = Array((stem() + pick(Dice.ends)).utf8)
    if once(in: 12) { bytes.insert(UInt8(truncatingIfNeeded: next()) | 0x80, at: below(bytes.count + 1)) }
    bytes = Array(bytes.prefix(255)).map { $0 == 0x2F || $0 == 0 ? 0x5F : $0 }
    return bytes == [0x2E] || bytes == [0x2E, 0x2E] ? [0x61] : bytes
  }

  private mutating func tag() -> String { pick(once(in: 2) ? Dice.rarer : Dice.tags) }

  private mutating func inside(_ name: [UInt8]) -> Entry.Inside {
    let text = String(decoding: name, as: UTF8.self)
    let dot = text.unicodeScalars.lastIndex(of: ".") ?? text.endIndex
    let own = once(in: 5) ? "Other" : String(text.unicodeScalars[..<dot])
    switch below(4) {
    case 0: return .marker
    case 1:
      return .localizations(
        key: own, Dictionary((0..<below(6)).map { _ in (tag(), pick(Dice.texts)) }) { $1 })
    case 2:
      let region =
        once(in: 3) ? ["CFBundleDevelopmentRegion": pick(["English", "de", "../x", "zh_TW", "nn-NO"])] : [:]
      let key = pick(["CFBundleName", "CFBundleDisplayName", "CFBundleExecutable"])
      let values = (0..<below(6)).map { _ in
        (tag(), [pick(["CFBundleName", "CFBundleDisplayName"]): pick(Dice.texts)])
      }
      return .bundle(region.merging([key: own]) { $1 }, Dictionary(values) { $1 })
    default: return .nothing
    }
  }

  private mutating func entry(_ name: [UInt8]) -> Entry {
    var entry = Entry(name, pick([.regular, .regular, .regular, .directory, .directory, .directory, .link]))
    if name.ends(with: ".localized") || name.ends(with: ".app"), !once(in: 4) {
      entry.facts.kind = .directory
    }
    entry.facts.isExecutable = once(in: 6)
    entry.facts.state = pick([.unset, .unset, .unset, .hide, .show])
    entry.facts.hasBundleBit = once(in: 8)
    entry.facts.isWithheld = once(in: 12)
    entry.isHidden = once(in: 6)
    if entry.facts.kind == .directory { entry.inside = inside(name) }
    if once(in: 12) {
      entry = .marked(pick(["Library", "Music", "Documents", "Trash", "Videos"])).with {
        $0.isHidden = entry.isHidden
      }
    }
    return entry
  }

  /// A directory of up to `limit` items.
  mutating func directory(_ limit: Int) -> [Entry] {
    distinct((0..<below(limit + 1)).map { _ in entry(name()) })
  }

  /// The same with somebody who takes names that are shown: as they are, or in another form.
  mutating func attacked(_ entries: [Entry], _ shown: [[UInt8]]) -> [Entry] {
    var result = entries
    for name in shown where once(in: 3) {
      let text = String(decoding: name, as: UTF8.self)
      let taken = once(in: 2) ? Array(text.decomposedStringWithCanonicalMapping.utf8) : name
      guard taken.count <= 255 else { continue }
      result.append(entry(taken))
    }
    return distinct(result)
  }

  private func distinct(_ entries: [Entry]) -> [Entry] {
    var seen = Set<[UInt8]>()
    return entries.filter { seen.insert($0.name).inserted }
  }
}

@Suite("Random directories") struct DirectoryTests {
  private let choices: [(languages: String, policy: ExtensionPolicy)] = [
    ("fr", .known), ("de", .all), ("fr+de", .bit), ("pt-BR", .known), ("en", .never), ("", .known),
    ("zh-TW+fr", .known), ("nn-NO+de-AT", .all), ("pt-AO+zh", .bit), ("no+sr-Latn-RS", .known),
  ]

  /// No bytes of the names, but by their numbers: marks of direction and format that turn or hide what is read.
  private static let deceiving: [ClosedRange<UInt32>] = [
    0...0x1F, 0x7F...0x9F, 0xAD...0xAD, 0x200B...0x200B, 0x2028...0x202E, 0x2060...0x206F, 0xFEFF...0xFEFF,
    0xFFF9...0xFFFB, 0x3164...0x3164,
  ]

  /// The extension of a name, if it is that of a type that is known; nil if it is none.
  private func known(_ name: [UInt8]) -> String? {
    guard let dot = name.lastIndex(of: UInt8(ascii: ".")), dot > 0 else { return nil }
    let word = String(decoding: name[(dot + 1)...], as: UTF8.self).lowercased()
    return FileExtension(word).map(kinds.isKnown) == true ? word : nil
  }

  /// What a shown name may not do, whatever it was made of.
  private func deception(_ entry: Entry, _ shown: Shown) -> String? {
    let text = shown.text
    if text.unicodeScalars.contains(where: { scalar in
      DirectoryTests.deceiving.contains { $0.contains(scalar.value) }
    }) {
      return "a mark that turns or hides what is read"
    }
    guard shown.name != entry.name else { return nil }
    if let word = known(shown.name), word != known(entry.name) { return "the extension of another type" }
    if shown.letter == "L" || shown.letter == "S", Reference.passes(text) {
      return "a directory like a document"
    }
    // Of a file that can be started the end is always there.
    let ends = [".exe", ".sh", ".desktop"].filter { entry.name.ends(with: $0) }
    let mayGo = entry.facts.kind != .regular || entry.facts.state == .hide && ends == [".sh"]
    if let end = ends.first, !mayGo, entry.facts.isExecutable || end != ".sh", !shown.name.ends(with: end) {
      return "it can be started, and does not say so"
    }
    if shown.letter == "E", let last = text.unicodeScalars.last, Reference.isBlank(last) {
      return "a blank at the end"
    }
    return nil
  }

  /// What has to be true whatever the rules are.
  private func check(_ entries: [Entry], _ shown: [Shown?]) -> String? {
    let reals = entries.map(\.name)
    var seen: [[UInt8]: Int] = [:]
    for (index, shown) in shown.enumerated() {
      guard let shown else { continue }
      let name = shown.name
      if let fault = deception(entries[index], shown) { return fault }
      if seen.updateValue(index, forKey: name) != nil { return "a name twice" }
      if let other = reals.firstIndex(of: name), other != index { return "the real name of another" }
      if name.isEmpty || name.count > 255 { return "the length" }
      guard let text = String(validating: name, as: UTF8.self) else { return "no text" }
      let normal = Reference.nfc(text)
      if !normal.unicodeScalars.elementsEqual(text.unicodeScalars) { return "not in NFC" }
      if Reference.glyphs(name).contains(where: \.isEscape) { return "something invisible" }
      if shown.letter == "E", Reference.passes(text) { return "looks like a document" }
    }
    return nil
  }

  @Test("The engine and the reference agree, and all properties hold") func agreement() {
    var dice = Dice(for: "directories")
    let all = choices.map { (rules($0.languages, $0.policy), reference($0)) }
    let rounds = many(100_000, 1_500_000)
    var classes: [Character: Int] = [:]
    for round in 0..<rounds {
      let (rules, reference) = dice.pick(all)
      var entries = dice.directory(7)
      if dice.once(in: 3) {
        entries = dice.attacked(entries, names(entries, rules).compactMap { $0?.name })
      }
      let shown = names(entries, rules)
      let expected = reference.names(entries)
      for name in shown.compactMap({ $0 }) { classes[name.letter, default: 0] += 1 }
      if let fault = check(entries, shown) ?? (shown == expected ? nil : "not as the reference") {
        Issue.record(
          "round \(round): \(fault): \(entries.map { Shown($0.name, "?") }): \(shown) not \(expected)")
        return
      }
      guard dice.once(in: 4) else { continue }
      let order = entries.indices.shuffled(using: &dice)
      let again = names(order.map { entries[$0] }, rules)
      if again != order.map({ shown[$0] }) {
        Issue.record("round \(round): depends on the order: \(entries.map { Shown($0.name, "?") })")
        return
      }
    }
    print("\(rounds) directories: \(classes)")
    for letter in "=XLSBE" { #expect(classes[letter, default: 0] > rounds / 100, "\(letter)") }
  }

  private func reference(_ choice: (languages: String, policy: ExtensionPolicy)) -> Reference {
    Reference(
      languages: LanguageList(choice.languages, separator: "+") ?? LanguageList(), policy: choice.policy)
  }

  @Test("Any bytes are a name: a million of them, up to 255 bytes each") func fuzz() {
    var dice = Dice(for: "fuzz of names")
    let all = choices.map { rules($0.languages, $0.policy) }
    let pieces: [[UInt8]] =
      [
        [0xFF], [0x80], [0xE2, 0x80], [0xF0, 0x9F], [0xED, 0xA0, 0x80], [0x2E], [0x20], [0x0A],
      ]
      + [
        "\u{202E}", "\u{301}", "\u{958}", "\u{200D}", "🏴", "\u{E0067}", "\u{E007F}", "名", "é", "a", ".txt",
        "\u{FE0F}", "\u{1D16D}", "\u{AC00}", "\u{11A8}",
      ]
      .map { Array($0.utf8) }
    let rounds = many(1_000_000, 10_000_000)
    var directory: [Entry] = []
    for _ in 0..<rounds {
      var bytes: [UInt8] = []
      let length = 1 + dice.below(dice.once(in: 8) ? 255 : 24)
      if dice.once(in: 3) {
        bytes = (0..<length).map { _ in UInt8(truncatingIfNeeded: dice.next()) }
      } else {
        let some = (0..<3).map { _ in dice.pick(pieces) }
        while bytes.count < length { bytes += dice.pick(some) }
      }
      var entry = Entry(Array(bytes.prefix(255)), dice.pick([.regular, .directory]))
      entry.facts.state = dice.pick([.unset, .hide])
      directory.append(entry)
      guard directory.count == 50 else { continue }
      var seen = Set<[UInt8]>()
      directory = directory.filter { seen.insert($0.name).inserted }
      let shown = names(directory, dice.pick(all))
      for (entry, shown) in zip(directory, shown) {
        guard let name = shown?.name, !name.isEmpty, name.count <= 255,
          name == entry.name || !seen.contains(name),
          String(validating: name, as: UTF8.self) != nil
        else {
          Issue.record("\(entry.name)")
          return
        }
      }
      if Set(shown.compactMap { $0?.name }).count != directory.count {
        Issue.record("\(directory.map(\.name))")
      }
      directory.removeAll()
    }
  }
}

extension [UInt8] {
  func ends(with text: String) -> Bool { suffix(text.utf8.count).elementsEqual(text.utf8) }
}
