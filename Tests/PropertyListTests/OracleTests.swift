// Valid lists, made and read by others: Foundation, Python's plistlib, and plistutil of libplist.

import Foundation
import MountSupport
import PropertyLists
import Randomness
import Testing

@Suite("Beside other readers of property lists") struct OracleTests {
  private func value(_ depth: Int, _ dice: inout Dice) -> Any {
    switch dice.below(depth > 0 ? 8 : 6) {
    case 0: dice.below(1 << 40) - 1000
    case 1: dice.once(in: 2)
    case 2: Double(dice.below(1000)) / 8
    case 3: Data((0..<dice.below(30)).map { _ in UInt8(truncatingIfNeeded: dice.next()) })
    case 4, 5: dice.text()
    case 6: (0..<dice.below(20)).map { _ in value(depth - 1, &dice) }
    default: dictionary(depth - 1, &dice)
    }
  }

  private func dictionary(_ depth: Int, _ dice: inout Dice) -> [String: Any] {
    var result: [String: Any] = [:]
    for _ in 0..<dice.below(20) { result[dice.text()] = value(depth, &dice) }
    return result
  }

  /// What should be found, in any order: keys may be equal in Unicode and differ in bytes.
  private func strings(_ list: [String: Any]) -> Found {
    Found(list.compactMap { key, value in (value as? String).map { [key, $0] } }).sorted
  }

  @Test("Foundation writes XML and binary") func foundation() throws {
    var dice = Dice(for: "lists by Foundation")
    for _ in 0..<many(1500, 20_000) {
      let list = dictionary(3, &dice)
      for format in [PropertyListSerialization.PropertyListFormat.xml, .binary] {
        let data = try PropertyListSerialization.data(fromPropertyList: list, format: format, options: 0)
        let found = read(Array(data))
        if (try? found.get().sorted) != strings(list) { Issue.record("\(list) as \(format): \(found)") }
      }
    }
  }

  @Test("Foundation reads the old style as we do") func oldStyle() throws {
    var dice = Dice(for: "strings read by Foundation")
    let blanks = ["", " ", "\n", "/* x\" */", "// y;\n", "\t"]
    for _ in 0..<many(3000, 50_000) {
      var expected: [String: String] = [:]
      var text = ""
      for index in 0..<dice.below(8) {
        // Of equal keys Foundation takes the first.
        let (key, value) = ("\(index)" + dice.text(), dice.text())
        expected[key] = value
        let tokens = [quoted(key, &dice), "=", quoted(value, &dice), ";"]
        text += tokens.map { dice.pick(blanks) + $0 }.joined() + dice.pick(blanks)
      }
      if !text.isEmpty, dice.once(in: 3) { text = "{\(text)}" }
      let found = read(text)
      var last: [String: String] = [:]
      for pair in (try? found.get().pairs) ?? [["", "none"]] { last[pair[0]] = pair[1] }
      #expect(last == expected, "\(text): \(found)")
      guard !expected.isEmpty else { continue }
      let theirs = try PropertyListSerialization.propertyList(from: Data(text.utf8), options: [], format: nil)
      #expect(theirs as? [String: String] == expected, "\(text)")
    }
  }

  private func quoted(_ text: String, _ dice: inout Dice) -> String {
    var result = "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"", "\\": result += "\\" + String(scalar)
      case "\n": result += dice.pick(["\n", "\\n", "\\012"])
      case "\t": result += dice.pick(["\t", "\\t"])
      case _ where dice.once(in: 3):
        for unit in String(scalar).utf16 { result += "\\U" + hexadecimal(unit) }
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result + "\""
  }

  private func hexadecimal(_ unit: UInt16) -> String {
    let digits = String(unit, radix: 16)
    return String(repeating: "0", count: 4 - digits.count) + digits
  }

