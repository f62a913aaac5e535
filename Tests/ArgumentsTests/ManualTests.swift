import Arguments
import Foundation
import Testing

/// The manual page and the tables name the same options, verb by verb.
@Suite("The manual page") struct ManualTests {
  static let page = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().appendingPathComponent("man/varve.1")

  /// The lines from one that begins with `start` to the next that begins with one of `ends`.
  private func part(from start: String, to ends: [String]) throws -> [String] {
    let lines = try String(contentsOf: ManualTests.page, encoding: .utf8).split(separator: "\n").map {
      String($0)
    }
    // Synopsis lines are alike; descriptions come later.
    let begin = try #require(lines.lastIndex { $0 == start || $0.hasPrefix(start + " ") }, "no \(start)")
    let rest = lines[(begin + 1)...]
    let end = rest.firstIndex { line in ends.contains { line.hasPrefix($0) } } ?? rest.endIndex
    return Array(rest[..<end])
  }

  /// The spellings in `.It Fl a , -all` and the like.
  private func spellings(in lines: [String]) -> [String] {
    lines.filter { $0.hasPrefix(".It Fl ") }.flatMap { line in
      line.dropFirst(7).split(separator: " ").prefix { $0 != "Ns" && $0 != "Ar" && $0 != "Cm" }
        .filter { $0 != "," }.map { "-\($0)" }
    }
  }

  private func spellings(of verbs: [Verb]) -> [String] {
    Set(verbs.flatMap { $0.options.flatMap(\.spellings) }).sorted()
  }

  private static let described =
    Verb.accessLists + Verb.keys + [
      .mount, .remount, .umount, .status, .find, .why, .access, .check, .protect,
    ]

  @Test(arguments: described.map(\.name))
  func hasTheOptionsOfTheTable(_ name: String) throws {
    let verb = try #require(Program.varve.verb(named: name))
    let ends = [".It Cm ", ".Ss ", ".Sh "]
    let found = spellings(in: try part(from: ".It Cm \(name)", to: ends))
    #expect(found.sorted() == spellings(of: [verb]))
  }

  @Test func hasTheOptionsOfTheFileVerbs() throws {
    let chmod =
      try spellings(in: part(from: ".Ss Modes and access lists", to: [".Ss "]))
      + spellings(in: part(from: ".Ss Options of chflags, chmod and chown", to: [".Ss "]))
    #expect(chmod.sorted() == spellings(of: [.chmod, .chflags, .chown]))
    #expect(
      try spellings(in: part(from: ".Ss Listing", to: [".Ss ", ".Sh "])).sorted() == spellings(of: [.ls]))
  }

  @Test(arguments: Program.varve.verbs.map(\.name)) func isInTheSynopsis(_ name: String) throws {
    let text = try String(contentsOf: ManualTests.page, encoding: .utf8)
    let synopsis = try #require(text.split(separator: ".Sh DESCRIPTION").first)
    let words = name.split(separator: " ")
    let lines = synopsis.split(separator: "\n").filter { $0.hasPrefix(".Cm \(words[0])") }
    #expect(lines.contains { line in words.allSatisfy { line.split(separator: " ").contains($0) } })
  }

  /// Examples come first: somebody who opens the page wants to see the command.
  @Test(arguments: Program.varve.verbs.map(\.name)) func beginsWithAnExample(_ name: String) throws {
    let sections = [
      "chflags": "File flags", "chmod": "Modes and access lists", "chown": "Owners", "ls": "Listing",
      "completion": "Completion",
    ]
    let lines = try part(
      from: sections[name].map { ".Ss \($0)" } ?? ".It Cm \(name)", to: [".It ", ".Ss ", ".Sh "])
    let example = try #require(lines.first)
    #expect(example.hasPrefix(".Dl ") && example.contains("varve \(name)"))
  }
}
