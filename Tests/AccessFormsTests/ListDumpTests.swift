import AccessForms
import Testing

@Suite("The format of dumps and undo files") struct ListDumpTests {
  private func read(_ text: String) throws(DumpFailure) -> [DumpPiece] {
    var reader = DumpReader()
    var pieces: [DumpPiece] = []
    for line in text.split(separator: "\n", omittingEmptySubsequences: false).dropLast() {
      if let piece = try reader.read(Array(line.utf8)) { pieces.append(piece) }
    }
    return pieces
  }

  @Test func recordsComeBack() throws {
    let records = [
      DumpRecord(isDirectory: true, path: [], lines: ["!#acl 1 no_inherit", "group:7 allow list"]),
      DumpRecord(isDirectory: false, path: [0x61, 0x2F, 0x0A, 0xFF], lines: []),
      DumpRecord(isDirectory: false, path: Array("file 0 .".utf8), lines: ["user:1 allow read"]),
    ]
    let text = "varve-acl 1\n# note\n\nroot /a\\012b\n" + records.map(\.text).joined() + "end\n"
    #expect(
      try read(text) == [.root(Array("/a\nb".utf8))] + records.map { DumpPiece.record($0) } + [.end])
  }

  /// Golden: the format is on disks.
  @Test func looksLikeThis() {
    let record = DumpRecord(isDirectory: true, path: Array("x/ y".utf8), lines: ["user:1 allow read"])
    #expect(record.text == "directory 1 x/ y\n\tuser:1 allow read\n")
    #expect(DumpRecord(isDirectory: true, path: [], lines: []).text == "directory 0 .\n")
  }

  static let wrong = [
    ("varve-acl 2\n", 1), ("root /\n", 1), ("varve-acl 1\nroot a\n", 2), ("varve-acl 1\nfile 0\n", 2),
    ("varve-acl 1\nfile 0 ../x\n", 2), ("varve-acl 1\nfile 0 /x\n", 2), ("varve-acl 1\nfile 0 a//b\n", 2),
    ("varve-acl 1\nfile 0 a/./b\n", 2), ("varve-acl 1\nfile 130 a\n", 2), ("varve-acl 1\nfile -1 a\n", 2),
    ("varve-acl 1\nfile 1 a\nend\n", 3), ("varve-acl 1\nsocket 0 a\n", 2), ("varve-acl 1\nfile 0 a\\9\n", 2),
  ]

  @Test(arguments: wrong) func nonsenseIsRefusedWithItsLine(_ text: String, _ line: Int) {
    let failure = #expect(throws: DumpFailure.self) { try read(text) }
    #expect(failure?.line == line)
  }

  @Test func whatIsCutOffIsNoRecord() throws {
    #expect(try read("varve-acl 1\nfile 2 a\n\tuser:1 allow read\n").isEmpty)
  }
}
