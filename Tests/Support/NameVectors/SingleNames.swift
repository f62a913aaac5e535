// Single items, and the name that each is shown by.

package import DisplayNames
import ItemKinds
import Testing

package enum SingleNames {
  package struct Row: Sendable, CustomTestStringConvertible {
    package let number: Int
    package let entry: Entry
    package let languages: String
    package let policy: ExtensionPolicy
    package let name: [UInt8]
    package let letter: Character
    package var testDescription: String { "\(number): \(String(decoding: entry.name, as: UTF8.self))" }

    package init(
      _ number: Int, _ entry: Entry, _ languages: String = "en", _ policy: ExtensionPolicy = .known,
      _ name: String? = nil, _ letter: Character = "="
    ) {
      self.number = number
      self.entry = entry
      self.languages = languages
      self.policy = policy
      self.name = name.map { Array($0.utf8) } ?? entry.name
      self.letter = letter
    }
  }

  package static let extensions: [Row] = [
    Row(1, Entry("report.txt"), "en", .known, "report", "E"), Row(2, Entry("report.txt"), "en", .bit),
    Row(3, Entry("report.txt").withBit, "en", .bit, "report", "E"),
    Row(4, Entry("report.txt").withBit, "en", .never),
    Row(5, Entry("report.txt").withShow), Row(6, Entry("photo.JPG"), "en", .known, "photo", "E"),
    Row(7, Entry("data.qqq")), Row(8, Entry("data.qqq"), "en", .all, "data", "E"),
    Row(9, Entry(".bashrc"), "en", .all), Row(10, Entry(".config.json"), "en", .all),
    Row(11, Entry("README"), "en", .all), Row(12, Entry("file."), "en", .all),
    Row(13, Entry("...txt"), "en", .all),
    Row(14, Entry("a.b c"), "en", .all), Row(15, Entry("archive.tar.gz")),
    Row(16, Entry("invoice.pdf.exe"), "en", .all), Row(17, Entry("invoice.pdf.exe").withBit, "en", .all),
    Row(18, Entry("v1.2.txt"), "en", .known, "v1.2", "E"), Row(19, Entry("setup.sh").isStartable),
    Row(20, Entry("setup.sh").isStartable.withBit, "en", .known, "setup", "E"),
    Row(21, Entry("evil.txt         .sh").withBit), Row(22, Entry("link.txt", .link)),
    Row(23, Entry("folder.txt", .directory)), Row(24, Entry("Foo.app", .directory), "en", .known, "Foo", "E"),
    Row(25, Entry("Foo.app", .directory), "en", .bit, "Foo", "E"),
    Row(26, Entry("Foo.app", .directory), "en", .never),
    Row(27, Entry("evil.txt.app", .directory)),
    Row(28, Entry("Lib", .directory).with { $0.facts.hasBundleBit = true }),
  ]

  package static let notes = Entry.bundle("Notes.app", "Notes", ["de": "Notizen"])
  package static let release = Entry.localized("Release Notes.localized", ["de": "Versionshinweise"])

  package static let files: [Row] = [
    Row(29, notes, "de", .known, "Notizen", "B"),
    Row(30, notes.with { $0.name = Array("MyNotes.app".utf8) }, "de", .known, "MyNotes", "E"),
    Row(31, notes, "de", .never, "Notizen.app", "B"),
    Row(
      32, Entry.bundle("Notes.app", "Notes", ["de": "Rechnung.pdf"]), "de", .known, "Rechnung.pdf.app", "B"),
    Row(33, release, "de", .known, "Versionshinweise", "L"),
    Row(34, release, "de-AT", .known, "Versionshinweise", "L"),
    Row(35, release, "fr", .known, "Release Notes", "L"),
    Row(36, release, "fr+de", .known, "Versionshinweise", "L"),
    Row(
      37, Entry.localized("Mine.localized", ["de": "Versionshinweise"], key: "Release Notes"), "de", .known,
      "Mine", "L"
    ),
    Row(38, Entry("Foo.localized", .directory), "de"), Row(39, Entry("Foo.localized"), "de"),
    Row(40, Entry.localized("A.localized", ["fr": "x/y"]), "fr", .known, "x:y", "L"),
    Row(41, Entry.localized("A.localized", ["fr": ".secret"]), "fr", .known, "A", "L"),
    Row(42, Entry.localized("A.localized", ["fr": "a\u{202E}b"]), "fr", .known, "A", "L"),
    Row(43, Entry.marked("Library"), "fr", .known, "Bibliothèque", "S"),
    Row(44, Entry("Library", .directory), "fr"),
    Row(45, Entry.marked("Pictures"), "fr-CA", .known, "Images", "S"),
    Row(46, Entry.marked("Downloads"), "zh-TW", .known, "下載", "S"),
    Row(47, Entry.marked("Downloads"), "zh-HK", .known, "下載", "S"), Row(48, Entry.marked("Projects"), "fr"),
  ]

  package static let characters: [Row] = [
    Row(49, Entry("cafe\u{301}.txt"), "en", .known, "caf\u{E9}", "E"),
    Row(50, Entry(Array("bad".utf8) + [0xFF] + Array(".txt".utf8)), "en", .known, "bad\\xFF.txt", "X"),
    Row(51, Entry("ann\u{202E}gpj.exe"), "en", .known, "ann\\u202Egpj.exe", "X"),
    Row(52, Entry("a\nb"), "en", .known, "a\\u000Ab", "X"),
    Row(53, Entry("10:30 call.txt"), "en", .known, "10:30 call", "E"),
    Row(54, Entry("zero\u{200B}width"), "en", .known, "zero\\u200Bwidth", "X"),
    Row(55, Entry("👩\u{200D}💻.md"), "en", .known, "👩\u{200D}💻", "E"),
  ]

  package static let deceptive: [Row] =
    [
      "invoice\u{2024}pdf.app", "invoice.\u{440}df.app", "invoice.pdf (1).app", "invoice.pdf..app",
      "invoice.pdf\u{A0}.app", "main.c.app",
    ].map { Row(100, Entry($0, .directory)) }
    + [
      Row(101, Entry("Invoice.exe").withBit), Row(102, Entry("Invoice.desktop")),
      Row(103, Entry("setup\u{2800}.txt")),
      Row(104, Entry("Dr.Müller.txt")), Row(105, Entry("J.S. Bach.mp3"), "en", .known, "J.S. Bach", "E"),
      Row(106, Entry("ユーザ・ガイド.pdf"), "en", .known, "ユーザ・ガイド", "E"),
      Row(107, Entry("क्\u{200C}.txt"), "en", .known, "क्\u{200C}", "E"),
      Row(108, Entry("❤\u{FE0F}.txt"), "en", .known, "❤\u{FE0F}", "E"),
      Row(109, Entry(england + ".md"), "en", .known, england, "E"),
      Row(110, Entry("report\u{200D}.txt"), "en", .known, "report\\u200D.txt", "X"),
      Row(111, Entry("caf\u{E9}\u{200D}.txt"), "en", .known, "caf\u{E9}\\u200D.txt", "X"),
      Row(112, Entry("\u{200E}image.jpg"), "en", .known, "\\u200Eimage.jpg", "X"),
      Row(113, Entry("\u{301}report.txt"), "en", .known, "\\u0301report.txt", "X"),
      Row(114, Entry("a\u{202E}\u{301}b"), "en", .known, "a\\u202E\\u0301b", "X"),
      Row(115, Entry("x\u{FE0F}.txt"), "en", .known, "x\\uFE0F.txt", "X"),
      Row(116, Entry("🏳\u{E0067}\u{E007F}"), "en", .known, "🏳\\u{E0067}\\u{E007F}", "X"),
    ]

  package static let england = "🏴\u{E0067}\u{E0062}\u{E0065}\u{E006E}\u{E0067}\u{E007F}"

  package static let values: [Row] = [
    Row(120, Entry.localized("A.txt.localized", ["fr": "Akte"]), "fr", .known, "Akte", "L"),
    Row(121, Entry.localized("A.txt.localized", ["fr": "Akte.pdf"]), "fr"),
    Row(122, Entry.localized("B.localized", ["fr": " Akte"]), "fr", .known, "B", "L"),
    Row(
      123,
      Entry.localized("B.localized", ["fr": "Akte"]).with {
        $0.name = Array("bad".utf8) + [0xFF] + Array(".localized".utf8)
      }, "fr", .known, "bad\\xFF.localized", "X"),
    Row(124, Entry.bundle("Notes.plugin", "Notes", ["de": "Notizen"]), "de", .bit, "Notizen.plugin", "B"),
    Row(
      125,
      Entry("Notes.app", .directory).with {
        $0.inside = .bundle(
          ["CFBundleName": "Notes"], ["de": ["CFBundleDisplayName": ".x", "CFBundleName": "Notizen.app"]])
      }, "de", .known, "Notizen.app", "B"),
    Row(126, Entry.bundle("evil.pdf.app", "evil.pdf", ["de": "Böse"]), "de", .known, "Böse.app", "B"),
  ]

  /// What follows from the rules beyond the examples.
  package static let more: [Row] = [
    Row(200, Entry("report.txt").with { $0.facts.isWithheld = true }),
    Row(201, Entry("Lib.x", .directory).with { $0.facts.hasBundleBit = true }, "en", .known, "Lib", "E"),
    Row(
      202,
      Entry("Lib.x", .directory).with {
        $0.facts.hasBundleBit = true
        $0.facts.isWithheld = true
      }), Row(203, Entry("Foo.APP", .directory), "en", .bit, "Foo", "E"),
    Row(204, Entry("a.zip", .directory), "en", .all), Row(205, Entry("a.zip", .pipe), "en", .all),
    Row(206, Entry.marked("Documents"), "fr", .known, "Documents", "S"),
    Row(207, Entry.marked("Downloads"), "ar"),
    Row(208, Entry.marked("Downloads"), "ar+fr", .known, "Téléchargements", "S"),
    Row(209, Entry.marked("Library"), ""), Row(210, release, "", .known, "Release Notes", "L"),
    Row(211, Entry.localized("Foo.localized", ["French": "Vieux"]), "fr-CA", .known, "Vieux", "L"),
    Row(212, Entry.localized("Foo.localized", ["zh_TW": "舊"]), "zh-Hant-HK", .known, "舊", "L"),
    Row(
      213, Entry.localized("cafe\u{301}.localized", ["fr": "Thé"], key: "caf\u{E9}"), "fr", .known, "Thé", "L"
    ),
    Row(214, Entry.localized(".localized", ["fr": "x"], key: ""), "fr"),
    Row(215, Entry.localized("Foo.Localized", ["fr": "x"], key: "Foo"), "fr"),
    Row(
      216, Entry.localized("A.localized", ["fr": String(repeating: "é", count: 128)]), "fr", .known, "A", "L"),
    Row(
      217, Entry.localized("A.localized", ["fr": String(repeating: "é", count: 127)]), "fr", .known,
      String(repeating: "é", count: 127), "L"),
    Row(218, Entry.localized("A.localized", ["fr": ""]), "fr", .known, "A", "L"),
    Row(219, Entry.localized("A.localized", ["fr": "x\u{2800}"]), "fr", .known, "A", "L"),
    Row(220, Entry.localized("A.localized", ["fr": "x\0"]), "fr", .known, "A", "L"),
    Row(221, Entry("x.app.localized", .directory), "en", .all),
    Row(222, Entry("a.x   y.txt")), Row(223, Entry("a .txt")),
    Row(224, Entry("a  b.txt"), "en", .known, "a  b", "E"),
    Row(225, Entry(" .txt"), "en", .all), Row(226, Entry(". .txt"), "en", .all),
    Row(227, Entry("1\u{FE0F}\u{20E3}.txt"), "en", .known, "1\u{FE0F}\u{20E3}", "E"),
    Row(228, Entry("❤\u{FE0F}\u{200D}🔥.txt"), "en", .known, "❤\u{FE0F}\u{200D}🔥", "E"),
    Row(229, Entry("🏴\u{E007F}"), "en", .known, "🏴\\u{E007F}", "X"),
    Row(230, Entry("🏴\u{E0067}x"), "en", .known, "🏴\\u{E0067}x", "X"),
    Row(231, Entry("a\u{10FFFF}"), "en", .known, "a\\u{10FFFF}", "X"),
    Row(232, Entry([0xED, 0xA0, 0x80, 0xC0, 0x80]), "en", .known, "\\xED\\xA0\\x80\\xC0\\x80", "X"),
    Row(
      233, Entry([0x61, 0xFF] + Array("\u{301}\u{301}b".utf8)), "en", .known, "a\\xFF\\u0301\\u0301b", "X"),
    Row(234, Entry(".cafe\u{301}.txt"), "en", .known, ".caf\u{E9}.txt", "X"),
    Row(235, Entry("\u{212B}"), "en", .known, "\u{C5}", "X"),
    Row(
      236, Entry.bundle("Foo", "Foo", ["de": "Bar"]).with { $0.facts.hasBundleBit = true }, "de", .known,
      "Bar", "B"),
    Row(237, Entry.bundle("Foo", "Foo", ["de": "Bar.pdf"]).with { $0.facts.hasBundleBit = true }, "de"),
    Row(
      238,
      Entry("Foo.app", .directory).with {
        $0.inside = .bundle(
          ["CFBundleExecutable": "Foo", "CFBundleDevelopmentRegion": "English"],
          ["English": ["CFBundleName": "Bar"]])
      }, "de", .known, "Bar", "B"), Row(239, Entry("Foo.app"), "en", .known, "Foo", "E"),
    Row(240, Entry("a.txt"), "en", .bit), Row(241, Entry("a.txt").withBit, "en", .all, "a", "E"),
    Row(242, Entry("a.c.txt")), Row(243, Entry("a.c b.txt"), "en", .known, "a.c b", "E"),
    Row(244, Entry("a.яяяяяяяяя.txt"), "en", .known, "a.яяяяяяяяя", "E"), Row(245, Entry("a.яяяяяяяя.txt")),
    Row(246, Entry("я\u{200D}.txt"), "en", .known, "я\\u200D.txt", "X"),
    Row(247, Entry("e\u{301}\u{200D}"), "en", .known, "\u{E9}\\u200D", "X"),
    Row(248, Entry("א\u{200D}.txt"), "en", .known, "א\u{200D}", "E"),
    Row(249, Entry("\u{58F}\u{200D}"), "en", .known, "\u{58F}\\u200D", "X"),
    Row(250, Entry("名\u{34F}\u{200D}"), "en", .known, "名\u{34F}\\u200D", "X"),
    // A character that belongs to the next one, be it a dot; and one that belongs to a dot.
    Row(251, Entry.localized("a\u{70F}.localized", ["fr": "b"]), "fr", .known, "b", "L"),
    Row(252, Entry.localized("a\u{70F}.localized"), "fr", .known, "a\u{70F}", "L"),
    Row(253, Entry("a\u{70F}.txt"), "en", .known, "a\u{70F}", "E"), Row(254, Entry(".\u{301}x.txt")),
  ]

  package static let all = extensions + files + characters + deceptive + values + more
}
