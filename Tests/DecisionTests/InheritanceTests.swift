// What is inherited of each kind of entry, and how a changed list travels down a tree.

import AccessControl
import Testing

@Suite("Inheriting lists") struct InheritanceTests {
  struct Row: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let parent: AccessList?
    var isDirectory = false
    var initial: AccessList?
    let result: AccessList?
  }

  static let rows = [
    Row(testDescription: "nothing from nothing", parent: nil, result: nil),
    Row(testDescription: "nothing for files", parent: list("x:", "y:d"), result: nil),
    Row(testDescription: "a file", parent: list("x:f", "y:d", "z:fd"), result: list("x:i", "z:i")),
    Row(
      testDescription: "a directory", parent: list("x:f", "y:d", "z:fd"), isDirectory: true,
      result: list("y:id", "z:ifd")),
    Row(
      testDescription: "becomes effective", parent: list("x:fdo"), isDirectory: true, result: list("x:ifd")
    ),
    Row(testDescription: "limited", parent: list("x:fdl"), isDirectory: true, result: list("x:i")),
    Row(testDescription: "limited, file", parent: list("x:fdl"), result: list("x:i")),
    Row(
      testDescription: "second generation", parent: list("x:ifd"), isDirectory: true, result: list("x:ifd")
    ),
    Row(testDescription: "an empty list stays one", parent: nil, initial: list(), result: list()),
    Row(
      testDescription: "explicit first", parent: list("x:f"), initial: list("p:", "q:i", "r:"),
      result: list("p:", "r:", "x:i")),
    Row(
      testDescription: "no_inherit", parent: list("x:f"), initial: blocked(list("p:")), result: list("p:")
    ),
    Row(
      testDescription: "nothing is sorted", parent: list("-x:f", "y:f"), initial: list("p:"),
      result: list("p:", "-x:i", "y:i")),
    Row(
      testDescription: "files only: a directory gets nothing", parent: list("x:fo"), isDirectory: true,
      result: nil),
    Row(
      testDescription: "128 are allowed", parent: AccessList(Array(repeating: entry("x:f"), count: 128)),
      initial: list(), result: AccessList(Array(repeating: entry("x:i"), count: 128))),
    Row(
      testDescription: "list flags are not handed down", parent: blocked(list("x:fd")), isDirectory: true,
      result: list("x:ifd")),
  ]

  @Test(arguments: rows) func gives(_ row: Row) throws {
    let result = try AccessList.inherited(
      from: row.parent, forDirectory: row.isDirectory, initial: row.initial)
    #expect(result == row.result)
  }

  /// Counted before the creator's inherited entries are dropped.
  @Test(arguments: ["p:", "p:i"]) func tooMany(_ initial: String) {
    let full = AccessList(Array(repeating: entry("x:f"), count: 128))
    #expect(throws: TooManyEntries.self) {
      try AccessList.inherited(from: full, forDirectory: false, initial: list(initial))
    }
  }

  /// Every combination of the five flags, against SEMANTICS 3.3 and 3.9 told by hand.
  @Test func everyCombinationOfFlags() throws {
    for bits in UInt16(0)..<128 {
      let flags = AccessEntry.Inheritance(rawValue: bits << 4)
      let parent = AccessList([AccessEntry(.deny, .group(7), [.read, .genericWrite], flags)])
      for isDirectory in [false, true] {
        let word = bits << 4
        let audit = word & 0x600
        var expected: UInt16?
        if isDirectory, word & 0x040 != 0 {
          expected = word & 0x080 != 0 ? 0x010 : 0x010 | word & 0x060
        }
        if !isDirectory, word & 0x020 != 0 { expected = 0x010 }
        let result = try AccessList.inherited(from: parent, forDirectory: isDirectory)
        #expect(result?.entries.first?.inheritance.rawValue == expected.map { $0 | audit }, "\(flags)")
      }
    }
  }

  /// The two figures of Apple's File System Programming Guide: directory 0 with its tree, A and B on top, C on a
  /// directory in the middle.
  @Test func theFiguresOfTheGuide() throws {
    let tree: [(name: String, parent: String?, isDirectory: Bool)] = [
      ("dir 0", nil, true), ("file 0", "dir 0", false), ("sub 1", "dir 0", true), ("file 1", "sub 1", false),
      ("sub 2", "dir 0", true), ("sub 3", "sub 2", true), ("sub 4", "sub 3", true),
      ("file 2", "sub 4", false),
    ]
    var lists: [String: AccessList] = [:]
    func propagate(from top: String) throws {
      var reached: Set = [top]
      for node in tree {
        guard let parent = node.parent, reached.contains(parent) else { continue }
        reached.insert(node.name)
        let explicit = (lists[node.name]?.entries ?? []).filter { !$0.inheritance.contains(.inherited) }
        lists[node.name] = try AccessList.inherited(
          from: lists[parent], forDirectory: node.isDirectory,
          initial: explicit.isEmpty ? nil : AccessList(explicit))
      }
    }
    func look() -> [String] {
      tree.map { node in
        (lists[node.name]?.entries ?? []).map { entry in
          let letter = [Identity.group(1): "A", .group(2): "B", .group(3): "C"][entry.identity] ?? "?"
          return entry.inheritance.contains(.inherited) ? letter.lowercased() : letter
        }.joined(separator: ",")
      }
    }
    func hands(_ gid: UInt32) -> AccessEntry {
      AccessEntry(.allow, .group(gid), .read, [.fileInherit, .directoryInherit])
    }
    lists["dir 0"] = AccessList([hands(1)])
    try propagate(from: "dir 0")
    #expect(look() == ["A", "a", "a", "a", "a", "a", "a", "a"])
    lists["sub 2"]?.entries.insert(hands(3), at: 0)
    try propagate(from: "sub 2")
    #expect(look() == ["A", "a", "a", "a", "C,a", "c,a", "c,a", "c,a"])
    lists["dir 0"] = AccessList([hands(2)])
    #expect(look() == ["B", "a", "a", "a", "C,a", "c,a", "c,a", "c,a"])
    try propagate(from: "dir 0")
    #expect(look() == ["B", "b", "b", "b", "C,b", "c,b", "c,b", "c,b"])
    let once = lists
    try propagate(from: "dir 0")
    #expect(lists == once)
  }
}

/// `x:fd` permits x, `-x:fd` denies; after the colon each letter is an inheritance word.
private func entry(_ text: String) -> AccessEntry {
  let letters: [Character: AccessEntry.Inheritance] = [
    "i": .inherited, "f": .fileInherit, "d": .directoryInherit, "l": .limitInherit, "o": .onlyInherit,
  ]
  let parts = text.drop { $0 == "-" }.split(separator: ":", omittingEmptySubsequences: false)
  let number = parts[0].unicodeScalars.reduce(0) { $0 + $1.value }
  let flags = parts[1].reduce(into: AccessEntry.Inheritance()) { $0.formUnion(letters[$1] ?? []) }
  return AccessEntry(text.hasPrefix("-") ? .deny : .allow, .user(number), [.read, .takeOwnership], flags)
}

private func list(_ entries: String...) -> AccessList {
  AccessList(entries.map(entry))
}

private func blocked(_ list: AccessList) -> AccessList {
  AccessList(list.entries, flags: .noInherit)
}
