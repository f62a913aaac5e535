// What people type, and what they are told when it means nothing.

import AccessControl
import Testing

@Suite("Reading an entry") struct EntryReadingTests {
  struct Row: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let text: String
    let entry: AccessEntry

    init(
      _ sentence: String, _ text: String, _ kind: AccessEntry.Kind, _ identity: Identity, _ rights: Rights,
      _ inheritance: AccessEntry.Inheritance = []
    ) {
      testDescription = sentence
      self.text = text
      entry = AccessEntry(kind, identity, rights, inheritance)
    }
  }

  static let rows = [
    Row("a user by prefix", "user:ann allow read", .allow, .user(1), .read),
    Row("a group by prefix", "group:staff deny write", .deny, .group(1), .write),
    Row("without a prefix a user comes first", "both allow read", .allow, .user(4), .read),
    Row("without a prefix a group comes second", "staff allow read", .allow, .group(1), .read),
    Row(
      "a prefix decides between a user and a group of one name", "group:both allow read", .allow, .group(3),
      .read),
    Row("a number is a user", "1000 allow read", .allow, .user(1000), .read),
    Row("a number with a prefix is never a name", "user:1000 allow read", .allow, .user(1000), .read),
    Row("a number may be a group", "group:12 allow read", .allow, .group(12), .read),
    Row("the largest number", "group:4294967295 allow read", .allow, .group(.max), .read),
    Row("everyone, alone", "everyone deny delete", .deny, .everyone, .delete),
    Row("everyone, as ls prints it", "group:everyone deny delete", .deny, .everyone, .delete),
    Row("everyone, as NFSv4 writes it", "everyone@ deny delete", .deny, .everyone, .delete),
    Row("a user who is called everyone", "user:everyone deny delete", .deny, .user(7), .delete),
    Row("the owner", "owner@ allow read", .allow, .owner, .read),
    Row("the owning group", "group@ allow read", .allow, .owningGroup, .read),
    Row("nobody", "nobody@ allow read", .allow, .nobody, .read),
    Row("the account nobody is a user", "nobody allow read", .allow, .user(65534), .read),
    Row("a name with a domain", "user:jo@corp allow read", .allow, .user(8), .read),
    Row("a colon ends a name with blanks", "ann smith:allow:read", .allow, .user(3), .read),
    Row("a colon after the prefix and after the name", "user:ann smith:allow:read", .allow, .user(3), .read),
    Row("blanks after the colon", "user:ann smith: allow read", .allow, .user(3), .read),
    Row("a group with blanks", "group:domain users:deny write", .deny, .group(4), .write),
    Row("a colon after a plain name", "ann:allow:read,write", .allow, .user(1), [.read, .write]),
    Row("a special identity with colons", "owner@:deny:read", .deny, .owner, .read),
    Row("inherited after the name", "user:ann inherited allow read", .allow, .user(1), .read, .inherited),
    Row(
      "inherited after a colon", "user:ann smith:inherited:allow:read", .allow, .user(3), .read, .inherited),
    Row("inherited in the list", "user:ann allow read,inherited", .allow, .user(1), .read, .inherited),
    Row(
      "inherited twice is inherited", "ann inherited allow inherited,read", .allow, .user(1), .read,
      .inherited),
    Row("a word of inheritance is enough", "ann allow file_inherit", .allow, .user(1), [], .fileInherit),
    Row("none says that there is nothing", "ann allow none", .allow, .user(1), []),
    Row("blanks around commas", "ann allow read , write", .allow, .user(1), [.read, .write]),
    Row("blanks and tabs around everything", " \tann\t allow \tread\r", .allow, .user(1), .read),
    Row("a right named twice counts once", "ann allow read,list", .allow, .user(1), .read),
    Row("full is the thirteen rights", "ann allow full", .allow, .user(1), Rights(rawValue: 0x3FFE)),
    Row(
      "modify leaves out the rights over the object itself", "ann allow modify", .allow, .user(1),
      Rights(rawValue: 0x3FFE).subtracting([.deleteChild, .writeSecurity, .takeOwnership])),
    Row(
      "readonly reads and passes through", "ann allow readonly", .allow, .user(1),
      [.read, .execute, .readAttributes, .readExtended, .readSecurity]),
    Row(
      "a shorthand and more", "ann allow readonly,write,file_inherit", .allow, .user(1),
      [.read, .execute, .readAttributes, .readExtended, .readSecurity, .write], .fileInherit),
    Row(
      "all four words of inheritance",
      "ann allow read,file_inherit,directory_inherit,limit_inherit,only_inherit",
      .allow, .user(1), .read, .propagation),
  ]

  @Test(arguments: rows) func reads(_ row: Row) throws {
    #expect(try AccessListText.readEntry(row.text, names: .testing) == row.entry)
  }

  @Test("Both spellings of every right are read, whatever the object") func readsBothSpellings() throws {
    let pairs: [(String, String, Rights)] = [
      ("read", "list", .read), ("write", "add_file", .write), ("execute", "search", .execute),
      ("delete", "delete", .delete), ("append", "add_subdirectory", .append),
      ("delete_child", "delete_child", .deleteChild), ("readattr", "readattr", .readAttributes),
      ("writeattr", "writeattr", .writeAttributes), ("readextattr", "readextattr", .readExtended),
      ("writeextattr", "writeextattr", .writeExtended), ("readsecurity", "readsecurity", .readSecurity),
      ("writesecurity", "writesecurity", .writeSecurity), ("chown", "chown", .takeOwnership),
      ("synchronize", "synchronize", .synchronize), ("generic_all", "generic_all", .genericAll),
      ("generic_execute", "generic_execute", .genericExecute),
      ("generic_write", "generic_write", .genericWrite), ("generic_read", "generic_read", .genericRead),
    ]
    for (onFile, onDirectory, right) in pairs {
      #expect(try AccessListText.readEntry("ann deny \(onFile)", names: .testing).rights == right)
      #expect(try AccessListText.readEntry("ann deny \(onDirectory)", names: .testing).rights == right)
    }
  }

  struct Refusal: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let text: String
    let failure: ParseFailure

    init(_ sentence: String, _ text: String, _ problem: ParseFailure.Problem, _ word: String = "") {
      testDescription = sentence
      self.text = text
      failure = ParseFailure(problem, word)
    }
  }

  static let refusals = [
    Refusal("nothing", "", .emptyEntry),
    Refusal("blanks only", " \t ", .emptyEntry),
    Refusal("a prefix without a name", "user: allow read", .missingName),
    Refusal("a colon without a name", ":allow:read", .missingName),
    Refusal("an unknown user", "user:staff allow read", .unknownUser, "staff"),
    Refusal("an unknown group", "group:ann allow read", .unknownGroup, "ann"),
    Refusal("a name nobody has", "zed allow read", .unknownName, "zed"),
    Refusal("a number of more than 32 bits", "4294967296 allow read", .numberTooLarge, "4294967296"),
    Refusal(
      "a number of very many digits", "99999999999999999999999 deny read", .numberTooLarge,
      "99999999999999999999999"),
    Refusal("a negative number is a name", "-1 allow read", .unknownName, "-1"),
    Refusal("a special identity behind the wrong prefix", "user:owner@ allow read", .unknownUser, "owner@"),
    Refusal("a name alone", "ann", .missingVerb),
    Refusal("inherited alone", "ann inherited", .missingVerb),
    Refusal("a name with blanks and no colon", "user:ann smith allow read", .unknownVerb, "smith"),
    Refusal("a word that is no verb", "ann permit read", .unknownVerb, "permit"),
    Refusal("capital letters", "ann Allow read", .unknownVerb, "Allow"),
    Refusal("audit is not typed", "ann audit read", .unknownVerb, "audit"),
    Refusal("no words", "ann allow", .missingWords),
    Refusal("nothing between two commas", "ann allow read,,write", .emptyWord, "read,,write"),
    Refusal("a comma at the end", "ann allow read , ", .emptyWord, "read ,"),
    Refusal("a comma at the beginning", "ann allow ,read", .emptyWord, ",read"),
    Refusal("commas only", "ann allow ,,", .emptyWord, ",,"),
    Refusal("an unknown word", "ann allow read,fly", .unknownWord, "fly"),
    Refusal("words without commas", "ann allow read write", .unknownWord, "read write"),
    Refusal(
      "a blank with an accent is part of the name", "ann \u{301}allow read", .unknownVerb, "\u{301}allow"),
  ]

  @Test(arguments: refusals) func refuses(_ row: Refusal) {
    #expect(throws: row.failure) { try AccessListText.readEntry(row.text, names: .testing) }
    #expect(!row.failure.description.contains("\n"))
  }

  @Test("A failure says where, which word and what was expected") func failureIsOneLine() {
    var failure = ParseFailure(.unknownVerb, "permit", line: 3)
    #expect(failure.description == "line 3: expected 'allow' or 'deny', found 'permit'")
    failure = ParseFailure(.unknownName, "zed")
    #expect(failure.description == "'zed' is neither a user nor a group; a number will do, such as user:1001")
  }

  @Test("An identity alone can be read") func readsIdentity() throws {
    #expect(try AccessListText.readIdentity(" group:domain users ", names: .testing) == .group(4))
    #expect(try AccessListText.readIdentity("everyone", names: .numeric) == .everyone)
    #expect(throws: ParseFailure(.unknownUser, "ann")) {
      try AccessListText.readIdentity("user:ann", names: .numeric)
    }
  }
}
