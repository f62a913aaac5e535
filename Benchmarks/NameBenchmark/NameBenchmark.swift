// What display names cost: single names, a large directory, the readers of property lists, and sorting.
//
// Digests are counted as nothing here: few names need one.

import DisplayNames
import Glibc
import ItemKinds
import PropertyLists
import UnicodeText

@main struct NameBenchmark {
  private static let tools = NameTools(
    normalise: { Normalisation.appendNFC(of: $0, to: &$1) }, digest: { _ in NameDigest(repeating: 0) })
  private static let rules = NameRules(
    languages: LanguageList("fr", separator: "+") ?? LanguageList(), tools: tools)

  static func main() {
    singleNames()
    directory()
    readers()
    sorting()
  }

  /// The time of the processor that the best of many runs took: other work on the machine only ever adds.
  private static func best(_ runs: Int, _ body: () -> Void) -> Double {
    var best = Double.infinity
    for _ in 0..<runs {
      let start = processorTime
      body()
      best = min(best, processorTime - start)
    }
    return best
  }

  /// Of this thread, in seconds.
  private static var processorTime: Double {
    var time = timespec()
    unsafe clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }

  private static func tenths(_ number: Double) -> String {
    let tenths = Int((number * 10).rounded())
    return "\(tenths / 10).\(tenths % 10)"
  }

  private static func singleNames() {
    let long = { (text: String) in String(String.UnicodeScalarView(text.unicodeScalars.prefix(80))) }
    let rows: [(String, String, FileKind)] = [
      ("ASCII, stays", "README", .regular), ("ASCII, stays, 23 bytes", "archive-2026-01-01.qqq", .regular),
      ("ASCII directory", "Sources", .directory), ("extension hidden", "IMG_0001.JPEG", .regular),
      ("package", "Notes.app", .directory), ("Latin", "über uns.html", .regular),
      ("Cyrillic", "вопросы и ответы.txt", .regular), ("Japanese", "ユーザガイド.pdf", .regular),
      ("decomposed", "cafe\u{301}.txt", .regular), ("Devanagari", "हिन्दी में नाम.txt", .regular),
      ("Thai", "ชื่อไฟล์ภาษาไทย.txt", .regular), ("Vietnamese", "Tài liệu tiếng Việt.pdf", .regular),
      ("emoji", "👩\u{200D}💻❤\u{FE0F}.md", .regular), ("escaped", "ann\u{202E}gpj.exe", .regular),
      ("255 bytes of ASCII", String(repeating: "a", count: 251) + ".txt", .regular),
      ("255 bytes of Chinese", String(repeating: "名", count: 83) + ".txt", .regular),
      ("240 bytes of Devanagari", long(String(repeating: "हिन्दी में ", count: 20)), .regular),
      ("255 bytes of dots", String(repeating: ".a", count: 125) + ".txt", .regular),
      ("240 bytes to escape", String(repeating: "\u{202E}", count: 80), .regular),
    ]
    var scratch = NameScratch()
    for (title, name, kind) in rows {
      let bytes = Array(name.utf8)
      let facts = ItemFacts(kind)
      let seconds = best(60) {
        for _ in 0..<1000 {
          scratch.clear()
          _ = rules.ownName(of: bytes.span, facts, &scratch)
        }
      }
      print("\(title): \(tenths(seconds * 1e6)) ns")
    }
  }

  private static func directory() {
    let names = (0..<100_000).map { number in
      [
        Array("IMG_\(number).jpeg".utf8), Array("notes \(number)".utf8),
        Array("Bericht über \(number).txt".utf8),
      ][number % 3]
    }
    let seconds = best(9) {
      var directory = DirectoryNames()
      directory.reserve(names.count)
      for name in names { _ = directory.add(name.span, ItemFacts(.regular), isShown: true, rules) }
      directory.settle(rules)
    }
    print("names of 100,000 items: \(tenths(seconds * 1e3)) ms")
  }

  private static func readers() {
    let pairs = (0..<900).map { ("key \($0)", "Une valeur traduite \($0) é") }
    let old = pairs.map { "/* c */ \"\($0)\" = \"\($1)\";\n" }.joined()
    let xml = pairs.map { "<key>\($0)</key>\n<string>\($1)</string>\n" }.joined()
    let escapes = "k = \"" + String(repeating: "\\U00e9", count: 10_000) + "\";"
    let entities =
      "<plist><dict><key>k</key><string>" + String(repeating: "&#xe9;", count: 10_000)
      + "</string></dict></plist>"
    let empty =
      "<plist><dict><key>k</key><array>" + String(repeating: "<array/>", count: 8000)
      + "</array></dict></plist>"
    let wide = Array(pairs.prefix(600).map { "\"\($0)\" = \"\($1)\";\n" }.joined().utf16).flatMap {
      [UInt8($0 >> 8), UInt8($0 & 0xFF)]
    }
    let rows: [(String, [UInt8])] = [
      ("strings", Array(old.utf8)), ("strings in UTF-16", [0xFE, 0xFF] + wide),
      ("strings of escapes", Array(escapes.utf8)),
      ("XML", Array("<plist version=\"1.0\"><dict>\(xml)</dict></plist>".utf8)),
      ("XML of references", Array(entities.utf8)),
      ("XML of empty elements", Array(empty.utf8)), ("binary", binary(Array(pairs.prefix(600)))),
      ("binary of small objects", binary((0..<1000).map { ("\($0)", "") })),
    ]
    for (title, bytes) in rows {
      var count = 0
      let seconds = best(60) {
        count = (try? PropertyList.strings(in: bytes))?.count ?? -1
      }
      print(
        "\(title): \(bytes.count) bytes, \(count) pairs, \(Int(Double(bytes.count) / seconds / 1e6)) MB/s")
    }
  }

  /// A binary property list of a dictionary.
  private static func binary(_ pairs: [(String, String)]) -> [UInt8] {
    func two(_ number: Int) -> [UInt8] { [UInt8(number >> 8), UInt8(number & 0xFF)] }
    func four(_ number: Int) -> [UInt8] { two(number >> 16) + two(number & 0xFFFF) }
    let texts = pairs.map(\.0) + pairs.map(\.1)
    var objects = [[0xDF, 0x11] + two(pairs.count) + (1...texts.count).flatMap(two)]
    for text in texts {
      let units = Array(text.utf16)
      let isWide = units.contains { $0 > 0x7F }
      objects.append(
        [isWide ? 0x6F : 0x5F, 0x11] + two(units.count)
          + units.flatMap { isWide ? two(Int($0)) : [UInt8($0)] })
    }
    var bytes = Array("bplist00".utf8)
    var offsets: [UInt8] = []
    for object in objects {
      offsets += four(bytes.count)
      bytes += object
    }
    let numbers = [objects.count, 0, bytes.count].flatMap { four(0) + four($0) }
    return bytes + offsets + [0, 0, 0, 0, 0, 0, 4, 2] + numbers
  }

  private static func sorting() {
    let names = (0..<100_000).map { Array("IMG_\(($0 * 7919) % 1_000_000) Ferien é.jpeg".utf8) }
    let seconds = best(9) {
      guard let collator = Collator(language: "fr") else { return }
      var sorted = SortedNames(collator)
      sorted.reserve(names.count)
      for name in names { sorted.add(name.span) }
      _ = sorted.sorted().positions
    }
    print("100,000 names sorted: \(tenths(seconds * 1e3)) ms")
  }
}
