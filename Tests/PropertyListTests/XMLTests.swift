import PropertyLists
import Testing

@Suite("Property lists in XML") struct XMLTests {
  static func list(_ content: String) -> String { "<plist version=\"1.0\">\(content)</plist>" }
  static func pair(_ text: String) -> String { list("<dict><key>k</key><string>\(text)</string></dict>") }

  static let good: [(String, [[String]])] = [
    (pair("v"), [["k", "v"]]), (list("<dict/>"), []), (list("<dict></dict>"), []),
    (list(" <dict >\n</dict\t> "), []),
    ("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n" + pair("é"), [["k", "é"]]),
    ("<?xml version='1.0' encoding='utf-8' standalone='yes' ?>" + pair("v"), [["k", "v"]]),
    ("<?xml version=\"1.0\"?>" + pair("v"), [["k", "v"]]),
    ("\u{FEFF}<?xml version=\"1.0\"?>" + pair("v"), [["k", "v"]]),
    (
      "<!DOCTYPE plist PUBLIC \"-//Apple//DTD PLIST 1.0//EN\" \"http://www.apple.com/DTDs/PropertyList-1.0.dtd\">"
        + pair("v"), [["k", "v"]]
    ),
    ("<!DOCTYPE plist SYSTEM 'x'>" + pair("v"), [["k", "v"]]),
    ("<!DOCTYPE plist>" + pair("v"), [["k", "v"]]),
    ("<!-- a --><?b c?>" + pair("v") + "<!-- > -->\n", [["k", "v"]]),
    (pair("&lt;&gt;&amp;&quot;&apos;&#65;&#x1F600;&#xe9;"), [["k", "<>&\"'A😀é"]]),
    (pair("a<![CDATA[<&]]]>b<!-- c -->d<?e f?>"), [["k", "a<&]bd"]]),
    (pair(" a\r\nb\rc\n"), [["k", " a\nb\nc\n"]]), (pair(""), [["k", ""]]),
    (list("<dict><key/><string/></dict>"), [["", ""]]),
    (
      list(
        "<dict><key>a</key><integer>1</integer><key>b</key><true/><key>c</key><false></false><key>d</key>"
          + "<dict><key>k</key><string>no</string></dict><key>e</key><array><string>x</string><array/></array>"
          + "<key>f</key><date>2001-01-01T00:00:00Z</date><key>g</key><data>AAAA</data><key>h</key><real>1</real>"
          + "<key>k</key><string>v</string></dict>"), [["k", "v"]]
    ),
    (
      list("<dict><key>k</key><string>1</string><key>k</key><string>2</string></dict>"),
      [["k", "1"], ["k", "2"]]
    ),
  ]

  @Test func accepts() {
    for (text, pairs) in XMLTests.good {
      #expect((try? read(text).get().pairs) == pairs, "\(text)")
      let wide = text.replacing("encoding=\"UTF-8\"", with: "encoding=\"UTF-16\"")
        .replacing("encoding='utf-8'", with: "encoding='utf-16'").replacing("\u{FEFF}", with: "")
      for bigEndian in [true, false] {
        for mark in [true, false] {
          #expect((try? read(utf16(wide, bigEndian: bigEndian, mark: mark)).get().pairs) == pairs, "\(wide)")
        }
      }
    }
  }

  static let bad = [
    pair("&nbsp;"), pair("&#0;"), pair("&#xD800;"), pair("&#x110000;"), pair("&#99999999999999999999;"),
    pair("&#x;"),
    pair("&#;"), pair("&#xFFFE;"), pair("&#65"), pair("&"), pair("]]>"), pair("\u{1}"), pair("\u{FFFF}"),
    pair("<b/>"), pair("<!-- -- -->"), pair("<![CDATA["), pair("v</string></dict></plist><plist>"),
    "<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?>" + pair("v"),
    "<?xml version=\"1.0\" encoding=\"UTF-16\"?>" + pair("v"), "<?xml version=\"2.0\"?>" + pair("v"),
    " <?xml version=\"1.0\"?>" + pair("v"), "<?xml encoding=\"UTF-8\"?>" + pair("v"),
    "<!DOCTYPE plist [<!ENTITY x \"y\">]>" + pair("v"),
    "<!DOCTYPE plist SYSTEM \"x\" [<!ENTITY x SYSTEM \"file:///etc/passwd\">]>" + pair("&x;"),
    "<!DOCTYPE plist [<!ENTITY a \"b\"><!ENTITY c \"&a;&a;\">]>" + pair("&c;"),
    "<!DOCTYPE plist PUBLIC \"x\">" + pair("v"), "<!DOCTYPE plist PUBLIC \"<\" \"x\">" + pair("v"),
    "<plist é=\"1\"><dict/></plist>",
    "<dict/>", list(""), list("<string>v</string>"), list("<array/>"), list("<dict/><dict/>"), "<plist/>",
    "<", "<plist",
    list("<dict><string>v</string></dict>"), list("<dict><key>k</key></dict>"),
    list("<dict><key>k</key><key>l</key></dict>"), list("<dict><key>k</key><string>v</string>"),
    list("<dict><key>k</key><string>v</dict></string>"), list("<dict>x</dict>"), list("<Dict></Dict>"),
    list("<dict><key>k</key><array></dict></array></dict>"),
    list("<dict><key>k</key><array><key/></array></dict>"),
    list("<dict><key>k</key><true>x</true></dict>"), list("<dict><key>k</key><plist/></dict>"),
    pair("v") + "x",
    pair("v") + pair("v"), list("<dict><key>k</key><integer><string>1</string></integer></dict>"),
    "<plist a><dict/></plist>", "<plist a=b><dict/></plist>", "<plist a=\"<\"><dict/></plist>",
  ]

  @Test func refuses() {
    for text in XMLTests.bad { #expect((try? read(text).get()) == nil, "\(text)") }
  }

  @Test("A list that is cut short says nothing") func truncated() {
    let text = Array(("<?xml version=\"1.0\"?><!DOCTYPE plist>" + XMLTests.pair("&lt;<![CDATA[x]]>")).utf8)
    for length in 1..<text.count { #expect((try? read(Array(text.prefix(length))).get()) == nil) }
  }
}
