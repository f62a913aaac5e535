import AccessControl
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
      DumpRecord(.directory, path: [], lines: ["!#acl 1 no_inherit", "group:7 allow list"]),
      DumpRecord(.file, path: [0x61, 0x2F, 0x0A, 0xFF], lines: []),
      DumpRecord(.file, path: Array("file 0 - .".utf8), lines: ["user:1 allow read"]),
      DumpRecord(.directory, path: [], facts: ItemFacts(mode: 0o755), lines: nil),
      DumpRecord(
        .file, path: Array("a b - c".utf8),
        facts: ItemFacts(owner: .group(7), group: 0, mode: 0o4711, flags: 0xFFFF_FFFF),
        lines: ["user:1 deny read"]),
      DumpRecord(.link, path: Array("-".utf8), facts: ItemFacts(owner: .user(0), flags: 0), lines: []),
      DumpRecord(.file, path: [0xFF, 0x0A], lines: nil),
    ]
    let text = "varve-acl 1\n# note\n\nroot /a\\012b\n" + records.map(\.text).joined() + "end\n"
    #expect(
      try read(text) == [.root(Array("/a\nb".utf8))] + records.map { DumpPiece.record($0) } + [.end])
  }

  /// Golden: the format is on disks.
  @Test func looksLikeThis() {
    let facts = ItemFacts(owner: .user(7), group: 8, mode: 0o644, flags: 0o100002)
    #expect(
      DumpRecord(.file, path: Array("x/ y".utf8), facts: facts, lines: ["user:1 allow read"]).text
        == "file 1 owner=user:7,group=8,mode=0644,flags=0100002 x/ y\n\tuser:1 allow read\n")
    #expect(DumpRecord(.directory, path: [], lines: []).text == "directory 0 - .\n")
    #expect(DumpRecord(.link, path: [], lines: nil).text == "link - - .\n")
  }

  @Test("Accounts are written by name where asked, and read by name where somebody has it") func names()
    throws
  {
    let book = NameBook(users: ["ann": 7, "a b": 9, "12": 10], groups: ["DOM\\staff": 8, "x,y=z": 11])
    func text(_ facts: ItemFacts) -> String { facts.text(names: book) }
    #expect(text(ItemFacts(owner: .user(7), group: 8)) == "owner=user:ann,group=DOM\\staff")
    #expect(text(ItemFacts(owner: .group(8), group: 6)) == "owner=group:DOM\\staff,group=6")
    // What would not be read as it was meant, or by another machine as somebody else, is a number.
    for user: UInt32 in [9, 10] { #expect(text(ItemFacts(owner: .user(user))) == "owner=user:\(user)") }
    #expect(text(ItemFacts(group: 11)) == "group=11")
    for facts in [
      ItemFacts(owner: .user(7), group: 8, mode: 0o600), ItemFacts(owner: .group(8)), ItemFacts(group: 11),
    ] {
      #expect(ItemFacts(text(facts), names: book) == facts)
    }
    #expect(ItemFacts("owner=user:bob", names: book)?.unknownAccount == "user 'bob'")
    #expect(ItemFacts("owner=user:ann,group=ann", names: book)?.unknownAccount == "group 'ann'")
    #expect(ItemFacts("group=a b", names: book) == nil && ItemFacts("group=+8", names: book) == nil)
  }

  static let wrong = [
    ("varve-acl 2\n", 1), ("varve-acl 1 \n", 1), ("root /\n", 1), ("varve-acl 1\nroot a\n", 2),
    ("varve-acl 1\nfile 0 -\n", 2), ("varve-acl 1\nfile 0 a\n", 2), ("varve-acl 1\nfile 0 - ../x\n", 2),
    ("varve-acl 1\nfile 0 - /x\n", 2), ("varve-acl 1\nfile 0 - a//b\n", 2),
    ("varve-acl 1\nfile 0 - a/./b\n", 2), ("varve-acl 1\nfile 130 - a\n", 2),
    ("varve-acl 1\nfile -1 - a\n", 2), ("varve-acl 1\nfile 1 - a\nend\n", 3),
    ("varve-acl 1\nsocket 0 - a\n", 2), ("varve-acl 1\nfile 0 - a\\9\n", 2),
    ("varve-acl 1\nfile - mode=0644\n", 2),
    ("varve-acl 1\nfile - mode=010000 a\n", 2), ("varve-acl 1\nfile - mode=8 a\n", 2),
    ("varve-acl 1\nfile - mode=+7 a\n", 2), ("varve-acl 1\nfile - mode= a\n", 2),
    ("varve-acl 1\nfile - mode=01,mode=01 a\n", 2), ("varve-acl 1\nfile - mode=01, a\n", 2),
    ("varve-acl 1\nfile - owner=7 a\n", 2), ("varve-acl 1\nfile - owner=nobody:7 a\n", 2),
    ("varve-acl 1\nfile - owner=user:4294967295 a\n", 2), ("varve-acl 1\nfile - group=-1 a\n", 2),
    ("varve-acl 1\nfile - flags=040000000000 a\n", 2), ("varve-acl 1\nfile - color=1 a\n", 2),
    ("varve-acl 1\nlink - mode=0777 a\n", 2), ("varve-acl 1\nfile - mode=01 ../a\n", 2),
    ("varve-acl 1\nfile - mode=01 a\nchanged 1 2\n", 3),
  ]

  @Test(arguments: wrong) func nonsenseIsRefusedWithItsLine(_ text: String, _ line: Int) {
    let failure = #expect(throws: DumpFailure.self) { try read(text) }
    #expect(failure?.line == line)
  }

  @Test func anotherVersionIsNamed() {
    let failure = #expect(throws: DumpFailure.self) { try read("varve-acl 12\nroot /\n") }
    #expect(failure?.problem == "this dump is of version 12, and only version 1 can be read")
  }

  @Test func whatIsCutOffIsNoRecord() throws {
    #expect(try read("varve-acl 1\nfile 2 - a\n\tuser:1 allow read\n").isEmpty)
  }
}
