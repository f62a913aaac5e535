import Arguments
import Foundation
import Testing

/// The manual pages of commands and the table name the same verbs, options and exit statuses.
@Suite("The manual pages of the verbs") struct ManualTests {
  static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().appendingPathComponent("man")
  /// Every page for commands: a new one is tested as well.
  static let pages = ((try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? [])
    .filter { $0.hasSuffix(".1") }.sorted()
  static let verbs = Program.varve.verbs.map(\.name)

  /// What explains `--undo` and the like once, for all verbs that change something.
  private static let sharedPage = "varve.1"
  private static let sharedSection = "Change options"
  /// The verbs that are commands of macOS have a part of the page instead of an item in a list.
  private static let sections = [
    "chflags": "File flags", "chmod": "Modes and access lists", "chown": "Owners", "ls": "Listing",
    "completion": "Completion",
  ]

  private func lines(of page: String) throws -> [String] {
    try String(contentsOf: ManualTests.folder.appendingPathComponent(page), encoding: .utf8)
      .split(separator: "\n").map { String($0) }
  }

  /// The lines of a part, with the lists in it: to the next part, or to the next item of the same list.
  private func part(from start: String, in lines: [String]) -> [String]? {
    guard let begin = lines.firstIndex(where: { $0 == start || $0.hasPrefix(start + " ") }) else {
      return nil
    }
    let isItem = start.hasPrefix(".It ")
    var depth = 0
    var found: [String] = []
    for line in lines[(begin + 1)...] {
      if line.hasPrefix(".Sh ") || line.hasPrefix(".Ss ") { break }
      if isItem, depth == 0, line == ".El" || line.hasPrefix(".It ") { break }
      if line.hasPrefix(".Bl ") { depth += 1 }
      if line == ".El" { depth -= 1 }
      found.append(line)
    }
    return found
  }

  private func part(about verb: String) throws -> (page: String, lines: [String]) {
    let start = ManualTests.sections[verb].map { ".Ss \($0)" } ?? ".It Cm \(verb)"
    let found = try ManualTests.pages.compactMap { page in
      try part(from: start, in: lines(of: page)).map { (page: page, lines: $0) }
    }
    #expect(found.count == 1, "\(verb) is explained in \(found.map(\.page))")
    return try #require(found.first)
  }

  /// The spellings in `.It Fl a , -all` and the like.
  private func explained(in lines: [String]) -> [String] {
    lines.filter { $0.hasPrefix(".It Fl ") }.flatMap { line in
      line.dropFirst(7).split(separator: " ").prefix { $0 != "Ns" && $0 != "Ar" && $0 != "Cm" }
        .filter { $0 != "," }.map { "-\($0)" }
    }
  }

  /// The spellings in `Op Fl Ra0`, `Fl H | L | P` and `Op Fl -json`, one for each option.
  private func spellings(inSynopsis line: String) -> [String] {
    var found: [String] = []
    var isFlags = false
    for word in line.dropFirst().split(separator: " ") {
      switch word {
      case "Fl": isFlags = true
      case "|": continue
      case _ where ["Op", "Ns", "Ar", "Cm", "Oo", "Oc"].contains(word): isFlags = false
      case _ where !isFlags: continue
      case _ where word.hasPrefix("-"): found.append("-\(word)")
      default: found += word.map { "-\($0)" }
      }
    }
    return found
  }

  /// The options that the synopsis of a page names for a verb; nothing if the verb is not in it.
  private func synopsis(of verb: String, in page: String) throws -> [String]? {
    let all = try lines(of: page)
    guard let start = all.firstIndex(of: ".Sh SYNOPSIS"), let end = all.firstIndex(of: ".Sh DESCRIPTION")
    else {
      return nil
    }
    let forms = all[start..<end].split { $0 == ".Nm" || $0.hasPrefix(".Nm ") }.filter {
      $0.first == ".Cm \(verb)"
    }
    guard !forms.isEmpty else { return nil }
    var found = forms.joined().flatMap { spellings(inSynopsis: $0) }
    if forms.joined().contains(".Op Ar change options") {
      found += ["--dry-run", "--quiet", "--null", "--undo", "--resume", "--json"]
    }
    return found
  }

  private func shared() throws -> [String] {
    let section = try #require(
      part(from: ".Ss \(ManualTests.sharedSection)", in: lines(of: ManualTests.sharedPage)))
    return explained(in: section)
  }

  @Test(arguments: verbs) func haveTheOptionsInTheSynopsis(_ name: String) throws {
    let verb = try #require(Program.varve.verb(named: name))
    let found = try ManualTests.pages.compactMap { try synopsis(of: name, in: $0) }
    #expect(found.count == 1)
    let spelled = Set(found.joined())
    #expect(verb.options.filter { spelled.isDisjoint(with: $0.spellings) }.map(\.spelling) == [])
    let known = Set(verb.options.flatMap(\.spellings))
    #expect(spelled.subtracting(known) == [])
  }

  /// An option is explained at its verb, or once for all verbs that change something.
  @Test(arguments: verbs) func explainEveryOptionAndNoOther(_ name: String) throws {
    let verb = try #require(Program.varve.verb(named: name))
    let (page, lines) = try part(about: name)
    let own = explained(in: lines)
    #expect(Set(own).count == own.count)
    let known = Set(verb.options.flatMap(\.spellings))
    #expect(Set(own).subtracting(known) == [])
    let missing = known.subtracting(own)
    #expect(try missing.subtracting(shared()) == [])
    if !missing.isEmpty, page != ManualTests.sharedPage {
      let text = try self.lines(of: page).joined(separator: " ")
      #expect(text.contains(".Dq \(ManualTests.sharedSection) in .Xr varve 1"))
    }
  }

  @Test func explainNoSharedOptionThatNoVerbHas() throws {
    let known = Set(Program.varve.verbs.flatMap { $0.options.flatMap(\.spellings) })
    #expect(try Set(shared()).subtracting(known) == [])
  }

  /// Examples come first: who opens the page wants to see the command.
  @Test(arguments: verbs) func beginWithAnExample(_ name: String) throws {
    let example = try #require(try part(about: name).lines.first)
    #expect(example.hasPrefix(".Dl ") && example.contains("varve \(name)"))
  }

  /// A page without a verb of the table would be forgotten by the tests above.
  @Test(arguments: pages) func areEachAboutAVerb(_ page: String) throws {
    #expect(try ManualTests.verbs.contains { try synopsis(of: $0, in: page) != nil })
  }

  /// The statuses that a page explains are all that a verb on it can end with.
  @Test(arguments: verbs) func explainTheStatusesThatTheHelpNames(_ name: String) throws {
    let verb = try #require(Program.varve.verb(named: name))
    let exits = try #require(part(from: ".Sh EXIT STATUS", in: lines(of: part(about: name).page)))
    let words = Set(exits.flatMap { $0.split { " .,:".contains($0) }.map { String($0) } })
    let sentences = verb.discussion.joined(separator: " ").split(separator: ". ")
      .filter { $0.contains("tatus") }
    let named = sentences.flatMap { $0.split { !$0.isNumber }.map { String($0) } }
    for status in named + ["0", "1", "2", "3"] {
      #expect(words.contains(status), "\(name) ends with \(status)")
    }
  }
}
