import JSONForm
import Testing
import TextForms

@Suite("The long form of ls") struct LongListingTests {
  static func item(_ name: String, _ change: (inout ListedItem) -> Void = { _ in }) -> ListedItem {
    var item = ListedItem(name: Array(name.utf8))
    item.mode = 0o100644
    item.links = 1
    item.owner = "alice"
    item.group = "staff"
    item.size = "7"
    item.date = "Jan  2 03:04"
    change(&item)
    return item
  }

  static let shared = item("shared") { item in
    item.mode = 0o040750
    item.links = 15
    item.size = "160"
    item.blocks = 8
    item.entries = ["user:bob deny delete_child", "group:staff inherited allow list,search"]
  }

  private func text(_ items: [ListedItem], _ change: (inout LongListing) -> Void = { _ in }) -> String {
    var listing = LongListing()
    change(&listing)
    return String(decoding: listing.lines(items), as: UTF8.self)
  }

  @Test func alignsColumns() {
    let short = LongListingTests.item("a") { $0.owner = "bo" }
    #expect(
      text([LongListingTests.shared, short]) == """
        drwxr-x---+ 15 alice  staff  160 Jan  2 03:04 shared
        -rw-r--r--   1 bo     staff    7 Jan  2 03:04 a

        """)
  }

  @Test func numbersEntriesFromZero() {
    #expect(
      text([LongListingTests.shared]) { $0.showsEntries = true } == """
        drwxr-x---+ 15 alice  staff  160 Jan  2 03:04 shared
         0: user:bob deny delete_child
         1: group:staff inherited allow list,search

        """)
  }

  @Test func attributesHideTheMarkOfAListAndComeBeforeIt() {
    var item = LongListingTests.shared
    item.attributes = [ListedItem.Attribute(name: Array("user.note".utf8), size: 12)]
    let lines = text([item]) { listing in
      listing.showsAttributes = true
      listing.showsEntries = true
    }
    #expect(
      lines == """
        drwxr-x---@ 15 alice  staff  160 Jan  2 03:04 shared
        \tuser.note\t12
         0: user:bob deny delete_child
         1: group:staff inherited allow list,search

        """)
  }

  @Test func flagsHaveAColumnAsWideAsTheWidest() {
    let locked = LongListingTests.item("b") { $0.flags = "uchg,hidden" }
    #expect(
      text([LongListingTests.item("a"), locked]) { $0.showsFlags = true } == """
        -rw-r--r--  1 alice  staff  -           7 Jan  2 03:04 a
        -rw-r--r--  1 alice  staff  uchg,hidden 7 Jan  2 03:04 b

        """)
  }

  @Test func linksShowWhereTheyLead() {
    let link = LongListingTests.item("l") { item in
      item.mode = 0o120777
      item.linkTarget = Array("../t".utf8)
    }
    #expect(text([link]) == "lrwxrwxrwx  1 alice  staff  7 Jan  2 03:04 l -> ../t\n")
  }

  @Test func namesStayAsTheyAreExceptOnATerminal() {
    var listing = LongListing()
    let name: [UInt8] = [0x61, 0x1B, 0x5B, 0xFF, 0x0A]
    #expect(listing.shown(name) == name)
    listing.isForTerminal = true
    #expect(listing.shown(name) == [0x61, 0x3F, 0x5B, 0xFF, 0x3F])
  }

  @Test func theTotalCountsBlocks() {
    #expect(LongListing().total([LongListingTests.shared, LongListingTests.shared]) == "total 16\n")
    #expect(LongListing().total([]) == "total 0\n")
  }
}

@Suite("Dates and sizes") struct DateAndSizeTests {
  static let moment = LocalTime(year: 2023, month: 1, day: 2, hour: 3, minute: 4, second: 5)

  @Test func dates() {
    #expect(DateAndSizeTests.moment.listed(isRecent: true) == "Jan  2 03:04")
    #expect(DateAndSizeTests.moment.listed(isRecent: false) == "Jan  2  2023")
    #expect(DateAndSizeTests.moment.complete == "Jan  2 03:04:05 2023")
    var late = DateAndSizeTests.moment
    late.day = 31
    late.month = 13
    #expect(late.listed(isRecent: true) == "??? 31 03:04")
  }

  static let halfYear: Int64 = 182 * 86400
  static let moments: [(Int64, Bool)] = [
    (0, true), (halfYear - 1, true), (halfYear, false), (-halfYear + 1, true), (-halfYear, false),
  ]

