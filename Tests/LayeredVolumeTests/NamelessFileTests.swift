import LinuxFiles
import RecordFormat
import Testing

@testable import LayeredVolume

@Suite("What is kept of a file that lost its last name", .enabled(if: Tree.isRoot, "needs root"))
struct NamelessFileTests {
  private static let name = "security.varve-test"

  /// On another client somebody can give it a name between our last look and its removal here.
  @Test("It does not answer for a file that has a name after all") func named() throws {
    let tree = try Tree({ $0.disabledFeatures = ["unlinked"] }) {
      file("f", attributes: [Self.name: "stored"])
    }
    try tree.at("f") { volume, id in
      try tree.open("f") { _, _ in
        let node = try volume.node(id)
        let facts = try volume.facts(of: node)
        node.nameless = NamelessFile(
          facts.status, StoredFacts(facts.stored, facts.head),
          attributes: [Array(Self.name.utf8): Array("kept".utf8)])
        func value() throws -> String {
          String(decoding: try Tree.attribute(volume, id, Self.name, tree.caller()), as: UTF8.self)
        }
        #expect(try value() == "stored")
        try tree.remove("f")
        node.nameless = NamelessFile(
          facts.status, StoredFacts(facts.stored, facts.head),
          attributes: [Array(Self.name.utf8): Array("kept".utf8)])
        #expect(try value() == "kept")
      }
    }
  }
}
