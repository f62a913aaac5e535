import AccessControl
import AccessForms
import Testing

@Suite("Looking a list over") struct ListReviewTests {
  struct Row: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let text: String
    let kind: ObjectKind
    let mode: UInt16
    let findings: [String]

    init(
      _ description: String, _ text: String, on kind: ObjectKind = .file, mode: UInt16 = 0o644,
      _ findings: [String]
    ) {
      testDescription = description
      self.text = text
      self.kind = kind
      self.mode = mode
      self.findings = findings
    }
  }

  static let rows = [
    Row("nothing odd", "user:0 deny write\nuser:0 allow read\ngroup:0 allow read", []),
    Row("out of order", "user:0 allow read\nuser:0 deny write", ["order"]),
    Row("inherited before explicit", "user:0 inherited allow read\nuser:1 allow read", ["order"]),
    Row("audit has no place", "everyone audit read", ["undeciding 0"]),
    Row("twice the same", "user:0 allow read\nuser:0 allow read", ["redundant 1"]),
    Row(
      "allowed by two before", "user:0 allow read\neveryone allow write\nuser:0 allow read,write",
      ["redundant 2"]),
    Row("denied for everyone before", "everyone deny read\nuser:0 allow read", ["shadowed 1"]),
    Row("denied in part leaves something", "everyone deny read\nuser:0 allow read,write", []),
    Row("another user's entry hides nothing", "user:1 deny read\nuser:0 allow read", []),
    Row(
      "nor one that is for what is made here",
      "everyone deny list,only_inherit,file_inherit,directory_inherit\nuser:0 allow list",
      on: .directory, mode: 0o755, []),
    Row(
      "nor is one redundant that reaches further",
      "user:0 allow list\nuser:0 allow list,file_inherit,directory_inherit",
      on: .directory, mode: 0o755, []),
    Row("denied after being allowed", "user:0 allow read\nuser:0 deny read", ["order", "shadowed 1"]),
    Row(
      "numbers without accounts", "user:5 allow read\ngroup:5 allow read",
      ["unknown-account 0", "unknown-account 1"]),
    Row("inheritance on a file", "user:0 allow read,file_inherit", ["inheritance 0"]),
    Row(
      "only_inherit without a target", "user:0 allow list,only_inherit", on: .directory, mode: 0o755,
      ["inheritance 0"]),
    Row(
      "limit_inherit without a target", "user:0 allow list,limit_inherit", on: .directory, mode: 0o755,
      ["inheritance 0"]),
    Row(
      "files only, at one level", "user:0 allow list,only_inherit,file_inherit", on: .directory, mode: 0o755,
      ["inheritance 0"]),
    Row("nobody", "nobody@ allow read", ["ineffective 0"]),
    Row("the owner's last right", "owner@ deny writesecurity", ["ineffective 0"]),
    Row("no way in", "user:0 allow list", on: .directory, mode: 0o700, ["mode 0"]),
    Row(
      "a way in by another entry", "user:0 allow list\neveryone allow search", on: .directory, mode: 0o700, []
    ),
    Row("everybody may write anyway", "user:0 allow write", mode: 0o666, ["mode"]),
    Row("everybody may add and see", "user:0 allow list", on: .directory, mode: 0o777, ["mode"]),
    Row("a drop box", "user:0 allow list", on: .directory, mode: 0o733, []),
    Row("a set-id program others may change", "user:0 allow write", mode: 0o4755, ["mode"]),
    Row("no program", "user:0 allow execute", ["mode 0"]),
  ]

  @Test(arguments: rows) func finds(_ row: Row) throws {
    let names = NameBook(users: ["root": 0, "one": 1], groups: ["root": 0])
    let list = try AccessListText.readList(row.text, names: names)
    let findings = ListReview(list, on: row.kind, mode: row.mode, names: names).findings
    #expect(
      findings.map { $0.kind.rawValue + ($0.entry.map { " \($0)" } ?? "") } == row.findings,
      "\(findings.map(\.text))")
  }

  /// What is called redundant or never to count can be taken out without changing any decision.
  @Test func whatIsReportedDecidesNothing() {
    var dice = 1
    func next(_ limit: Int) -> Int {
      dice = (dice &* 6_364_136_223_846_793_005) &+ 1_442_695_040_888_963_407
      return Int(UInt(bitPattern: dice) >> 33) % limit
    }
    let identities: [Identity] = [.user(1), .user(2), .everyone, .owner, .nobody]
    let rights: [Rights] = [.read, .write, [.read, .write], .execute, [.read, .execute]]
    var reported = 0
    for _ in 0..<3_000 {
      let entries = (0..<(1 + next(6))).map { _ in
        AccessEntry(next(2) == 0 ? .allow : .deny, identities[next(5)], rights[next(5)])
      }
      let list = AccessList(entries)
      let findings = ListReview(list, on: .file, mode: 0o644, names: .numeric).findings
      for finding in findings where finding.kind == .redundant || (finding.kind == .shadowed) {
        guard let entry = finding.entry else { continue }
        // A deny behind a permit still refuses requests for several rights, and says so.
        if finding.kind == .shadowed, list.entries[entry].kind == .deny { continue }
        reported += 1
        var without = list
        without.entries.remove(at: entry)
        for user: UInt32 in [1, 2, 3] {
          for asked in rights {
            let subject = Subject(user: user, group: 9, groups: .listed([]), capabilities: nil)
            let standing = Standing(
              subject: subject, isOwner: user == 2 ? .member : .notMember, isInOwningGroup: .member)
            #expect(
              list.scan(for: asked, by: standing).decision == without.scan(for: asked, by: standing).decision,
              "\(AccessListText.print(list, for: .file, names: .numeric))")
          }
        }
      }
    }
    #expect(reported > 500)
  }
}

extension ScanResult {
  /// What is decided, whichever entry it was.
  fileprivate var decision: String {
    switch outcome {
    case .allowed: "allowed"
    case .denied: "denied"
    case .deferred: "deferred \(left.rawValue)"
    }
  }
}
