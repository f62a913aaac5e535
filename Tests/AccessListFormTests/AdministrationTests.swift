// Propagation and its relatives, with the figures of the administrator's guide.

import AccessControl
import Randomness
import Testing

/// A small tree of lists that propagation walks.
struct Tree {
  struct Item {
    let name: String
    let parent: String?
    let isDirectory: Bool
    var list: AccessList?
  }

  var items: [Item]

  func list(of name: String?) -> AccessList? { items.first { $0.name == name }?.list }

  mutating func set(_ list: AccessList?, on name: String) {
    for index in items.indices where items[index].name == name { items[index].list = list }
  }

  /// Parents first; how many objects were stored.
  @discardableResult mutating func propagate(from top: String) throws -> Int {
    var stored = 0
    var reached = [top]
    for index in items.indices {
      let item = items[index]
      guard let parent = item.parent, reached.contains(parent) else { continue }
      switch try AccessList.propagated(to: item.list, from: list(of: parent), forDirectory: item.isDirectory)
      {
      case .unchanged: reached.append(item.name)
      case .store(let new):
        items[index].list = new
        stored += 1
        reached.append(item.name)
      case .blocked: break
      }
    }
    return stored
  }
}

@Suite("Administration of lists") struct AdministrationTests {
  static let guide = Tree(items: [
    Tree.Item(name: "dir 0", parent: nil, isDirectory: true),
    Tree.Item(name: "file 0", parent: "dir 0", isDirectory: false),
    Tree.Item(name: "sub 1", parent: "dir 0", isDirectory: true),
    Tree.Item(name: "file 1", parent: "sub 1", isDirectory: false),
    Tree.Item(name: "sub 2", parent: "dir 0", isDirectory: true),
    Tree.Item(name: "sub 3", parent: "sub 2", isDirectory: true),
    Tree.Item(name: "sub 4", parent: "sub 3", isDirectory: true),
    Tree.Item(name: "file 2", parent: "sub 4", isDirectory: false),
  ])

  /// Capital letters for explicit entries, small ones for inherited, as Apple's programming guide draws them.
  func letters(_ tree: Tree) -> [String] {
    tree.items.map { item in
      (item.list?.entries ?? []).map { entry in
        guard case .user(let who) = entry.identity, let scalar = Unicode.Scalar(who) else { return "?" }
        return entry.isInherited ? "\(scalar)" : "\(scalar)".uppercased()
      }.joined(separator: ",")
    }
  }

  @Test("The two figures of Apple's guide, step by step") func figures() throws {
    var tree = Self.guide
    tree.set(Shorthand.list("a:fd"), on: "dir 0")
    try tree.propagate(from: "dir 0")
    #expect(letters(tree) == ["A", "a", "a", "a", "a", "a", "a", "a"])

    tree.set(try AccessListEdit.add(Shorthand.entry("c:fd")).applied(to: tree.list(of: "sub 2")), on: "sub 2")
    #expect(letters(tree) == ["A", "a", "a", "a", "C,a", "a", "a", "a"])

    try tree.propagate(from: "sub 2")
    #expect(letters(tree) == ["A", "a", "a", "a", "C,a", "c,a", "c,a", "c,a"])

    tree.set(Shorthand.list("b:fd"), on: "dir 0")
    #expect(letters(tree) == ["B", "a", "a", "a", "C,a", "c,a", "c,a", "c,a"])

    #expect(try tree.propagate(from: "dir 0") == 7)
    #expect(letters(tree) == ["B", "b", "b", "b", "C,b", "c,b", "c,b", "c,b"])
    #expect(try tree.propagate(from: "dir 0") == 0, "running it again changes nothing")
  }

  struct Row: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let parent: AccessList?
    let isDirectory: Bool
    let initial: AccessList?
    let result: String

