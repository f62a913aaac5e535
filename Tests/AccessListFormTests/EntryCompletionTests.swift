import AccessControl
import Testing

@Suite("Completing an entry") struct EntryCompletionTests {
  private let completion = EntryCompletion(
    (users: ["ann", "bob", "bobby", "two words"], groups: ["audio", "bob"]))

  static let rows: [(String, [String])] = [
    ("", ["everyone", "group:", "group@", "nobody@", "owner@", "user:"]),
    ("u", ["user:"]),
    ("g", ["group:", "group@"]),
    ("user:", ["user:ann", "user:bob", "user:bobby"]),
    ("user:a", ["user:ann allow", "user:ann deny"]),
    ("user:bob", ["user:bob", "user:bobby"]),
    ("group:a", ["group:audio allow", "group:audio deny"]),
    ("group:e", ["group:everyone allow", "group:everyone deny"]),
    ("bo", ["bob", "bobby"]),
    ("ann ", ["ann allow", "ann deny"]),
    ("ann inherited ", ["ann inherited allow", "ann inherited deny"]),
    ("ann x", []),
    ("ann allow del", ["ann allow delete", "ann allow delete_child"]),
    ("ann deny delete,sea", ["ann deny delete,search", "ann deny delete,search,"]),
    ("ann deny delete,delete", ["ann deny delete,delete_child", "ann deny delete,delete_child,"]),
    ("ann inherited allow chow", ["ann inherited allow chown", "ann inherited allow chown,"]),
    ("ann allow read and", []),
    ("nobody known", []),
  ]

  @Test("What may follow is offered, and a word that is not the end never alone", arguments: rows)
  func offers(typed: String, offered: [String]) {
    #expect(completion.entries(typed) == offered)
  }

  @Test("Every word that is offered can be read") func isRead() throws {
    let offered = completion.entries("ann allow ")
    #expect(offered.count > 20)
    let book = NameBook(user: { _ in 1 }, group: { _ in 2 }, userName: { _ in nil }, groupName: { _ in nil })
    for text in offered { _ = try AccessListText.readEntry(text, names: book) }
  }

  @Test("Whom an entry is about is offered without the rest") func identities() {
    #expect(completion.identities("user:a") == ["user:ann"])
    #expect(completion.identities("every") == ["everyone"])
  }
}
