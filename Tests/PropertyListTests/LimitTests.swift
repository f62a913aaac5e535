import PropertyLists
import Testing

@Suite("What is too much") struct LimitTests {
  @Test("64 KiB of strings, 256 KiB of Info.plist") func sizes() {
    for (limits, size) in [(PropertyListLimits.strings, 65_536), (.bundleInformation, 262_144)] {
      let pair = "CFBundleName = v;"
      let full = pair + String(repeating: " ", count: size - pair.utf8.count)
      #expect(read(full, limits) == .success(Found([["CFBundleName", "v"]])))
      #expect(read(full + " ", limits) == .failure(.tooLarge))
    }
  }

  @Test("1,024 pairs, in every form") func pairs() {
    for count in [1024, 1025] {
      let old = (0..<count).map { "k\($0)=v;" }.joined()
      let xml = (0..<count).map { "<key>\($0)</key><string>v</string>" }.joined()
      let binary = BinaryForm.list((0..<count).map { [.ascii("\($0)"), .ascii("v")] })
      for bytes in [Array(old.utf8), Array("<plist><dict>\(xml)</dict></plist>".utf8), binary] {
        #expect((try? read(bytes).get().pairs.count) == (count == 1024 ? 1024 : nil))
        if count > 1024 { #expect(read(bytes) == .failure(.tooManyPairs)) }
      }
    }
  }

  @Test("Pairs that are not kept do not count") func kept() {
    let others = (0..<3000).map { "<key>\($0)</key><string>v</string>" }.joined()
    let text =
      "<plist><dict>\(others)<key>CFBundleName</key><string>a</string><key>CFBundleName</key>"
      + "<string>b</string><key>CFBundleExecutable</key><string>c</string></dict></plist>"
    #expect(
      read(text, .bundleInformation)
        == .success(Found([["CFBundleName", "a"], ["CFBundleName", "b"], ["CFBundleExecutable", "c"]])))
    let old = "x = y; CFBundleDisplayName = d; CFBundleDevelopmentRegion = en; z = z;"
    #expect(
      read(old, .bundleInformation)
        == .success(Found([["CFBundleDisplayName", "d"], ["CFBundleDevelopmentRegion", "en"]])))
    let binary = BinaryForm.list([[.ascii("x"), .ascii("y")], [.utf16("CFBundleName"), .utf16("é")]])
    #expect(read(binary, .bundleInformation) == .success(Found([["CFBundleName", "é"]])))
  }

  @Test("Of equal keys the last counts") func last() throws {
    let table = try PropertyList.strings(in: Array("a = 1; b = 2; a = 3;".utf8))
    #expect(table.value(of: Array("a".utf8)).map(Array.init) == Array("3".utf8))
    #expect(table.value(of: Array("c".utf8)) == nil)
  }

  @Test("64 levels, in XML and binary") func depth() {
    for (levels, isRead) in [(64, true), (65, false), (20_000, false)] {
      let open = String(repeating: "<array>", count: levels - 1)
      let close = String(repeating: "</array>", count: levels - 1)
      let text = "<plist><dict><key>d</key>\(open)\(close)<key>k</key><string>v</string></dict></plist>"
      // The deepest is larger than a strings file may be.
      let limits: PropertyListLimits = levels > 100 ? .bundleInformation : .strings
      let found = read(text.replacing("<key>k<", with: "<key>CFBundleName<"), limits)
      #expect((try? found.get()) == (isRead ? Found([["CFBundleName", "v"]]) : nil))
      guard levels < 20_000 else { continue }
      var inner: BinaryForm = .array([])
      for _ in 0..<levels - 2 { inner = .array([inner]) }
      let binary = BinaryForm.list([[.ascii("d"), inner], [.ascii("k"), .ascii("v")]])
      #expect(read(binary) == (isRead ? .success(Found([["k", "v"]])) : .failure(.tooDeep)))
    }
  }

  @Test("The worst that is accepted takes less than 10 ms") func worst() {
    let size = 65_000
    let words = String(repeating: "\\U00e9", count: size / 6)
    let entities = String(repeating: "&#xe9;", count: size / 6)
    let comments = String(repeating: "<!---->", count: size / 7)
    let empty = String(repeating: "<array/>", count: size / 8)
    let sections = String(repeating: "<![CDATA[]]>", count: size / 12)
    let shared = BinaryForm.sharing(keys: 1000, of: size / 2)
    let unclosed = [String(repeating: "<!--", count: size / 4), String(repeating: "/*", count: size / 2)]
    let inputs =
      [
        "k = \"\(words)\";", "<plist><dict><key>k</key><string>\(entities)</string></dict></plist>",
        "<plist><dict>\(comments)</dict></plist>",
        "<plist><dict><key>k</key><array>\(empty)</array></dict></plist>",
        "<plist><dict><key>k</key><string>\(sections)</string></dict></plist>", "k = \"\(unclosed[1])\";",
        "<plist>\(unclosed[0])",
      ].map { Array($0.utf8) } + [shared]
    for bytes in inputs {
      var best = Duration.seconds(1)
      for _ in 0..<20 {
        best = min(best, ContinuousClock().measure { _ = try? PropertyList.strings(in: bytes) })
      }
      #expect(best < .milliseconds(10), "\(String(decoding: bytes.prefix(60), as: UTF8.self))")
    }
  }

  /// The best of some rounds.
  private func time(_ bytes: [UInt8], _ limits: PropertyListLimits) -> Duration {
    (0..<60).reduce(Duration.seconds(1)) { best, _ in
      min(best, ContinuousClock().measure { _ = try? PropertyList.strings(in: bytes, within: limits) })
    }
  }

  @Test("So does the worst Info.plist of 256 KiB") func worstInformation() {
    let size = 262_000
    let inputs =
      [
        "CFBundleName = \"" + String(repeating: "\\U00e9", count: size / 6) + "\";",
        "<plist><dict><key>k</key><string>" + String(repeating: "&#xe9;", count: size / 6)
          + "</string></dict></plist>",
        "<plist><dict>" + String(repeating: "<!---->", count: size / 7) + "</dict></plist>",
        "<plist><dict><key>k</key><array>" + String(repeating: "<array/>", count: size / 8)
          + "</array></dict></plist>",
        "<plist><dict><key>k</key><string>" + String(repeating: "<![CDATA[]]>", count: size / 12)
          + "</string></dict></plist>",
        "<plist><dict>" + String(repeating: "<key>k</key><string/>", count: size / 21) + "</dict></plist>",
        String(repeating: "k=v;", count: size / 4),
        "k = \"" + String(repeating: "/*", count: size / 2) + "\";",
        "<plist>" + String(repeating: "<!--", count: size / 4),
      ].map { Array($0.utf8) } + [BinaryForm.sharing(keys: 1000, of: size / 2)]
    for bytes in inputs {
      #expect(bytes.count <= 262_144)
      let best = time(bytes, .bundleInformation)
      print("\(bytes.count) bytes, \(String(decoding: bytes.prefix(40), as: UTF8.self)): \(best)")
      #expect(best < .milliseconds(10), "\(String(decoding: bytes.prefix(60), as: UTF8.self))")
    }
  }

  @Test("Lists as people write them are read at 50 MB a second at least") func speed() {
    let pairs = (0..<700).map { ("key number \($0)", "Ein Wert für die Nummer \($0), der etwas sagt") }
    let old = pairs.map { "/* Bemerkung */\n\"\($0.0)\" = \"\($0.1)\";\n" }.joined()
    let xml = pairs.prefix(600).map { "\t<key>\($0.0)</key>\n\t<string>\($0.1)</string>\n" }.joined()
    let binary = BinaryForm.list(pairs.prefix(520).map { [.ascii($0.0), .utf16($0.1)] })
    for bytes in [
      Array(old.utf8), Array("<?xml version=\"1.0\"?><plist><dict>\(xml)</dict></plist>".utf8), binary,
    ] {
      #expect((try? PropertyList.strings(in: bytes).count) ?? 0 >= 520)
      let seconds = Double(time(bytes, .strings).components.attoseconds) / 1e18
      print("\(bytes.count) bytes: \(Int(Double(bytes.count) / seconds / 1e6)) MB a second")
      #expect(Double(bytes.count) / seconds > 50e6, "\(String(decoding: bytes.prefix(20), as: UTF8.self))")
    }
  }
}