  /// Makes lists with plistlib, and prints each with the strings it should give.
  private static let script = """
    import base64, datetime, json, plistlib, random, sys
    random.seed(int(sys.argv[1]))
    pieces = ["a", "B", " ", "é", "<", "&", "]]>", "名", "😀", "e\\u0301", "\\n", "\\t", "\\u200d", "long " * 9]
    def text(): return "".join(random.choice(pieces) for _ in range(random.randrange(9)))
    def value(depth):
        kind = random.randrange(9 if depth else 7)
        if kind == 0: return random.choice([1, -1, 255, 65536, 2**33, 2**63])
        if kind == 1: return random.random() < 0.5
        if kind == 2: return random.random()
        if kind == 3: return bytes(random.randrange(256) for _ in range(random.randrange(40)))
        if kind == 4: return datetime.datetime(2001, 1, 1)
        if kind <= 6: return text()
        if kind == 7: return [value(depth - 1) for _ in range(random.randrange(20))]
        return mapping(depth - 1)
    def mapping(depth): return {text(): value(depth) for _ in range(random.randrange(20))}
    for _ in range(int(sys.argv[2])):
        made = mapping(3)
        for form in (plistlib.FMT_XML, plistlib.FMT_BINARY):
            data = plistlib.dumps(made, fmt=form, sort_keys=False)
            assert plistlib.loads(data) == made
            strings = [[k, v] for k, v in made.items() if isinstance(v, str)]
            print(json.dumps([base64.b64encode(data).decode(), strings]))
    """

