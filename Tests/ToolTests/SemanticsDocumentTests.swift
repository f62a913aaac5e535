import Foundation
import Testing

/// Holds `docs/SEMANTICS.md` to the tests it names.
@Suite("The document of behaviours") struct SemanticsDocumentTests {
  private static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent()

  /// Everything the tests say, with line breaks folded.
  private func sources() throws -> String {
    let tests = Self.root.appendingPathComponent("Tests")
    let files = FileManager.default.enumerator(at: tests, includingPropertiesForKeys: nil)
    var text = ""
    while let file = files?.nextObject() as? URL {
      if file.pathExtension == "swift" { text += try String(contentsOf: file, encoding: .utf8) }
    }
    return text
  }

  /// The titles in quotes behind each dash.
  private func titles() throws -> [String] {
    let document = try String(
      contentsOf: Self.root.appendingPathComponent("docs/SEMANTICS.md"), encoding: .utf8)
    // From the second part on: the introduction quotes nothing.
    return document.components(separatedBy: "— ").dropFirst().flatMap { part in
      let proof = part.components(separatedBy: "\n\n")[0].components(separatedBy: "\n")
        .prefix { !$0.isEmpty }.joined(separator: "\n")
      return proof.components(separatedBy: "\"").enumerated().filter { $0.offset % 2 == 1 }.map(\.element)
    }
  }

  @Test("Every behaviour names tests that exist") func names() throws {
    let sources = try sources()
    let titles = try titles()
    #expect(titles.count > 60)
    for title in titles where !sources.contains("\"\(title)\"") {
      Issue.record("no test is called \"\(title)\"")
    }
  }

  @Test("Every numbered behaviour has a proof, but for limits that bind us") func proofs() throws {
    let document = try String(
      contentsOf: Self.root.appendingPathComponent("docs/SEMANTICS.md"), encoding: .utf8)
    var behaviours: [String] = []
    for line in document.components(separatedBy: "\n") {
      if line.first?.isNumber == true {
        behaviours.append(line)
      } else if line.hasPrefix("   "), !behaviours.isEmpty {
        behaviours[behaviours.count - 1] += line
      }
    }
    let unproved = behaviours.filter { !$0.contains("— \"") }.map { String($0.prefix(60)) }
    #expect(behaviours.count > 40)
    // Handles that keep what they have, and what happens behind the mount.
    #expect(unproved.count == 2, "\(unproved)")
  }
}