  @Test(arguments: moments) func recent(_ offset: Int64, _ expected: Bool) {
    #expect(isRecent(1_700_000_000 + offset, now: 1_700_000_000) == expected)
  }

  static let sizes: [(UInt64, String)] = [
    (0, "0B"), (999, "999B"), (1000, "1.0K"), (1024, "1.0K"), (1536, "1.5K"), (10240, "10K"),
    (1_048_576, "1.0M"),
    (999 << 10, "999K"), (1000 << 10, "1.0M"), (5 << 30, "5.0G"), (.max, "16E"),
  ]

  @Test(arguments: sizes) func sizesForPeople(_ bytes: UInt64, _ text: String) {
    #expect(sizeText(bytes) == text)
  }
}

@Suite("JSON") struct JSONTests {
  static let texts = [
    "null", "true", "false", "0", "-1.5e3", "18446744073709551615", #""""#, #""a\"b\\c\nd""#, "[]", "{}",
    #"[1, [2, {"a": null}]]"#, #"{"name": "été", "n": 1, "list": [true]}"#,
  ]

  @Test(arguments: texts) func isReadAndPrintedAlike(_ text: String) throws {
    let value = try #require(JSON(Array(text.utf8)))
    #expect(value.text == text)
    #expect(JSON(Array(value.indentedText().utf8)) == value)
  }

  static let nonsense = [
    "", "nul", "tru", "{", "[1,", "[1 2]", "{\"a\"}", "{\"a\":}", "{a: 1}", "\"a", "\"\\q\"", "\"\\u12\"",
    "\"\\ud800\"", "1 2", "--1", "\"\n\"", "[1]]", String(repeating: "[", count: 100_000),
  ]

  @Test(arguments: nonsense) func nonsenseIsRefused(_ text: String) {
    #expect(JSON(Array(text.utf8)) == nil)
  }

  @Test func escapesAreUnderstood() {
    #expect(JSON(Array(#""\u00e9\ud83d\ude00\/\b""#.utf8)) == .string("é😀/\u{8}"))
    #expect(JSON.string("\u{1}\u{7F}").text == #""\u0001\u007f""#)
  }

  @Test("What turns the direction of writing is escaped, and read back the same") func directions() {
    let turning = [0x61C, 0x200E, 0x200F] + Array(0x2028...0x202E) + Array(0x2066...0x2069)
    for number in turning {
      let text = String(Unicode.Scalar(UInt32(number)).map(Character.init) ?? "?")
      let written = JSON.string("a\(text)b").text
      let digits = String(number, radix: 16)
      #expect(written == "\"a\\u\(String(repeating: "0", count: 4 - digits.count))\(digits)b\"")
      #expect(JSON(Array(written.utf8)) == .string("a\(text)b"))
    }
    #expect(JSON.string("\u{200D}\u{2026}\u{206A}").text == "\"\u{200D}\u{2026}\u{206A}\"")
  }

  @Test func membersAreFound() {
    let value = JSON(Array(#"{"pid": 42, "name": "x"}"#.utf8))
    #expect(value?["pid"]?.integer == 42)
    #expect(value?["name"]?.string == "x")
    #expect(value?["none"] == nil)
    #expect(value?["name"]?.integer == nil)
  }

  @Test func namesThatAreNotTextComeWithTheirBytes() {
    #expect(JSON.nameMembers("name", Array("a".utf8)) == [JSON.Member("name", .string("a"))])
    #expect(
      JSON.nameMembers("name", [0x61, 0xFF]) == [
        JSON.Member("name", .string("a\u{FFFD}")), JSON.Member("nameBytes", .string("61ff")),
      ])
    for name in [Array("a".utf8), [0x61, 0xFF], [], [0, 0x0A, 0x22]] {
      #expect(JSON.object(JSON.nameMembers("name", name)).nameBytes("name") == name)
    }
    let lists: [[[UInt8]]] = [[], [[0x61]], [[0x61], [0xFF], []]]
    for list in lists {
      #expect(JSON.object(JSON.nameListMembers("words", list)).nameListBytes("words") == list)
    }
    #expect(JSON.nameListMembers("words", lists[1]).map(\.name) == ["words"])
    #expect(
      JSON.nameListMembers("words", lists[2]).last?.value == .array(["61", "ff", ""].map { .string($0) }))
    for digits in ["6", "6g", "+1"] {
      let value = JSON.object([JSON.Member("name", .string("a")), JSON.Member("nameBytes", .string(digits))])
      #expect(value.nameBytes("name") == nil)
    }
  }
}
