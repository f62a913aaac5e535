// What somebody would write who wants a reader to take long: one shape a row, at any size.

/// A way to make files of any size.
struct LongShape: Sendable, CustomStringConvertible {
  let description: String
  /// Whether it is a list, so that all of it is read.
  let isAccepted: Bool
  /// A file of about so many bytes.
  let make: @Sendable (Int) -> [UInt8]

  /// A text that has one part again and again.
  private init(
    _ part: String, _ isAccepted: Bool = true, from before: String = "", to after: String = ""
  ) {
    description = "\(before.suffix(24))\(part)…\(after.prefix(12))"
    self.isAccepted = isAccepted
    make = { size in
      let count = max(1, (size - before.utf8.count - after.utf8.count) / part.utf8.count)
      return Array((before + String(repeating: part, count: count) + after).utf8)
    }
  }

  private init(
    _ description: String, isAccepted: Bool = true, make: @escaping @Sendable (Int) -> [UInt8]
  ) {
    (self.description, self.isAccepted, self.make) = (description, isAccepted, make)
  }

  static let all = oldStyle + xml + binary + wide

  // MARK: Old style

  private static func quoted(_ part: String) -> LongShape {
    LongShape(part, from: "k = \"", to: "\";")
  }

  static let oldStyle = [
    // Many pairs, long keys and values.
    LongShape("k=v;"), LongShape("CFBundleName=v;"), LongShape("\"k\" = \"\";\n"), LongShape("{", false),
    LongShape("k=v;", from: "{", to: "}"),
    LongShape("x", from: "k = ", to: ";"), LongShape("x", to: " = v;"), quoted("x"), quoted("é"),
    LongShape("x", from: "\"", to: "\" = v;"),
    // Every escape, and what looks like other things inside of quotes.
    quoted("\\U00e9"), quoted("\\UD83D\\UDE00"), quoted("\\101"), quoted("\\0"), quoted("\\\\"),
    quoted("\\\""),
    quoted("\\\n"), quoted("/*"), quoted("//"), quoted("=;"),
    // Between strings.
    LongShape(" ", from: "k = v;"), LongShape("\n", from: "k", to: "= v;"), LongShape("\u{2028}", to: "k=v;"),
    LongShape("/**/"), LongShape("/ ", from: "/*", to: "*/"), LongShape("*", from: "/*", to: "*/"),
    LongShape("//\n"), LongShape("/", from: "//"), LongShape("/* */k=v;"),
    // Never ended.
    LongShape("/*", false), LongShape("x", false, from: "k = \""), LongShape("\\\"", false, from: "k = \""),
    LongShape("x", false), LongShape("k=v;", false, from: "{"), LongShape("\"k", false),
  ]

  // MARK: XML

  private static func inside(_ part: String, _ isAccepted: Bool = true) -> LongShape {
    LongShape(part, isAccepted, from: "<plist><dict>", to: "</dict></plist>")
  }

  private static func text(_ part: String, _ isAccepted: Bool = true) -> LongShape {
    LongShape(
      part, isAccepted, from: "<plist><dict><key>k</key><string>", to: "</string></dict></plist>")
  }

  private static func skipped(_ part: String, _ isAccepted: Bool = true) -> LongShape {
    LongShape(part, isAccepted, from: "<plist><dict><key>k</key><array>", to: "</array></dict></plist>")
  }

  private static let deep =
    String(repeating: "<array>", count: 62) + "x" + String(repeating: "</array>", count: 62)

  static let xml = [
    // Many elements, kept and passed over, wide and deep.
    inside("<key>k</key><string/>"), inside("<key>CFBundleName</key><string>v</string>"),
    inside("<key>k</key><string>v</string>"), inside("<key>k</key><true/>"),
    inside("<key>k</key><dict><key>x</key><string>y</string></dict>"), skipped("<array/>"),
    skipped("<dict/>"),
    skipped("<string>x</string>"), skipped("<data>AAAA</data>"), skipped(deep.replacing("x", with: "")),
    skipped("<array>", false), inside("<dict>", false),
    // Text.
    text("x"), text("é"), text("&amp;"), text("&#xe9;"), text("&#233;"), text("\r"), text("\r\n"), text("]"),
    text("]] "), text("<![CDATA[]]>"), text("<![CDATA[x]]>&lt;"), text("<!---->"), text("<?a?>"),
    LongShape("0", from: "<plist><dict><key>k</key><string>&#x", to: "e9;</string></dict></plist>"),
    LongShape("]", from: "<plist><dict><key>k</key><string><![CDATA[", to: "]]></string></dict></plist>"),
    LongShape("<![", from: "<plist><dict><key>k</key><string><![CDATA[", to: "]]></string></dict></plist>"),
    LongShape("x", from: "<plist><dict><key>", to: "</key><string>v</string></dict></plist>"),
    // Between and in tags.
    inside("<!---->"), inside("<?a ?>"), inside(" "),
    LongShape("- ", from: "<!--", to: "--><plist><dict/></plist>"),
    LongShape(" a=\"\"", from: "<plist", to: "><dict/></plist>"),
    LongShape("x", from: "<plist a=\"", to: "\"><dict/></plist>"),
    LongShape(" ", from: "<plist", to: "><dict/></plist>"),
    LongShape("x", from: "<?a ", to: "?><plist><dict/></plist>"),
    LongShape("x", from: "<!DOCTYPE plist SYSTEM \"", to: "\"><plist><dict/></plist>"),
    LongShape("<!---->", to: "<plist><dict/></plist>"), LongShape("<!---->", from: "<plist><dict/></plist>"),
    // Never ended, or nothing at all.
    LongShape("<!--", false, from: "<plist>"), LongShape("<?a ", false),
    LongShape("<![CDATA[", false, from: "<plist><dict><key>"),
    LongShape("a", false, from: "<"), LongShape("a", false, from: "<plist a=\""),
    LongShape("&", false, from: "<plist><dict><key>"),
    LongShape("<", false), LongShape("0", false, from: "<plist><dict><key>&#"), LongShape("<plist>", false),
  ]

