// A tree of names as people all over the world give them, and as those do who want to deceive.

import DisplayNames
import Foundation
import ItemKinds
import NameVectors
import Randomness

enum NamesOfTheWorld {
  /// The languages that its directories are translated into.
  static let languages = ["de", "fr", "ja", "ru", "ar", "zh-Hant", "pt-BR", "tr"]
  /// A directory in which nothing stands in the way of a translation.
  static let sure = Array("sure".utf8)
  static let translated = ["Fotos", "Été", "写真"]
  /// What `Pictures` is called there.
  static let pictures = [
    "de": "Bilder", "fr": "Images", "ja": "画像", "ru": "Изображения", "ar": "الصور", "zh-Hant": "圖片",
    "pt-BR": "Imagens", "tr": "Resimler",
  ]

  static func translation(of word: String, _ language: String) -> String { "\(word) (\(language))" }

  private static let words = [
    "Annual Report", "résumé", "re\u{301}sume\u{301}", "Übersicht", "Straße", "naïve café", "Ελλάδα",
    "отчёт за май", "Звіт", "תיעוד", "تقرير سنوي", "گزارش", "रिपोर्ट", "தமிழ்", "রিপোর্ট", "รายงาน", "报告",
    "報告書", "レポート", "보고서", "한글", "\u{1112}\u{1161}\u{11AB}글", "Hồ sơ", "Yılmaz", "ILLINI ıi",
    "Žluťoučký kůň", "Łódź", "Œuvre", "Þór", "ქართული", "հայերեն", "አማርኛ", "ᏣᎳᎩ", "ភាសាខ្មែរ", "བོད་ཡིག",
    "🎉 party", "👩‍💻", "🏴󠁧󠁢󠁥󠁮󠁧󠁿", "❤️", "🇫🇷", "2024-12-31", "v1.2", "IMG_0001", "10:30 call",
    "a\u{2215}b", "  two  blanks", "three   blanks", "new\nline", "tab\there", "zero\u{200B}width",
    "\u{202E}gpj", "soft\u{AD}hyphen", "\u{301}mark", "\u{FEFF}bom", "שלום world", "क्‌ष", "ﬁle", "Ａｂｃ",
    "x²", "№ 5", "…", "O'Brien \"quoted\"", "$HOME", "*?[x]", "~backup", "-dash", "a\\u202Eb", "a\u{202E}b",
    "Ω", "\u{2126}", "Å", "\u{212B}", "A\u{30A}", "Invoice.pdf", "main.c", "J.S. Bach", "ユーザ・ガイド",
    ".profile", ".config", "\u{958}\u{958}", "file 9", "file 10", "Trailing ", "𝒳", "𐍈", "\u{E000}",
  ]
  private static let ends = [
    ".txt", ".txt", ".pdf", ".JPG", ".tar.gz", ".docx", ".md", ".unknown", "", "", ".exe", ".sh", ".swift",
    ".pages", ".mp3", ".localized", ".app", ".", ".c", ".ü", ".7z",
  ]
  /// What is no UTF-8 on any machine.
  private static let broken: [[UInt8]] = [
    [0x62, 0x61, 0x64, 0xFF, 0x2E, 0x74, 0x78, 0x74], [0xE9, 0x74, 0xE9], [0xC3, 0x28],
    [0xED, 0xA0, 0x80, 0x2E, 0x6D, 0x64], [0xF4, 0x90, 0x80, 0x80], [0x61, 0x80, 0x2E, 0x70, 0x64, 0x66],
  ]
  private static let long = [
    String(repeating: "\u{202E}", count: 60) + ".md", String(repeating: "\u{958}", count: 80) + ".txt",
    String(repeating: "\u{FB2C}", count: 60) + ".pdf", String(repeating: "a", count: 251) + ".txt",
    String(repeating: "名", count: 83) + ".md", String(repeating: "👩‍💻", count: 22) + ".txt",
  ]
  private static let values = [
    "Gleich", "x/y", ".secret", " blank", "Akte.pdf", "a\u{202E}b", "e\u{301}t\u{E9}", "", "報告書", "R&D <neu>",
    "Übersicht.txt", "Straße", "отчёт", "写真", "v2", "😀",
  ]

