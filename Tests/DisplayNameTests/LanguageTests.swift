import DisplayNames
import NameVectors
import Testing

@Suite("Languages") struct LanguageTests {
  @Test("Tags are written in one way") func tags() {
    for text in ["fr", "haw", "fr-CA", "es-419", "zh-Hant", "sr-Latn-RS", "zh-Hant-HK"] {
      #expect(Language(text)?.description == text)
    }
    for text in [
      "", "f", "FR", "Fr", "fr_CA", "fr-ca", "fr-CA-x", "fr-", "-fr", "fr--CA", "frfr", "fr-FRA", "fr-41",
      "fr-4199",
      "zh-hant", "zh-HANT", "zh-TW-Hant", "zh-Hant-Hans", "é", "fr ", "fr\0", "fr-C\u{301}A", "English", "c+",
    ] {
      #expect(Language(text) == nil, "\(text)")
    }
  }

  @Test("What is looked for") func tried() {
    let rows: [(String, [String])] = [
      ("fr", ["fr", "French"]), ("fr-CA", ["fr-CA", "fr_CA", "fr", "French"]), ("eo", ["eo"]),
      ("sr-Latn-RS", ["sr-Latn-RS", "sr_Latn_RS", "sr-Latn", "sr_Latn", "sr"]),
      ("zh-Hant", ["zh-Hant", "zh_Hant", "zh-TW", "zh_TW", "zh-HK", "zh_HK"]),
      ("zh-Hant-HK", ["zh-Hant-HK", "zh_Hant_HK", "zh-Hant", "zh_Hant", "zh-TW", "zh_TW", "zh-HK", "zh_HK"]),
      ("zh-MO", ["zh-MO", "zh_MO", "zh-Hant", "zh_Hant", "zh-TW", "zh_TW", "zh-HK", "zh_HK"]),
      ("zh-TW", ["zh-TW", "zh_TW", "zh-Hant", "zh_Hant", "zh-HK", "zh_HK"]),
      ("zh", ["zh", "zh-Hans", "zh_Hans", "zh-CN", "zh_CN"]),
      ("zh-SG", ["zh-SG", "zh_SG", "zh-Hans", "zh_Hans", "zh-CN", "zh_CN", "zh"]),
      ("pt", ["pt", "pt-BR", "pt_BR", "Portuguese"]), ("pt-BR", ["pt-BR", "pt_BR", "pt", "Portuguese"]),
      ("pt-AO", ["pt-AO", "pt_AO", "pt-PT", "pt_PT", "pt", "Portuguese"]),
      ("nn-NO", ["nn-NO", "nn_NO", "nn", "nb", "no", "Norwegian"]), ("nb", ["nb", "no", "Norwegian"]),
      ("no", ["no", "nb", "Norwegian"]), ("de-AT", ["de-AT", "de_AT", "de", "German"]),
    ]
    for (tag, names) in rows { #expect(Language(tag)?.tried == names, "\(tag)") }
    let list = LanguageList("fr-CA+fr+en", separator: "+")
    #expect(list?.tried == ["fr-CA", "fr_CA", "fr", "French", "en", "English"])
  }

  @Test("What is looked for, for every language, script and region, is what the table of languages says")
  func everyTag() {
    let codes = [
      "en", "fr", "de", "ja", "es", "it", "nl", "sv", "da", "nb", "nn", "no", "fi", "pt", "ko", "ru", "pl",
      "zh", "sr",
      "ar", "haw", "eo",
    ]
    for code in codes {
      for script in ["", "-Hant", "-Hans", "-Latn"] {
        // The rows of these two are about languages without a script.
        if ["pt", "nn", "nb", "no"].contains(code), !script.isEmpty { continue }
        for region in ["", "-BR", "-PT", "-TW", "-HK", "-MO", "-CN", "-SG", "-NO", "-419", "-AO"] {
          let tag = code + script + region
          #expect(Language(tag)?.tried == Reference.tried(tag: tag), "\(tag)")
        }
      }
    }
  }

  @Test("The language a bundle was made in comes last, and can be nothing but a language") func region() {
    let list = LanguageList("de", separator: "+") ?? LanguageList()
    #expect(list.tried(withRegion: "en_GB") == ["de", "German", "en-GB", "en_GB", "en", "English"])
    #expect(list.tried(withRegion: "English") == ["de", "German", "English"])
    for text in ["../../etc", "", "Klingon", "en/..", "en\0"] {
      #expect(list.tried(withRegion: text) == ["de", "German"])
    }
    #expect(LanguageList().tried(withRegion: "English") == [], "without languages nothing is translated")
  }

  @Test("Lists") func lists() {
    #expect(LanguageList("fr:de", separator: ":")?.languages.map(\.description) == ["fr", "de"])
    #expect(LanguageList("fr+fr", separator: "+") == nil && LanguageList("", separator: "+") == nil)
    #expect(LanguageList("fr+", separator: "+") == nil && LanguageList("fr:de", separator: "+") == nil)
    #expect(LanguageList("aa+bb+cc+dd+ee+ff+gg+hh", separator: "+")?.languages.count == 8)
    #expect(LanguageList("aa+bb+cc+dd+ee+ff+gg+hh+ii", separator: "+") == nil)
  }

  @Test("Locales of the environment") func locales() {
    let rows: [(String, String?)] = [
      ("fr_CA.UTF-8", "fr-CA"), ("sr_RS@latin", "sr-Latn-RS"), ("sr@latin", "sr-Latn"),
      ("de_DE@euro", "de-DE"),
      ("ca_ES.UTF-8@valencia", "ca-ES"), ("en", "en"), ("zh_TW", "zh-TW"), ("C", nil), ("POSIX", nil),
      ("", nil),
      ("C.UTF-8", nil), ("fr-CA", "fr-CA"), ("_", nil), ("@latin", nil),
    ]
    for (text, tag) in rows { #expect(Language(locale: text)?.description == tag, "\(text)") }
  }

  @Test("What people write in place of languages is told in the right form, and is no language") func meant()
  {
    let rows: [(String, String?)] = [
      ("fr_FR", "fr-FR"), ("fr-fr", "fr-FR"), ("FR", "fr"), ("de_DE.UTF-8:fr", "de-DE+fr"),
      ("fr,de", "fr+de"),
      ("sr_RS@latin", "sr-Latn-RS"), ("ZH_hant_tw", "zh-Hant-TW"), ("fr:", "fr"), ("fr_FR:fr_FR", "fr-FR"),
      ("french", nil), ("", nil), ("C", nil), ("fr+x", nil), ("fr/de", nil),
      ("aa:bb:cc:dd:ee:ff:gg:hh:ii", nil),
    ]
    for (text, list) in rows {
      let told = LanguageList.words(insteadOf: text)
      #expect(told.hasSuffix(list.map { "between them; write \($0)" } ?? "between them"), "\(text): \(told)")
      #expect(LanguageList(option: text) == nil, "\(text)")
    }
    func comma(_ word: String) -> String? { LanguageList.complaint(aboutComma: word, after: "fr") }
    #expect(comma("de")?.hasSuffix(": lang=fr+de") == true)
    #expect(comma("de_DE.UTF-8")?.hasSuffix(": lang=fr+de-DE") == true)
    #expect(comma("NFS") == nil && comma("no_root_squash") == nil)
  }

  @Test("Which of the variables counts") func environment() {
    func list(_ language: String?, _ all: String?, _ messages: String?, _ lang: String?) -> [String]? {
      LanguageList(language: language, all: all, messages: messages, lang: lang)?.languages.map(\.description)
    }
    #expect(list("fr_CA:fr:en", "de_DE.UTF-8", nil, nil) == ["fr-CA", "fr", "en"])
    #expect(list("", "de_DE.UTF-8", "it_IT", "es_ES") == ["de-DE"])
    #expect(list(nil, "", "it_IT", "es_ES") == ["it-IT"] && list(nil, nil, nil, "es_ES") == ["es-ES"])
    #expect(
      list(nil, nil, nil, nil) == nil && list(nil, "C", nil, "fr_FR") == nil
        && list(nil, "POSIX", nil, nil) == nil)
    #expect(list(nil, "C.UTF-8", nil, nil) == nil && list("fr:C:de", nil, nil, nil) == ["fr"])
    #expect(list("fr:xx_yy:fr:de", nil, nil, nil) == ["fr", "de"])
    #expect(list("aa:bb:cc:dd:ee:ff:gg:hh:ii", nil, nil, nil)?.count == 8)
  }
}

@Suite("Names of views") struct ViewNameTests {
  @Test("Each has one form") func canonical() {
    for text in [
      "fr", "fr-CA+en,all", "default", "default,ext=bit", "fr,all,ext=never", "default,all",
      "zh-Hant-HK+sr-Latn-RS,ext=all",
    ] {
      #expect(ViewName(Array(text.utf8))?.description == text)
    }
    for text in [
      "", "FR", "fr,", ",all", "fr,ext=known", "fr,ext=bit,all", "fr,all,all", "fr,ext=bit,ext=bit",
      "fr,ext=", "fr,ALL",
      "fr+fr", "fr+", "+fr", "default+fr", "fr+default", "Default", "fr all", "fr,all ", "fr\0",
      "aa+bb+cc+dd+ee+ff+gg+hh+ii",
      "fr,ext=all,", "fr_CA", "fr:de", ".", "..", "fr/de", "defaul", "default,ext=never,x",
    ] {
      #expect(ViewName(Array(text.utf8)) == nil, "\(text)")
    }
    #expect(ViewName([0x66, 0xFF]) == nil && ViewName([UInt8](repeating: 0x61, count: 100_000)) == nil)
  }

