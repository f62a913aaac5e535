import AccessControl
import AccessForms
import JSONForm
import Randomness
import Testing

@Suite("Lists in four notations") struct ListFormatTests {
  static let book = NameBook(users: ["ann": 1001, "mary ann": 1002], groups: ["staff": 50])
  static let list = AccessList([
    AccessEntry(.deny, .user(1001), [.write, .append]),
    AccessEntry(.allow, .group(50), [.list, .search], [.fileInherit, .directoryInherit, .inherited]),
    AccessEntry(.allow, .owner, [.read, .synchronize], [.limitInherit]),
    AccessEntry(.allow, .user(1002), .delete),
  ])

  static let goldens: [(ListFormat, [String])] = [
    (
      .nfs4,
      ["D::ann:wa", "A:fdIg:staff:rx", "A:n:OWNER@:ry", "A::1002:d"]
    ),
    (
      .zfs,
      [
        "user:ann:-w-p----------:-------:deny", "group:staff:r-x-----------:fd----I:allow",
        "owner@:r------------s:---n---:allow", "user:1002:-----d--------:-------:allow",
      ]
    ),
  ]

  @Test(arguments: goldens) func isPrintedSo(_ format: ListFormat, _ lines: [String]) {
    #expect(
      format.lines(ListFormatTests.list, for: .directory, names: ListFormatTests.book, numeric: false)
        == lines)
  }

  @Test func jsonIsPrintedSo() {
    let list = AccessList([AccessEntry(.allow, .user(1001), [.read], [.inherited])])
    #expect(
      ListFormat.json(list, for: .file, names: ListFormatTests.book).text
        == #"[{"who": "user:ann", "id": 1001, "type": "allow", "inherited": true, "rights": ["read"], "inheritance": []}]"#
    )
  }

  @Test(arguments: ListFormat.allCases) func anyListComesBack(_ format: ListFormat) throws {
    var dice = Dice(for: "formats")
    for _ in 0..<400 {
      var list = AccessList()
      for _ in 0..<dice.below(8) {
        // The letters have no word for the generic bits of macOS.
        let entry = AccessEntry.random(rights: .specific, inheritance: .all, using: &dice)
        // This number is nobody's, and refused.
        if entry.identity != .user(.max), entry.identity != .group(.max) { list.entries.append(entry) }
      }
      let kind: ObjectKind = dice.once(in: 2) ? .file : .directory
      let text = format.lines(list, for: kind, names: .numeric, numeric: true).joined(separator: "\n")
      #expect(try format.list(Array(text.utf8), names: .numeric) == list, "\(format): \(text)")
    }
  }

  static let wrong: [(ListFormat, String, String)] = [
    (.nfs4, "A::1001", "TYPE:FLAGS:WHO:RIGHTS was expected: 'A::1001'"),
    (.nfs4, "X::1001:r", "'X' is not a type: A, D, U and L are"),
    (.nfs4, "A:q:1001:r", "'q' is not a flag of an NFSv4 entry"),
    (.nfs4, "A::1001:q", "'q' is not a right of an NFSv4 entry"),
    (.nfs4, "A::bob:r", "no user is called 'bob'; a number will do, such as user:1001"),
    (.nfs4, "A::4294967295:r", "4294967295 cannot be the number of an account"),
    (.zfs, "user:1:r:allow", "'r' is not an inheritance flag of a ZFS entry"),
    (.zfs, "user:1:r:f:permit", "'permit' is not a type: allow, deny, audit and alarm are"),
    (.json, "[]]", "this is not JSON"),
    (.json, "{}", "an entry needs 'who' and 'type'"),
    (
      .json, #"{"who": "user:1", "type": "allow", "rights": ["fly"]}"#,
      "'fly' is not a right and not an inheritance word; varve-acl(7) lists both"
    ),
  ]

  @Test(arguments: wrong) func mistakesAreNamed(_ format: ListFormat, _ text: String, _ message: String) {
    let failure = #expect(throws: FormatFailure.self) {
      try format.entry(text, names: ListFormatTests.book)
    }
    #expect(failure?.description == message)
  }
}
