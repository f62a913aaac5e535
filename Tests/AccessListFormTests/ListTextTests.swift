// Whole lists, and the way from print to read and back.

import AccessControl
import Randomness
import Testing

@Suite("Printing and reading lists") struct ListTextTests {
  struct Row: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let entry: AccessEntry
    let onFile: String
    let onDirectory: String

    init(_ sentence: String, _ entry: AccessEntry, file: String, directory: String) {
      testDescription = sentence
      self.entry = entry
      onFile = file
      onDirectory = directory
    }
  }

  static let rows = [
    Row(
      "each right in the word of the object, in bit order",
      AccessEntry(.allow, .user(1), [.append, .execute, .write, .read]),
      file: "user:ann allow read,write,execute,append",
      directory: "user:ann allow list,add_file,search,add_subdirectory"),
    Row(
      "all thirteen rights; delete_child is left out on files",
      AccessEntry(.deny, .group(1), Rights(rawValue: 0x3FFE)),
      file: "group:staff deny read,write,execute,delete,append,readattr,writeattr,readextattr,writeextattr,"
        + "readsecurity,writesecurity,chown",
      directory: "group:staff deny list,add_file,search,delete,add_subdirectory,delete_child,readattr,"
        + "writeattr,readextattr,writeextattr,readsecurity,writesecurity,chown"),
    Row(
      "inherited stands after the name",
      AccessEntry(.allow, .group(1), [.read, .execute], .inherited),
      file: "group:staff inherited allow read,execute", directory: "group:staff inherited allow list,search"),
    Row(
      "of inheritance a file shows limit_inherit only",
      AccessEntry(.allow, .everyone, .read, .propagation),
      file: "group:everyone allow read,limit_inherit",
      directory: "group:everyone allow list,file_inherit,directory_inherit,limit_inherit,only_inherit"),
    Row(
      "an entry that says nothing about a file says what it holds",
      AccessEntry(.deny, .user(2), .deleteChild, .fileInherit),
      file: "user:bob deny delete_child,file_inherit", directory: "user:bob deny delete_child,file_inherit"),
    Row(
      "an entry without anything", AccessEntry(.allow, .owner, []),
      file: "owner@ allow none", directory: "owner@ allow none"),
    Row(
      "generic rights are never hidden", AccessEntry(.allow, .owningGroup, [.read, .genericWrite]),
      file: "group@ allow read,generic_write", directory: "group@ allow list,generic_write"),
    Row(
      "synchronize means nothing to a reader", AccessEntry(.allow, .nobody, [.read, .synchronize]),
      file: "nobody@ allow read", directory: "nobody@ allow list"),
    Row(
      "a name with blanks ends at a colon", AccessEntry(.allow, .user(3), .read, .inherited),
      file: "user:ann smith:inherited allow read", directory: "user:ann smith:inherited allow list"),
    Row(
      "a name of digits is printed as the number", AccessEntry(.allow, .user(5), .read),
      file: "user:5 allow read", directory: "user:5 allow list"),
    Row(
      "a name with a colon is printed as the number", AccessEntry(.allow, .user(6), .read),
      file: "user:6 allow read", directory: "user:6 allow list"),
    Row(
      "a real group everyone is not everyone", AccessEntry(.allow, .group(2), .read),
      file: "group:2 allow read", directory: "group:2 allow list"),
    Row(
      "a name with a tab is printed as the number", AccessEntry(.allow, .group(13), .read),
      file: "group:13 allow read", directory: "group:13 allow list"),
    Row(
      "a name with a blank at its edge is printed as the number", AccessEntry(.allow, .group(14), .read),
      file: "group:14 allow read", directory: "group:14 allow list"),
    Row(
      "an id without an account is a number", AccessEntry(.allow, .user(4_294_967_295), .read),
      file: "user:4294967295 allow read", directory: "user:4294967295 allow list"),
    Row(
      "audit shows what is audited", AccessEntry(.audit, .user(1), .read, [.auditSuccess, .auditFailure]),
      file: "user:ann audit read,audit_success,audit_failure",
      directory: "user:ann audit list,audit_success,audit_failure"),
  ]

  @Test(arguments: rows) func prints(_ row: Row) throws {
    #expect(AccessListText.print(row.entry, for: .file, names: .testing) == row.onFile)
    #expect(AccessListText.print(row.entry, for: .directory, names: .testing) == row.onDirectory)
    // What is printed can be read.
    for line in [row.onFile, row.onDirectory] {
      let entry = try AccessListText.readList(line, names: .testing).entries.first
      #expect(entry?.identity == row.entry.identity && entry?.kind == row.entry.kind)
    }
  }

  @Test("The example of ls -le") func example() throws {
    let text = """
       0: user:bob deny delete_child
       1: group:staff allow list,add_file,search,add_subdirectory,readattr,file_inherit,directory_inherit
       2: group:staff inherited allow list,search
      """
    let list = try AccessListText.readList(text, names: .testing)
    #expect(
      list.entries == [
        AccessEntry(.deny, .user(2), .deleteChild),
        AccessEntry(
          .allow, .group(1), [.list, .addFile, .search, .addSubdirectory, .readAttributes],
          [.fileInherit, .directoryInherit]),
        AccessEntry(.allow, .group(1), [.list, .search], .inherited),
      ])
    let printed = AccessListText.lines(list, for: .directory, names: .testing)
    #expect(printed.enumerated().map { " \($0.offset): \($0.element)" }.joined(separator: "\n") == text)
    #expect(
      AccessListText.print(list, for: .directory, names: .testing, numeric: true)
        == """
        user:2 deny delete_child
        group:1 allow list,add_file,search,add_subdirectory,readattr,file_inherit,directory_inherit
        group:1 inherited allow list,search

        """)
  }

  @Test("Comments, empty lines, CRLF and numbers are passed over") func skips() throws {
    let text =
      "# file: x\r\n\r\n 0: ann allow read\r\n   # more\r\n12:\tbob deny write\r\n1000:allow:read\r\n"
    let list = try AccessListText.readList(text, names: .testing)
    #expect(
      list.entries == [
        AccessEntry(.allow, .user(1), .read), AccessEntry(.deny, .user(2), .write),
        AccessEntry(.allow, .user(1000), .read),
      ])
    #expect(try AccessListText.readList("", names: .testing) == AccessList())
    #expect(try AccessListText.readList("\n# nothing\n", names: .testing) == AccessList())
  }

  @Test("A failure names its line") func failureNamesLine() {
    #expect(throws: ParseFailure(.unknownName, "zed", line: 3)) {
      try AccessListText.readList("ann allow read\n\nzed allow read\n", names: .testing)
    }
    #expect(throws: ParseFailure(.missingWords, line: 1)) {
      try AccessListText.readList("ann deny", names: .testing)
    }
  }

  @Test("More than 128 entries are refused at the line that is too much") func limit() throws {
    let full = String(repeating: "ann allow read\n", count: 128)
    #expect(try AccessListText.readList(full, names: .testing).entries.count == 128)
    #expect(throws: ParseFailure(.tooManyEntries, line: 129)) {
      try AccessListText.readList(full + "ann allow read\n", names: .testing)
    }
  }

  @Test("List flags stand on the first line and come back") func listFlags() throws {
    let list = AccessList(
      [AccessEntry(.allow, .user(1), .read)],
      flags: [.noInherit, .deferInherit, AccessList.Flags(rawValue: 0x81)])
    let text = AccessListText.print(list, for: .file, names: .testing)
    #expect(text == "!#acl 1 defer_inherit,no_inherit,0x81\nuser:ann allow read\n")
    #expect(try AccessListText.readList(text, names: .testing) == list)
    #expect(try AccessListText.readList("!#acl 1\n", names: .testing) == AccessList())
    for wrong in ["!#acl 2", "!#acl 12 no_inherit", "!#acl 1 fly", "!", "ann allow read\n!#acl 1"] {
      #expect(throws: ParseFailure.self) { try AccessListText.readList(wrong, names: .testing) }
    }
  }

  @Test("Bytes that are not UTF-8 are refused") func bytes() throws {
    #expect(throws: ParseFailure(.notText)) {
      try AccessListText.readList(bytes: [0x61, 0xFF, 0x20], names: .testing)
    }
    #expect(
      try AccessListText.readList(bytes: Array("ann allow read".utf8), names: .testing)
        == AccessList([AccessEntry(.allow, .user(1), .read)]))
  }

  @Test("Random lists survive print and read", arguments: [1, 2] as [UInt64])
  func roundTrips(seed: UInt64) throws {
    var generator = Dice(seed: seed)
    for round in 0..<100 {
      let list = AccessList(
        (0..<Int.random(in: 0...8, using: &generator)).map { _ in
          .random(
            rights: .storable, inheritance: .all, kinds: [.allow, .deny, .audit, .alarm], using: &generator)
        },
        flags: AccessList.Flags(rawValue: .random(in: 0...UInt32.max, using: &generator)))
      for kind in [ObjectKind.file, .directory] {
        for numeric in [false, true] {
          let text = AccessListText.print(
            list, for: kind, names: .testing, numeric: numeric, detail: .complete)
          #expect(
            try AccessListText.readList(text, names: .testing) == list,
            "seed \(seed), round \(round): \(text)")
          // The listing may leave words out, yet it can be read, and printing it again changes nothing.
          let listing = AccessListText.print(list, for: kind, names: .testing, numeric: numeric)
          let reread = try AccessListText.readList(listing, names: .testing)
          #expect(reread.entries.map(\.identity) == list.entries.map(\.identity))
          #expect(
            AccessListText.print(reread, for: kind, names: .testing, numeric: numeric) == listing,
            "seed \(seed), round \(round)")
        }
      }
    }
  }

  @Test("A listing on a directory keeps all that a list of macOS can hold", arguments: [7] as [UInt64])
  func listingKeepsRights(seed: UInt64) throws {
    var generator = Dice(seed: seed)
    for round in 0..<100 {
      let list = AccessList([
        .random(
          rights: Rights(rawValue: 0x3FFE),
          inheritance: AccessEntry.Inheritance.propagation.union(.inherited),
          using: &generator)
      ])
      let text = AccessListText.print(list, for: .directory, names: .testing)
      #expect(
        try AccessListText.readList(text, names: .testing) == list, "seed \(seed), round \(round): \(text)")
    }
  }

  @Test("No text stops the reader", arguments: [11] as [UInt64]) func fuzz(seed: UInt64) {
    let sound = Array(
      "!#acl 1 no_inherit,0x3\n 0: user:ann smith:inherited allow read,list\n# x\ngroup:12 deny full\n".utf8)
    var generator = Dice(seed: seed)
    for length in 0...sound.count {
      _ = try? AccessListText.readList(bytes: Array(sound[..<length]), names: .testing)
    }
    for index in sound.indices {
      for byte in UInt8.min...UInt8.max {
        var changed = sound
        changed[index] = byte
        _ = try? AccessListText.readList(bytes: changed, names: .testing)
      }
    }
    let alphabet: [String] = [
      "user:", "group:", ":", " ", "\t", ",", "\n", "ann", "1", "allow", "inherited", "!#acl 1", "0x",
      "\u{301}", "é", "\r",
    ]
    for _ in 0..<3_000 {
      let text = (0..<Int.random(in: 0...12, using: &generator)).map { _ in
        alphabet.randomElement(using: &generator) ?? ""
      }.joined()
      _ = try? AccessListText.readList(text, names: .testing)
      _ = try? AccessListText.readEntry(text, names: .testing)
    }
  }
}