  /// Several thousand items in directories, by the names of these.
  static func directories(using dice: inout Dice) -> [(name: [UInt8], entries: [Entry])] {
    var result = [(sure, distinct(dependable()))]
    for number in 0..<25 {
      var entries = dependable().filter { _ in !dice.once(in: 3) }
      entries += (0..<90).map { _ in file(using: &dice) }
      entries += broken.map { Entry($0) } + long.map { Entry($0) }
      entries += (0..<14).map { _ in directory(using: &dice) }
      entries += others(of: entries, using: &dice)
      result.append((Array("dir \(number)".utf8), distinct(entries).shuffled(using: &dice)))
    }
    return result
  }

  private static func dependable() -> [Entry] {
    let localized = translated.map { word in
      let values = languages.map { ($0, translation(of: word, $0)) }
      return Entry.localized("\(word).localized", Dictionary(uniqueKeysWithValues: values))
    }
    let memos = [
      "de": "Notizen", "fr": "Mémos", "ja": "メモ", "ru": "Заметки", "ar": "ملاحظات", "tr": "Notlar",
    ]
    return localized + ["Library", "Pictures", "Downloads"].map { .marked($0) }
      + [.bundle("Notes.app", "Notes", memos), Entry("Documents", .directory), Entry("report.txt")]
  }

  private static func file(using dice: inout Dice) -> Entry {
    let text = dice.pick(words) + (dice.once(in: 3) ? " \(dice.below(30))" : "") + dice.pick(ends)
    var entry = Entry(
      text, dice.pick([.regular, .regular, .regular, .regular, .regular, .regular, .link, .pipe]))
    entry.isHidden = text.hasPrefix(".") || dice.once(in: 12) && entry.facts.kind == .regular
    guard entry.facts.kind == .regular else { return entry }
    entry.facts.isExecutable = dice.once(in: 6)
    entry.facts.state = dice.pick([.unset, .unset, .unset, .unset, .unset, .hide, .show])
    // What an entry of its list denies somebody hides no item.
    if dice.once(in: 16), !entry.isHidden { entry.facts.isWithheld = true }
    return entry
  }

  private static func directory(using dice: inout Dice) -> Entry {
    let word = dice.pick(words)
    var entry: Entry
    switch dice.below(5) {
    case 0: entry = Entry(word + dice.pick(ends), .directory)
    case 1:
      let key = dice.once(in: 4) ? "another" : word
      entry = .localized(word + ".localized", values(using: &dice), key: key)
    case 2: entry = .bundle(word + ".app", dice.once(in: 4) ? "another" : word, values(using: &dice))
    case 3: entry = .bundle(word + dice.pick([".plugin", ".rtfd", ".framework"]), word, values(using: &dice))
    default:
      entry = .marked(dice.pick(["Music", "Movies", "Public", "Trash", "Desktop", "Videos", "Utilities"]))
    }
    entry.facts.hasBundleBit = dice.once(in: 8)
    entry.isHidden = entry.name.first == UInt8(ascii: ".") || dice.once(in: 10)
    return entry
  }

  private static func values(using dice: inout Dice) -> [String: String] {
    var values: [String: String] = [:]
    for language in languages where !dice.once(in: 3) { values[language] = dice.pick(self.values) }
    return values
  }

  /// Items whose real names others are shown by, or would be: as they are, or in another form.
  private static func others(of entries: [Entry], using dice: inout Dice) -> [Entry] {
    entries.compactMap { entry in
      guard dice.once(in: 8) else { return nil }
      let text = String(decoding: entry.name, as: UTF8.self)
      let dot = text.lastIndex(of: ".") ?? text.endIndex
      let name = dice.pick([
        String(text[..<dot]), text.precomposedStringWithCanonicalMapping,
        text.decomposedStringWithCanonicalMapping, dice.pick(values),
      ])
      guard !name.isEmpty, !name.contains("/"), name.utf8.count <= 255 else { return nil }
      var other = Entry(name, dice.pick([.regular, .directory]))
      other.isHidden = other.name.first == UInt8(ascii: ".") || dice.once(in: 3)
      return other
    }
  }

  private static func distinct(_ entries: [Entry]) -> [Entry] {
    var seen: Set<[UInt8]> = [[0x2E], [0x2E, 0x2E], Array(".hidden".utf8)]
    return entries.filter { $0.name.count <= 255 && seen.insert($0.name).inserted }
  }
}