  // MARK: Binary

  /// A dictionary with one pair, whose value is `top` of these objects.
  private static func value(_ objects: [[UInt8]], _ top: Int) -> [UInt8] {
    let pair = BinaryForm.number(objects.count) + BinaryForm.number(top)
    return BinaryForm.file(
      objects + [[0x51, 0x6B], BinaryForm.header(0xD, 1) + pair], top: objects.count + 1)
  }

  /// An array that refers again and again to these objects in turn.
  private static func array(of targets: [Int], _ count: Int) -> [UInt8] {
    BinaryForm.header(0xA, count) + (0..<count).flatMap { BinaryForm.number(targets[$0 % targets.count]) }
  }

  static let binary = [
    LongShape("binary: many pairs") { size in
      BinaryForm.list((0..<size / 18).map { _ in [.ascii("k"), .ascii("v")] })
    },
    LongShape("binary: many pairs that are kept") { size in
      BinaryForm.list((0..<size / 29).map { _ in [.ascii("CFBundleName"), .ascii("v")] })
    },
    LongShape("binary: a long value") {
      BinaryForm.list([[.ascii("k"), .ascii(String(repeating: "x", count: $0))]])
    },
    LongShape("binary: a long value in UTF-16") { size in
      BinaryForm.list([[.ascii("k"), .utf16(String(repeating: "😀", count: size / 4))]])
    },
    LongShape("binary: a long key") {
      BinaryForm.list([[.ascii(String(repeating: "x", count: $0)), .ascii("v")]])
    },
    LongShape("binary: many keys with one long value") { BinaryForm.sharing(keys: $0 / 27, of: $0 / 2) },
    LongShape("binary: one key that is kept with one long value, many times") { size in
      let key = BinaryForm.header(0x5, 12) + Array("CFBundleName".utf8)
      let long = BinaryForm.header(0x5, size / 4) + [UInt8](repeating: 0x61, count: size / 4)
      let references = [0, 1].flatMap { part in (0..<size / 8).flatMap { _ in BinaryForm.number(part) } }
      return BinaryForm.file([key, long, BinaryForm.header(0xD, size / 8) + references], top: 2)
    },
    LongShape("binary: many arrays with nothing inside") { size in
      BinaryForm.list([[.ascii("k"), .array((0..<size / 7).map { _ in .array([]) })]])
    },
    LongShape("binary: one array, many times in another") { size in
      value([[0xA0], array(of: [0], size / 2)], 1)
    },
    LongShape("binary: 60 arrays, each with the next one many times") { size in
      let count = size / 120
      return value([[0xA0]] + (0..<60).map { array(of: [$0], count) }, 60)
    },
    LongShape("binary: 60 levels of two arrays, each with both of the next level many times") { size in
      let count = size / 600
      let levels = (0..<60).flatMap { level in
        (0..<2).map { _ in array(of: level == 0 ? [0] : [2 * level - 1, 2 * level], count * 5 / 2) }
      }
      return value([[0xA0]] + levels, levels.count)
    },
    LongShape("binary: many chains of arrays") { size in
      let chains = size / 7 / 60
      var objects: [[UInt8]] = [[0xA0]]
      for _ in 0..<chains {
        for step in 0..<50 { objects.append(array(of: [step == 0 ? 0 : objects.count - 1], 1)) }
      }
      return value(objects + [array(of: (1...chains).map { $0 * 50 }, chains)], objects.count)
    },
    LongShape("binary: many objects that are one", isAccepted: false) { size in
      let long = BinaryForm.header(0x5, size / 2) + [UInt8](repeating: 0x61, count: size / 2)
      let bytes = Array("bplist00".utf8) + long
      let offsets = [[UInt8]](repeating: [0, 0, 0, 8], count: size / 8).flatMap(\.self)
      let trailer = BinaryForm.trailer(
        offset: 4, reference: 2, count: size / 8, top: 0, table: bytes.count)
      return bytes + offsets + trailer
    },
  ]

  // MARK: UTF-16

  static let wide = [
    LongShape("UTF-16: a long value") { text("k = \"", "x", $0 / 2, "\";") },
    LongShape("UTF-16: pairs of halves") { text("k = \"", "😀", $0 / 4, "\";") },
    LongShape("UTF-16: many pairs") { text("", "k=v;", $0 / 8, "") },
    LongShape("UTF-16: a half, behind a long text", isAccepted: false) {
      text("", "x", $0 / 2, "") + [0, 0xD8]
    },
  ]

  private static func text(_ before: String, _ part: String, _ count: Int, _ after: String) -> [UInt8] {
    utf16(before + String(repeating: part, count: count) + after, bigEndian: false, mark: true)
  }
}
