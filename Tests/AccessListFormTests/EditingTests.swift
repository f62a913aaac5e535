// The forms of chmod that change a list.

import AccessControl
import Randomness
import Testing

@Suite("Editing a list") struct EditingTests {
  struct Row: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let before: AccessList?
    let edit: AccessListEdit
    let after: AccessList?

    init(_ sentence: String, _ before: AccessList?, _ edit: AccessListEdit, _ after: AccessList?) {
      testDescription = sentence
      self.before = before
      self.edit = edit
      self.after = after
    }

    init(_ sentence: String, _ before: String?, _ edit: AccessListEdit, _ after: String?) {
      self.init(sentence, before.map { Shorthand.list($0) }, edit, after.map { Shorthand.list($0) })
    }
  }

  static func entry(_ text: String) -> AccessEntry { Shorthand.entry(text) }
  static let ann = Identity.user(1)
  static func anns(_ rights: Rights, _ inheritance: AccessEntry.Inheritance = []) -> AccessEntry {
    AccessEntry(.allow, ann, rights, inheritance)
  }

  static let adding = [
    Row("the first entry", nil, .add(entry("a")), "a"),
    Row("a deny goes to the front", "a b", .add(entry("!c")), "!c a b"),
    Row("a permit goes to the front of the permits", "!a b", .add(entry("c")), "!a c b"),
    Row("an explicit entry goes before inherited ones", "a:i", .add(entry("b")), "b a:i"),
    Row(
      "an inherited deny goes behind what is explicit", "!a b !c:i d:i", .add(entry("!e:i")),
      "!a b !e:i !c:i d:i"),
    Row(
      "an inherited permit goes to the front of its class", "!a b !c:i d:i", .add(entry("e:i")),
      "!a b !c:i e:i d:i"),
    Row("an inherited permit ends a list that has none", "!a b", .add(entry("e:i")), "!a b e:i"),
    Row("the same entry again changes nothing", "a b", .add(entry("b")), "a b"),
    Row("another kind is another entry", "a", .add(entry("!a")), "!a a"),
    Row("other inheritance is another entry", "a", .add(entry("a:f")), "a:f a"),
    Row("a list without entries is like none", "", .add(entry("a")), "a"),
    Row(
      "rights are added in place", AccessList([entry("!b"), anns(.read), entry("c")]), .add(anns(.write)),
      AccessList([entry("!b"), anns([.read, .write]), entry("c")])),
    Row(
      "of several the last is widened", AccessList([anns(.read), anns(.delete)]), .add(anns(.write)),
      AccessList([anns(.read), anns([.delete, .write])])),
    Row(
      "one of several that says it already is enough", AccessList([anns(.read), anns(.delete)]),
      .add(anns(.read)), AccessList([anns(.read), anns(.delete)])),
    Row(
      "list flags stay", Shorthand.list("a", flags: .noInherit), .add(entry("b")),
      Shorthand.list("b a", flags: .noInherit)),
    Row(
      "a full list can still be widened",
      AccessList(Array(repeating: entry("b"), count: 127) + [anns(.read)]), .add(anns(.write)),
      AccessList(Array(repeating: entry("b"), count: 127) + [anns([.read, .write])])),
  ]

  static let placing = [
    Row("at the front, whatever the order is then", "!a", .insert(entry("b"), at: 0), "b !a"),
    Row("in the middle", "a b", .insert(entry("c"), at: 1), "a c b"),
    Row("at the end", "a b", .insert(entry("c"), at: 2), "a b c"),
    Row("without merging", "a", .insert(entry("a"), at: 0), "a a"),
    Row("into a list out of order", "a !b", .insert(entry("c"), at: 1), "a c !b"),
    Row("without a list any position is the first", nil, .insert(entry("a"), at: 100), "a"),
    Row("=a# replaces", "a b c", .replaceEntry(at: 1, with: entry("!d")), "a !d c"),
    Row("=a# without a list inserts", nil, .replaceEntry(at: 3, with: entry("a")), "a"),
    Row("-a# deletes", "a b c", .removeEntry(at: 1), "a c"),
    Row("-a# of the last entry removes the list", "a", .removeEntry(at: 0), nil),
  ]

  static let removing = [
    Row("the same entry is deleted", "a b", .remove(entry("a")), "b"),
    Row("every entry about the identity is meant", "a b a", .remove(entry("a")), "b"),
    Row("another kind is not meant", "!a a", .remove(entry("a")), "!a"),
    Row("inherited protects nothing", "a:i b", .remove(entry("a")), "b"),
    Row("the last entry takes the list with it", "a", .remove(entry("a")), nil),
    Row(
      "the rights named are taken away", AccessList([anns([.read, .write])]), .remove(anns(.read)),
      AccessList([anns(.write)])),
    Row(
      "the inheritance named is taken away",
      AccessList([anns([.read, .write], [.fileInherit, .directoryInherit])]),
      .remove(anns(.read, .fileInherit)), AccessList([anns(.write, .directoryInherit)])),
    Row(
      "inheritance alone can be taken away", AccessList([anns(.read, .fileInherit)]),
      .remove(anns([], .fileInherit)), AccessList([anns(.read)])),
    Row(
      "the same rights with other inheritance leave nothing", AccessList([anns(.read, .fileInherit)]),
      .remove(anns(.read)), nil),
    Row(
      "rights that are not there take nothing away", AccessList([anns(.read)]), .remove(anns(.write)),
      AccessList([anns(.read)])),
    Row("-N removes the list", "a b", .removeList, nil),
    Row("-N without a list is no error", nil as String?, .removeList, nil),
    Row("-I drops what is inherited", "a b:i !c:if d", .dropInherited, "a d"),
    Row("-I removes a list that was all inherited", "b:i", .dropInherited, nil),
    Row("-i makes entries explicit where they stand", "a b:i !c:ifd", .makeExplicit, "a b !c:fd"),
    Row("-E takes another list as it is", "a", .replaceList(Shorthand.list("b !c")), "b !c"),
    Row("-E without entries removes the list", "a", .replaceList(AccessList()), nil),
  ]

  @Test(arguments: adding + placing + removing) func edits(_ row: Row) throws {
    #expect(try row.edit.applied(to: row.before) == row.after)
  }

  struct Refusal: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let before: AccessList?
    let edit: AccessListEdit
    let failure: EditFailure

    init(_ sentence: String, _ before: AccessList?, _ edit: AccessListEdit, _ failure: EditFailure) {
      testDescription = sentence
      self.before = before
      self.edit = edit
      self.failure = failure
    }
  }

  static let full = AccessList(Array(repeating: entry("b"), count: 128))

  static let refusals = [
    Refusal("+a on a list out of order", Shorthand.list("a !b"), .add(entry("c")), .notCanonical),
    Refusal("+a out of order, even to widen", Shorthand.list("a:i b"), .add(entry("b")), .notCanonical),
    Refusal(
      "+a beside an audit entry", AccessList([entry("a"), AccessEntry(.audit, ann, .read)]),
      .add(entry("c")), .undecidingEntry(1)),
    Refusal("+a of an alarm", nil, .add(AccessEntry(.alarm, ann, .read)), .undecidingEntry(nil)),
    Refusal("+a to a full list", full, .add(entry("c")), .tooManyEntries),
    Refusal("+a# to a full list", full, .insert(entry("c"), at: 0), .tooManyEntries),
    Refusal(
      "-E with too many", nil, .replaceList(AccessList(full.entries + [entry("c")])), .tooManyEntries),
    Refusal(
      "+a# beyond the end", Shorthand.list("a"), .insert(entry("c"), at: 2), .noSuchPosition(2, count: 1)),
    Refusal(
      "+a# before the start", Shorthand.list("a"), .insert(entry("c"), at: -1), .noSuchPosition(-1, count: 1)),
    Refusal(
      "=a# beyond the end", Shorthand.list("a"), .replaceEntry(at: 1, with: entry("c")),
      .noSuchPosition(1, count: 1)),
    Refusal("-a# beyond the end", Shorthand.list("a"), .removeEntry(at: 1), .noSuchPosition(1, count: 1)),
    Refusal(
      "-a# far before the start", Shorthand.list("a"), .removeEntry(at: .min), .noSuchPosition(.min, count: 1)
    ),
    Refusal("-a# without a list", nil, .removeEntry(at: 0), .noList),
    Refusal("-a without a list", nil, .remove(entry("a")), .noList),
    Refusal("-a of somebody who is not there", Shorthand.list("!a b"), .remove(entry("a")), .noSuchEntry),
    Refusal("-i without a list", nil, .makeExplicit, .noList),
    Refusal("-I without a list", nil, .dropInherited, .noList),
  ]

  @Test(arguments: refusals) func refuses(_ row: Refusal) {
    #expect(throws: row.failure) { try row.edit.applied(to: row.before) }
    #expect(!row.failure.description.isEmpty && !row.failure.description.contains("\n"))
  }

  @Test("Adding keeps a canonical list canonical, whatever is added", arguments: [41] as [UInt64])
  func addingKeepsOrder(seed: UInt64) throws {
    var generator = Dice(seed: seed)
    for round in 0..<200 {
      var list: AccessList?
      for _ in 0..<12 {
        let entry = AccessEntry.random(
          rights: [.read, .write], inheritance: [.inherited, .fileInherit], using: &generator)
        let before = list
        list = try AccessListEdit.add(entry).applied(to: list)
        #expect(try list?.isCanonical() == true, "seed \(seed), round \(round)")
        #expect(
          list?.entries.contains {
            $0.identity == entry.identity && $0.kind == entry.kind && $0.inheritance == entry.inheritance
              && $0.rights.isSuperset(of: entry.rights)
          } == true, "seed \(seed), round \(round)")
        #expect((list?.entries.count ?? 0) - (before?.entries.count ?? 0) <= 1)
        #expect(try AccessListEdit.add(entry).applied(to: list) == list, "seed \(seed), round \(round)")
      }
    }
  }
}

