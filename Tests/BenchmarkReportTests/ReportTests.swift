import BenchmarkReport
import Foundation
import JSONForm
import Testing

// What people and programs get to see.

@Suite("The report") struct ReportTests {
  private let found = findings(
    [
      (native, "create", [1, 1]), (varve, "create", [2, 2]), (bindfs, "create", [4, 4]),
      (Contender(.varve, options: "threads=1"), "create", [1, 4]),
    ], rows: ["create"])

  @Test("the table shows ratios to the directory itself, the best peer and the target") func table() throws {
    let chapter = try #require(found.chapters.first)
    #expect(
      chapter.table.heads == [
        "work", "native", "varve", "bindfs", "varve:threads=1", "best peer", "varve / best peer", "target",
        "met",
      ])
    #expect(
      chapter.table.lines == [
        ["create", "1.00 s", "0.50", "0.25", "0.63", "bindfs", "2.00", "≥ 1.00 best peer", "yes"]
      ])
    #expect(chapter.note.contains("2.00; target 1.30: met."))
  }

  @Test("arrangements of Varve stand side by side") func arrangements() throws {
    let chapter = try #require(found.chapters.last)
    #expect(chapter.table.heads == ["work", "varve", "varve:threads=1", "ratio", "worst", "best"])
    #expect(chapter.table.lines == [["create", "2.00 s", "2.50 s", "1.25", "0.50", "2.00"]])
  }

  @Test("a target that is missed is said loudly") func missed() throws {
    let slow = findings([(varve, "chmod", [2]), (bindfs, "chmod", [1])], rows: ["chmod"])
    let chapter = try #require(slow.chapters.first)
    #expect(chapter.table.lines.first?.last == "NO")
    #expect(chapter.note.contains("not met"))
  }

  @Test("columns are aligned, the first to the left") func text() {
    var table = Table(["work", "n"])
    table.add(["a", "10"])
    table.add(["long", "1", "dropped"])
    table.add(["x"])
    #expect(table.text == "work   n\na     10\nlong   1\nx")
    #expect(table.markdown == "| work | n |\n| --- | ---: |\n| a | 10 |\n| long | 1 |\n| x |  |")
  }

  @Test("the JSON holds every sample and what was made of it") func json() throws {
    let row = try #require(value(found.json["places"], 0)?["rows"].flatMap { value($0, 0) })
    #expect(row["id"]?.string == "create")
    #expect(row["seconds"]?["varve:threads=1"] == .array([.number("1.0"), .number("4.0")]))
    #expect(row["ratioToNative"]?["varve"] == .number("0.5"))
    #expect(row["bestPeer"]?.string == "bindfs")
    #expect(row["ratioToBestPeer"] == .number("2.0"))
    #expect(row["met"] == .bool(true))
    #expect(try JSONSerialization.jsonObject(with: Data(found.jsonText.utf8)) is [String: Any])
  }

  private func value(_ json: JSON?, _ index: Int) -> JSON? {
    guard case .array(let values) = json, index < values.count else { return nil }
    return values[index]
  }

  @Test("the picture is well formed and has a dot for each ratio and each name") func picture() throws {
    let odd = Contender(.varve, options: "x=<&\">")
    let found = findings(
      [(native, "create", [1]), (varve, "create", [2]), (bindfs, "create", [1e9]), (odd, "create", [1e-9])],
      rows: ["create", "chmod"])
    let svg = Picture(found).svg
    #expect(svg.components(separatedBy: "<circle").count - 1 == 6)
    #expect(svg.contains("varve, create: 0.50"))
    #expect(svg.contains("x=&lt;&amp;&quot;&gt;"))
    for coordinate in svg.matches(of: /cx="([0-9.]+)"/).compactMap({ Double($0.output.1) }) {
      #expect((0...700.5).contains(coordinate))
    }
    // Every element that is opened is closed, in order.
    var open: [Substring] = []
    for tag in svg.matches(of: /<(\/?)([a-z]+)[^>]*?(\/?)>/) {
      if tag.output.1 == "/" {
        #expect(open.popLast() == tag.output.2)
      } else if tag.output.3 != "/" {
        open.append(tag.output.2)
      }
    }
    #expect(open.isEmpty)
  }
}

private let files = Document.Subject.files
private let (top, end) = (files.beginning, files.end)

@Suite("The document") struct DocumentTests {
  private let document = "# Speed\n\n\(top)\nold\n\(end)\n\nBy hand.\n"

  @Test("what stands between the markers is replaced, and nothing else") func replaces() throws {
    let renewed = try #require(Document.replacingPart(of: document, with: "new"))
    #expect(renewed == "# Speed\n\n\(top)\n\nnew\n\n\(end)\n\nBy hand.\n")
    #expect(Document.replacingPart(of: renewed, with: "new") == renewed)
  }

  @Test("each subject has a part of its own") func subjects() throws {
    let other = Document.Subject.encryption
    let both = document + "\(other.beginning)\nold\n\(other.end)\n"
    let renewed = try #require(Document.replacingPart(of: both, with: "new", about: other))
    #expect(renewed == document + "\(other.beginning)\n\nnew\n\n\(other.end)\n")
    #expect(Document.replacingPart(of: document, with: "new", about: other) == nil)
  }

  @Test(
    "a document whose markers are missing, doubled or swapped is left alone",
    arguments: [
      "# Speed\n", "\(top)\n", "\(end)\n\(top)\n", "\(top)\n\(top)\n\(end)\n", "\(top)\n\(end)\n\(end)\n",
    ])
  func refuses(_ document: String) {
    #expect(Document.replacingPart(of: document, with: "new") == nil)
  }
}