  @Test func meaning() {
    let view = ViewName(Array("fr-CA+en,all,ext=never".utf8))
    #expect(view?.languages?.languages.map(\.description) == ["fr-CA", "en"])
    #expect(view?.showsHidden == true && view?.extensions == .never)
    #expect(ViewName(Array("default".utf8)) == ViewName())
  }
}

@Suite("Hidden items") struct HiddenTests {
  private func letters(
    _ name: String, flag: Bool = false, listed: Bool = false, root: Bool = false
  ) -> String {
    HiddenReasons(Array(name.utf8).span, hasFlag: flag, isListed: listed, isAtRoot: root).letters
  }

  @Test func reasons() {
    #expect(letters("a") == "" && letters(".a") == "d" && letters("a", flag: true) == "f")
    #expect(
      letters("a", listed: true) == "l" && letters("Icon\r") == "c" && letters("Icon") == ""
        && letters("Icon\n") == "")
    #expect(
      letters("lost+found") == "" && letters("lost+found", root: true) == "u"
        && letters("a", root: true) == "")
    #expect(letters(".a", flag: true, listed: true, root: true) == "dfl" && letters("") == "")
  }

  @Test("The file .hidden has one name a line, byte by byte") func list() {
    let list = HiddenList(Array("a\nb c\n\n caf\u{E9}\r\nlast".utf8) + [0x0A, 0xFF])
    for (name, isListed) in [
      ("a", true), ("b c", true), ("b", false), ("", false), (" caf\u{E9}\r", true), ("cafe\u{301}", false),
      ("last", true),
    ] {
      #expect(list?.contains(Array(name.utf8)) == isListed, "\(name)")
    }
    #expect(list?.contains([0xFF]) == true)
    #expect(HiddenList([UInt8](repeating: 0x0A, count: 65_536))?.contains([]) == false)
    #expect(HiddenList([UInt8](repeating: 0x0A, count: 65_537)) == nil)
  }
}
