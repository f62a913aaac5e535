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
