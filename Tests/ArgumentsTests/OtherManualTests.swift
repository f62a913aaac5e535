import Arguments
import Foundation
import Testing

/// The page about rules names every word, and the others lead to it.
@Suite("The manual pages about rules and formats") struct OtherManualTests {
  private static let folder = ManualTests.folder

  private func words(of page: String) throws -> Set<String> {
    let text = try String(
      contentsOf: OtherManualTests.folder.appendingPathComponent(page), encoding: .utf8)
    // Only what is set as a word to be typed counts: a sentence may speak of reading, too.
    let lines = text.split(separator: "\n").filter { $0.contains("Cm ") }
    return Set(lines.flatMap { $0.split(separator: " ").map { String($0) } })
  }

  /// The words of rights as the help of chmod has them, which the engine's own tests hold.
  private static let rights = [
    "read", "write", "execute", "append", "delete", "readattr", "writeattr", "readextattr", "writeextattr",
    "readsecurity", "writesecurity", "chown", "list", "add_file", "search", "add_subdirectory",
    "delete_child",
    "file_inherit", "directory_inherit", "limit_inherit", "only_inherit", "full", "modify", "readonly",
  ]

  @Test func nameEveryRight() throws {
    let words = try words(of: "varve-acl.7")
    #expect(OtherManualTests.rights.filter { !words.contains($0) } == [])
    let help = Verb.chmod.discussion.joined()
    #expect(OtherManualTests.rights.dropLast(3).filter { !help.contains($0) } == [])
  }

  @Test func nameEveryFlag() throws {
    let words = try words(of: "varve-acl.7")
    #expect(Verb.flagWords.filter { !words.contains($0) } == [])
  }

  @Test(arguments: ["varve.1", "varve-acl.1", "varve.5"]) func leadToTheRules(_ page: String) throws {
    let text = try String(
      contentsOf: OtherManualTests.folder.appendingPathComponent(page), encoding: .utf8)
    let body = text.prefix(upTo: text.range(of: ".Sh SEE ALSO")?.lowerBound ?? text.endIndex)
    #expect(body.contains(".Xr varve-acl 7"))
  }

  /// There is a page for every program and subject, each with the sections people look for.
  @Test(arguments: ManualTests.pages + ["varve-acl.7", "varve.5", "mount.varve.8", "varved.8"])
  func hasItsSections(_ page: String) throws {
    let text = try String(
      contentsOf: OtherManualTests.folder.appendingPathComponent(page), encoding: .utf8)
    let sections = text.split(separator: "\n").filter { $0.hasPrefix(".Sh ") }.map { String($0.dropFirst(4)) }
    var needed = ["NAME", "DESCRIPTION", "SEE ALSO"]
    if page.hasSuffix(".1") || page.hasSuffix(".8") {
      needed += ["SYNOPSIS", "EXIT STATUS", "EXAMPLES", "FILES", "ENVIRONMENT", "DIAGNOSTICS", "BUGS"]
    }
    #expect(needed.filter { !sections.contains($0) } == [])
  }
}
