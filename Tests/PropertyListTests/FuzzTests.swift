// Any bytes give pairs or an error: ten million inputs, with `LONG=1` as many for each form.

import PropertyLists
import Randomness
import Testing

@Suite struct FuzzTests {
  private static let old = Array(
    "/* a */ \"Release \\U00e9\" = \"Notes\\n\\101\"; // b\nCFBundleName = x.y; {".utf8)
  private static let words: [[UInt8]] = [
    "\\U", "\\", "\"", "=", ";", "/*", "*/", "//", "<!--", "-->", "<![CDATA[", "]]>", "&#x", "&amp;",
    "<dict>", "</dict>",
    "<array>", "</array>", "<key>", "</key>", "<string>", "</string>", "<true/>", "<?", "?>", "<!DOCTYPE ",
    "{", "}",
    "\u{FEFF}", "\r\n", "bplist00",
  ].map { Array($0.utf8) }

  private static let binary = BinaryForm.list([
    [.ascii("CFBundleName"), .utf16("Notizen é😀")],
    [.ascii("k"), .array([.ascii("a"), .dictionary([[.ascii("x"), .bytes([9])]])])],
    [.utf16("я"), .ascii("some longer text")],
  ])

  private func run(
    _ name: String, _ good: [[UInt8]], _ words: [[UInt8]]
  ) async -> (accepted: Int, rounds: Int) {
    let (parts, rounds) = (4, many(2_500_000, 10_000_000))
    let accepted = await withTaskGroup(of: Int.self) { group in
      for part in 1...parts {
        group.addTask { run("\(name), part \(part)", rounds / parts, good, words) }
      }
      return await group.reduce(0, +)
    }
    return (accepted, rounds)
  }

  /// How many of these inputs are accepted.
  private func run(_ name: String, _ rounds: Int, _ good: [[UInt8]], _ words: [[UInt8]]) -> Int {
    var dice = Dice(for: "fuzz of \(name)")
    let edges: [UInt8] = [0, 1, 0x08, 0x51, 0x61, 0x7F, 0x80, 0xA1, 0xD1, 0xDF, 0xFE, 0xFF]
    var accepted = 0
    for _ in 0..<rounds {
      var bytes = dice.pick(good)
      switch dice.below(16) {
      case 0: bytes = (0..<dice.below(bytes.count + 40)).map { _ in UInt8(truncatingIfNeeded: dice.next()) }
      case 1: bytes.removeLast(dice.below(bytes.count + 1))
      default: break
      }
      for _ in 0..<dice.below(4) where !bytes.isEmpty {
        let offset = dice.below(bytes.count)
        if !words.isEmpty, dice.once(in: 2) {
          bytes.insert(contentsOf: dice.pick(words), at: offset)
        } else {
          bytes[offset] = dice.once(in: 2) ? dice.pick(edges) : UInt8(truncatingIfNeeded: dice.next())
        }
      }
      let limits: PropertyListLimits = dice.once(in: 4) ? .bundleInformation : .strings
      guard let table = try? PropertyList.strings(in: bytes, within: limits) else { continue }
      accepted += 1
      check(table, bytes)
    }
    return accepted
  }

  /// What was read is text, and not more than the file can hold.
  private func check(_ table: StringTable, _ bytes: [UInt8]) {
    guard table.count <= bytes.count else {
      Issue.record("\(bytes)")
      return
    }
    for index in 0..<table.count {
      for text in [table.key(at: index), table.value(at: index)]
      where String(validating: text, as: UTF8.self) == nil || text.count > 3 * bytes.count {
        Issue.record("\(bytes)")
      }
    }
  }

  @Test func oldStyle() async {
    let good = Array(FuzzTests.old.dropLast())
    let (accepted, rounds) = await run("strings", [good, [0xEF, 0xBB, 0xBF] + good], FuzzTests.words)
    #expect(accepted > rounds / 100)
  }

  @Test func wide() async {
    let text = "\"k\" = \"é😀\"; l = \"\\U00e9\";"
    let good = [true, false].flatMap { end in [true, false].map { utf16(text, bigEndian: end, mark: $0) } }
    let (accepted, rounds) = await run(
      "UTF-16", good, [[0xD8, 0x3D], [0xDE, 0x00], [0x3D, 0xD8], [0x00, 0xDE]])
    #expect(accepted > rounds / 100)
  }

  @Test func xml() async {
    let good = XMLTests.good.map { Array($0.0.utf8) }
    let (accepted, rounds) = await run("XML", good, FuzzTests.words)
    #expect(accepted > rounds / 100)
  }

  @Test func binary() async {
    let (accepted, rounds) = await run("binary lists", [FuzzTests.binary], [])
    #expect(accepted > rounds / 100)
  }
}
