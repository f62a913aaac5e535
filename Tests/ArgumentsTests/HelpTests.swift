import Arguments
import Foundation
import Testing

/// What help says is compared with files; VARVE_WRITE_SNAPSHOTS=1 writes them anew, for review.
@Suite("Help") struct HelpTests {
  static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent().appendingPathComponent("Fixtures/Help")

  private func check(_ help: String, _ name: String) throws {
    let file = HelpTests.folder.appendingPathComponent("\(name.replacing(" ", with: "-")).txt")
    if ProcessInfo.processInfo.environment["VARVE_WRITE_SNAPSHOTS"] != nil {
      try help.write(to: file, atomically: true, encoding: .utf8)
    }
    let expected = try String(contentsOf: file, encoding: .utf8)
    #expect(help == expected, "help of \(name) differs from \(file.path)")
  }

  @Test func ofTheProgramIsAsReviewed() throws {
    try check(Program.varve.help(), "varve")
  }

  @Test(arguments: Program.varve.groups.map(\.name)) func ofAGroupIsAsReviewed(_ name: String) throws {
    try check(Program.varve.help(about: name), name)
  }

  @Test(arguments: Program.varve.verbs.map(\.name)) func ofAVerbIsAsReviewed(_ name: String) throws {
    let verb = try #require(Program.varve.verb(named: name))
    try check(Program.varve.help(verb), name)
  }

  @Test(arguments: Program.varve.verbs.map(\.name)) func fitsTheTerminal(_ name: String) throws {
    let verb = try #require(Program.varve.verb(named: name))
    let lines = Program.varve.help(verb).split(separator: "\n")
    // Examples are for copying: they are not broken.
    let long = lines.filter { $0.count > 80 && !$0.hasPrefix("  varve ") }
    #expect(long.isEmpty)
  }

  @Test(arguments: Program.varve.verbs.map(\.name)) func theTableIsSound(_ name: String) throws {
    let verb = try #require(Program.varve.verb(named: name))
    #expect(!verb.summary.hasSuffix(".") && !verb.summary.isEmpty)
    let letters = verb.options.compactMap(\.letter)
    #expect(Set(letters).count == letters.count, "a letter stands for two options")
    let words = verb.options.compactMap(\.word)
    #expect(Set(words).count == words.count, "a word stands for two options")
    #expect(verb.options.allSatisfy { $0.letter != nil || $0.word != nil })
    #expect(verb.options.allSatisfy { !$0.summary.isEmpty && !$0.summary.hasSuffix(".") })
    #expect(!verb.examples.isEmpty || name == "help")
    // What the synopsis shows in the forms is in the table, letter by letter.
    for form in verb.forms {
      for cluster in form.split(separator: "[") where cluster.hasPrefix("-") {
        let shown = cluster.dropFirst().prefix { $0.isLetter }
        #expect(shown.unicodeScalars.allSatisfy { letters.contains($0) })
      }
    }
  }

  @Test func examplesAreUnderstood() throws {
    let examples =
      Program.varve.examples + Program.varve.groups.flatMap(\.examples)
      + Program.varve.verbs.flatMap(\.examples)
    for example in examples {
      let words = split(example.command)
      #expect(words.first == "varve")
      let request = try Program.varve.parse(words.dropFirst().map { Word($0.utf8) })
      guard case .run = request else {
        Issue.record("\(example.command) does nothing")
        continue
      }
    }
  }

  /// At blanks outside quotes, as a shell does.
  private func split(_ command: String) -> [String] {
    var words = [""]
    var isQuoted = false
    for character in command {
      switch character {
      case "\"": isQuoted.toggle()
      case " " where !isQuoted: words.append("")
      default: words[words.count - 1].append(character)
      }
    }
    return words
  }
}