    init(
      _ sentence: String, _ parent: String?, directory: Bool = false, initial: AccessList? = nil,
      gives result: String
    ) {
      testDescription = sentence
      self.parent = parent.map { Shorthand.list($0) }
      isDirectory = directory
      self.initial = initial
      self.result = result
    }
  }

  static let inheritance = [
    Row("no list above, none below", nil, gives: "none"),
    Row("nothing for files", "x y:d", gives: "none"),
    Row("a file takes what is for files", "x:f y:d z:fd", gives: "x:i z:i"),
    Row(
      "a directory takes what is for directories", "x:f y:d z:fd", directory: true, gives: "y:id z:ifd"),
    Row("only_inherit becomes effective", "x:fdo", directory: true, gives: "x:ifd"),
    Row("limit_inherit stops at the directory", "x:fdl", directory: true, gives: "x:i"),
    Row("limit_inherit on a file", "x:fdl", gives: "x:i"),
    Row("what is inherited is handed on", "x:ifd", directory: true, gives: "x:ifd"),
    Row("an empty list given stays an empty list", nil, initial: AccessList(), gives: ""),
    Row(
      "given entries lose their inherited ones", "x:f", initial: Shorthand.list("p q:i r"),
      gives: "p r x:i"),
    Row(
      "no_inherit keeps the list as it was given", "x:f",
      initial: Shorthand.list("p", flags: .noInherit), gives: "p"),
    Row(
      "order is kept, nothing is sorted", "!x:f y:f", initial: Shorthand.list("p"), gives: "p !x:i y:i"),
    Row("for files without directories stops at the directory", "x:fo", directory: true, gives: "none"),
  ]

  @Test(arguments: inheritance) func inherits(_ row: Row) throws {
    let list = try AccessList.inherited(from: row.parent, forDirectory: row.isDirectory, initial: row.initial)
    #expect(Shorthand.text(list) == row.result)
    #expect(list?.flags ?? [] == [])
  }

  @Test("What does not fit is refused") func tooMany() {
    let parent = AccessList(Array(repeating: Shorthand.entry("x:f"), count: 128))
    let own = Shorthand.list("p")
    #expect(throws: TooManyEntries()) {
      try AccessList.inherited(from: parent, forDirectory: false, initial: own)
    }
    #expect(throws: TooManyEntries()) {
      try AccessList.propagated(to: own, from: parent, forDirectory: false)
    }
    // What was inherited before makes room first.
    let old = AccessList(Array(repeating: Shorthand.entry("q:i"), count: 128))
    #expect((try? AccessList.propagated(to: old, from: parent, forDirectory: false)) != nil)
  }

  struct Step: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let list: AccessList?
    let parent: String?
    let isDirectory: Bool
    let outcome: Propagation

    init(
      _ sentence: String, _ list: AccessList?, from parent: String?, directory: Bool = false,
      _ outcome: Propagation
    ) {
      testDescription = sentence
      self.list = list
      self.parent = parent
      isDirectory = directory
      self.outcome = outcome
    }
  }

  static let steps = [
    Step("nothing above and nothing here", nil, from: nil, .unchanged),
    Step("the first list", nil, from: "a:fd", .store(Shorthand.list("a:i"))),
    Step("already there", Shorthand.list("a:i"), from: "a:fd", .unchanged),
    Step("what the parent lost disappears", Shorthand.list("p a:i"), from: nil, .store(Shorthand.list("p"))),
    Step("nothing left removes the list", Shorthand.list("a:i"), from: nil, .store(nil)),
    Step("an empty list is removed", AccessList(), from: "x", .store(nil)),
    Step(
      "explicit entries move to the front", Shorthand.list("a:i p"), from: "a:fd",
      .store(Shorthand.list("p a:i"))),
    Step(
      "explicit entries stay as they are", Shorthand.list("p !q:fdlo"), from: "!a:d", directory: true,
      .store(Shorthand.list("p !q:fdlo !a:id"))),
    Step("no_inherit blocks", Shorthand.list("p", flags: .noInherit), from: "a:fd", .blocked),
    Step("no_inherit blocks without entries", AccessList(flags: .noInherit), from: "a:fd", .blocked),
    Step(
      "other list flags stay", Shorthand.list("p", flags: AccessList.Flags(rawValue: 5)), from: "a:f",
      .store(Shorthand.list("p a:i", flags: AccessList.Flags(rawValue: 5)))),
  ]

  @Test(arguments: steps) func propagates(_ row: Step) throws {
    let parent = row.parent.map { Shorthand.list($0) }
    #expect(
      try AccessList.propagated(to: row.list, from: parent, forDirectory: row.isDirectory) == row.outcome)
  }

  @Test("A blocked directory shields everything below") func shield() throws {
    var tree = Self.guide
    tree.set(Shorthand.list("p", flags: .noInherit), on: "sub 2")
    tree.set(Shorthand.list("a:fd"), on: "dir 0")
    try tree.propagate(from: "dir 0")
    #expect(letters(tree) == ["A", "a", "a", "a", "P", "", "", ""])
  }

  @Test("Propagation is idempotent and leaves explicit entries alone", arguments: [61, 62] as [UInt64])
  func idempotent(seed: UInt64) throws {
    var generator = Dice(seed: seed)
    func list() -> AccessList? {
      if Int.random(in: 0..<4, using: &generator) == 0 { return nil }
      return AccessList(
        (0..<Int.random(in: 0...5, using: &generator)).map { _ in
          .random(
            rights: [.read, .write], inheritance: AccessEntry.Inheritance.propagation.union(.inherited),
            using: &generator)
        },
        flags: AccessList.Flags(rawValue: .random(in: 0...3, using: &generator)))
    }
    for round in 0..<500 {
      var tree = Self.guide
      for index in tree.items.indices { tree.items[index].list = list() }
      let before = tree
      try tree.propagate(from: "dir 0")
      for (old, new) in zip(before.items, tree.items) where old.parent != nil {
        #expect(
          new.list?.withoutInherited?.entries == old.list?.withoutInherited?.entries,
          "seed \(seed), round \(round), \(new.name)")
      }
      #expect(try tree.propagate(from: "dir 0") == 0, "seed \(seed), round \(round)")
    }
  }

  @Test("The second level gets what the first got, less what was limited", arguments: [63] as [UInt64])
  func secondLevel(seed: UInt64) throws {
    var generator = Dice(seed: seed)
    for round in 0..<500 {
      let parent = AccessList(
        (0..<Int.random(in: 0...6, using: &generator)).map { _ in
          .random(rights: .read, inheritance: .propagation, using: &generator)
        })
      let first = try AccessList.inherited(from: parent, forDirectory: true)
      let second = try AccessList.inherited(from: first, forDirectory: true)
      let expected = (first?.entries ?? []).filter { $0.inheritance.contains(.directoryInherit) }
      #expect(second?.entries ?? [] == expected, "seed \(seed), round \(round)")
    }
  }

  @Test("Replaced, an item has what is handed down and nothing else, whatever it had and asked for")
  func replaced()
    throws
  {
    let parent = Shorthand.list("a:fd b c:d")
    for list in [
      nil, Shorthand.list("x y:i"), Shorthand.list("x", flags: .noInherit), Shorthand.list("a:i x"),
    ] {
      for isDirectory in [false, true] {
        let outcome = try AccessList.propagated(
          to: list, from: parent, forDirectory: isDirectory, replacing: true)
        let new = try AccessList.inherited(from: parent, forDirectory: isDirectory)
        #expect(outcome == .store(new))
        let again = try AccessList.propagated(
          to: new, from: parent, forDirectory: isDirectory, replacing: true)
        #expect(again == .unchanged)
      }
      let gone = try AccessList.propagated(to: list, from: nil, forDirectory: false, replacing: true)
      #expect(gone == (list == nil ? .unchanged : .store(nil)))
    }
  }

  @Test("Inherited entries can be made explicit, or dropped") func explicitAndStripped() {
    let list = Shorthand.list("a !b:ifd c:i", flags: .noInherit)
    #expect(list.withEverythingExplicit == Shorthand.list("a !b:fd c", flags: .noInherit))
    #expect(list.withoutInherited == Shorthand.list("a", flags: .noInherit))
    #expect(Shorthand.list("a:i").withoutInherited == nil)
  }

  @Test(
    "Permissions copied to files add no x bit and no set-id bit",
    arguments: [
      (0o755, 0o644, 0o644), (0o755, 0o700, 0o744), (0o700, 0o755, 0o700), (0o777, 0o001, 0o667),
      (0o7770, 0o755, 0o770), (0o2775, 0o4755, 0o775), (0o000, 0o777, 0o000), (0o111, 0o777, 0o111),
    ] as [(UInt16, UInt16, UInt16)])
  func copiesToFiles(directory: UInt16, present: UInt16, result: UInt16) {
    #expect(directory.handedDownMode(to: present, ofDirectory: false) == result)
    #expect(directory.handedDownMode(to: present, ofDirectory: true) == directory)
  }
}