@Suite("Canonical order") struct CanonicalOrderTests {
  static let rows: [(list: String, isCanonical: Bool)] = [
    ("", true), ("a", true), ("!a b", true), ("!a b !c:i d:i", true), ("!a !b c d !e:i !f:i g:i", true),
    ("a !b", false), ("a:i b", false), ("!a:i !b", false), ("a:i !b:i", false), ("!a b c:i d", false),
  ]

  @Test(arguments: rows) func check(_ row: (list: String, isCanonical: Bool)) throws {
    #expect(try Shorthand.list(row.list).isCanonical() == row.isCanonical)
  }

  @Test("An audit entry cannot be ordered") func audit() {
    let list = AccessList([Shorthand.entry("a"), AccessEntry(.audit, .everyone, .read)])
    #expect(throws: NoCanonicalPosition(entry: 1)) { try list.isCanonical() }
    #expect(list.canonicallySorted() == list)
  }

  @Test("Sorting keeps the order inside a class") func sorts() {
    let list = Shorthand.list("d:i a !b:i c !e !f:i g:i !h")
    #expect(Shorthand.text(list.canonicallySorted()) == "!e !h a c !b:i !f:i d:i g:i")
  }

  @Test("Sorting gives a canonical list of the same entries", arguments: [51] as [UInt64])
  func sortsAnything(seed: UInt64) throws {
    var generator = Dice(seed: seed)
    for _ in 0..<500 {
      let list = AccessList(
        (0..<Int.random(in: 0...10, using: &generator)).map { _ in
          .random(rights: .read, inheritance: .inherited, using: &generator)
        }, flags: .deferInherit)
      let sorted = list.canonicallySorted()
      #expect(try sorted.isCanonical(), "seed \(seed)")
      #expect(sorted.flags == list.flags)
      #expect(Set(sorted.entries) == Set(list.entries) && sorted.entries.count == list.entries.count)
      #expect(sorted.canonicallySorted() == sorted)
    }
  }
}