  @Test("plistlib writes XML and binary", .enabled(if: Programs.has("python3"), "needs python3"))
  func python() throws {
    let count = many(500, 5000)
    let python = try #require(Programs.path(of: "python3"))
    let run = try Program.run(
      python, ["-c", OracleTests.script, String(Dice.seed % 1_000_000), String(count)])
    try #require(run.exit == 0, "\(run.output.suffix(2000))")
    let lines = run.output.split(separator: "\n")
    #expect(lines.count == 2 * count)
    for line in lines {
      let parts = try #require(JSONSerialization.jsonObject(with: Data(line.utf8)) as? [Any])
      let data = try #require((parts[0] as? String).flatMap { Data(base64Encoded: $0) })
      let expected = Found(try #require(parts[1] as? [[String]]))
      let found = read(Array(data))
      if found != .success(expected) { Issue.record("\(line): \(found)") }
    }
  }

  /// Writes strings files in every encoding, and prints each with what a reader of a few lines finds in it: its pairs, or
  /// nothing where Python cannot decode it.
  private static let encodings = #"""
    import base64, json, plistlib, random, re, sys
    from xml.sax.saxutils import escape
    random.seed(int(sys.argv[1]))
    pieces = ["a", "B", " ", "é", "名", "😀", "e\u0301", "\u200d", "\n", "\t", "=", ";", "/*", "//", '"', "\\", "\u0a0d", "\u3b00",
              "x\ufeff", "long " * 9]
    forms = [("utf-8", b""), ("utf-8", b"\xef\xbb\xbf"), ("utf-16-le", b"\xff\xfe"), ("utf-16-be", b"\xfe\xff"),
             ("utf-16-le", b""), ("utf-16-be", b"")]
    def text(): return "".join(random.choice(pieces) for _ in range(random.randrange(9)))
    def quoted(value):
        written = ""
        for letter in value:
            if letter in '"\\': written += "\\" + letter
            elif random.randrange(4) == 0:
                units = letter.encode("utf-16-be")
                written += "".join("\\U%02x%02x" % (units[i], units[i + 1]) for i in range(0, len(units), 2))
            else: written += letter
        return '"' + written + '"'
    def blank(): return random.choice(["", " ", "\n", "\t", "/* x; 名 */", "// y =\n"])
    def decoded(data):
        for mark, name in ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be")):
            if data.startswith(mark): return data[len(mark):].decode(name)
        if data[1:2] == b"\0": return data.decode("utf-16-le")
        return data.decode("utf-16-be" if data[:1] == b"\0" else "utf-8")
    word = r'"((?:[^"\\]|\\.)*)"'
    space = r'(?:[ \t\n]|/\*.*?\*/|//[^\n]*\n)*'
    pair = re.compile(space + word + space + "=" + space + word + space + ";", re.S)
    end = re.compile(space, re.S)
    def plain(value):
        units = re.sub(r'\\(?:U([0-9a-f]{4})|(.))', lambda m: chr(int(m[1], 16)) if m[1] else m[2], value, flags=re.S)
        return units.encode("utf-16-le", "surrogatepass").decode("utf-16-le")
    def pairs(source):
        found, place = [], 0
        while (match := pair.match(source, place)):
            found.append([plain(match[1]), plain(match[2])])
            place = match.end()
        return found if end.fullmatch(source, place) else None
    for _ in range(int(sys.argv[2])):
        made = [[str(i) + text(), text()] for i in range(random.randrange(1, 8))]
        source = " " + "".join(
            blank() + quoted(k) + blank() + "=" + blank() + quoted(v) + blank() + ";" + blank() for k, v in made)
        encoding, mark = random.choice(forms)
        data = mark + source.encode(encoding)
        assert pairs(decoded(data)) == made, (source, pairs(decoded(data)), made)
        if encoding != "utf-8" and random.randrange(5) == 0:
            at = 2 * random.randrange(1, len(data) // 2)
            order = "little" if encoding.endswith("le") else "big"
            data = data[:at] + random.choice([0xD800, 0xDBFF, 0xDC00, 0xDFFF]).to_bytes(2, order) + data[at:]
        try: found = pairs(decoded(data))
        except UnicodeDecodeError: found = None
        print(json.dumps([base64.b64encode(data).decode(), found]))
        listed = "".join("<key>%s</key><string>%s</string>" % (escape(k), escape(v)) for k, v in made)
        xml = '<?xml version="1.0" encoding="%s"?><plist version="1.0"><dict>%s</dict></plist>' % (encoding[:6], listed)
        data = mark + xml.replace("utf-16-", "utf-16").encode(encoding)
        if mark or encoding == "utf-8": assert plistlib.loads(data) == dict(made), xml
        print(json.dumps([base64.b64encode(data).decode(), made]))
    """#

  @Test(
    "Python decodes every encoding as we do, with and without a mark, and takes no lone surrogate",
    .enabled(if: Programs.has("python3"), "needs python3"))
  func encodings() throws {
    let count = many(2000, 20_000)
    let python = try #require(Programs.path(of: "python3"))
    let run = try Program.run(
      python, ["-c", OracleTests.encodings, String(Dice.seed % 1_000_000), String(count)])
    try #require(run.exit == 0, "\(run.output.suffix(2000))")
    let lines = run.output.split(separator: "\n")
    #expect(lines.count == 2 * count)
    var refused = 0
    for line in lines {
      let parts = try #require(JSONSerialization.jsonObject(with: Data(line.utf8)) as? [Any])
      let data = try #require((parts[0] as? String).flatMap { Data(base64Encoded: $0) })
      let found = read(Array(data))
      if let pairs = parts[1] as? [[String]] {
        if found != .success(Found(pairs)) { Issue.record("\(line): \(found)") }
      } else {
        refused += 1
        if case .success = found { Issue.record("\(line): \(found)") }
      }
    }
    #expect(refused > count / 20)
  }

  @Test(
    "plistutil turns each form into the other",
    .enabled(if: Programs.has("plistutil"), "needs libplist-utils"))
  func libplist() throws {
    var dice = Dice(for: "lists by plistutil")
    let tool = try #require(Programs.path(of: "plistutil"))
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("varve-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    for _ in 0..<25 {
      let list = dictionary(2, &dice)
      for (format, letter) in [(PropertyListSerialization.PropertyListFormat.xml, "bin"), (.binary, "xml")] {
        let (from, to) = (folder.appendingPathComponent("from"), folder.appendingPathComponent("to"))
        try PropertyListSerialization.data(fromPropertyList: list, format: format, options: 0).write(to: from)
        let run = try Program.run(tool, ["-f", letter, "-i", from.path, "-o", to.path])
        try #require(run.exit == 0, "\(run.output)")
        let found = read(Array(try Data(contentsOf: to)))
        #expect((try? found.get().sorted) == strings(list), "\(list)")
      }
    }
  }
}
