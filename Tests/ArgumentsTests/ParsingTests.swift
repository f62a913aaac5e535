import Arguments
import Testing

@Suite("Understanding a command line") struct ParsingTests {
  static let quiet = Option("q", "quiet", "say nothing")
  static let recursive = Option("R", "recursive", "go down")
  static let output = Option("o", "output", value: Option.Value("FILE", .path), "where to write")
  static let width = Option(nil, "width", value: Option.Value("N", .number), "how wide")

  static let copy = Verb(
    "copy", "copy files", options: [quiet, recursive, output, width],
    operands: [Operand("PATH", .oneOrMore, .path, "what to copy")])
  static let change = Verb(
    "change", "change files", order: .beforeOperands(dashed: "arw"), options: [quiet, recursive],
    operands: [Operand("MODE", .one, .text, "the mode"), Operand("PATH", .oneOrMore, .path, "the files")])
  static let show = Verb(
    "show", "show something", operands: [Operand("DIR", .optional, .directory, "where")])
  static let tie = Verb(
    "tie", "tie something to something",
    operands: [Operand("WHAT", .optional, .text, "what"), Operand("TO", .one, .text, "to what")])
  static let program = Program("tool", version: "1.2", "do things", verbs: [copy, change, show, tie])

  static func words(_ line: String) -> [Word] {
    line.split(separator: " ").map { Word($0.utf8) }
  }

  static func parse(_ line: String) throws(UsageError) -> Invocation? {
    if case .run(let invocation) = try program.parse(words(line)) { invocation } else { nil }
  }

  /// The options by their spellings with their values, and the operands.
  struct Row: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let line: String
    let options: [String]
    let operands: [String]

    init(_ description: String, _ line: String, _ options: [String], _ operands: [String]) {
      testDescription = description
      self.line = line
      self.options = options
      self.operands = operands
    }
  }

  static let rows = [
    Row("letters in a cluster", "copy -qR a", ["--quiet", "--recursive"], ["a"]),
    Row("long words", "copy --quiet a --recursive", ["--quiet", "--recursive"], ["a"]),
    Row("a value in the next word", "copy -o f a", ["--output f"], ["a"]),
    Row("a value in the same word", "copy -of a", ["--output f"], ["a"]),
    Row("a value at the end of a cluster", "copy -qof a", ["--quiet", "--output f"], ["a"]),
    Row("a value after an equals sign", "copy --output=f=g a", ["--output f=g"], ["a"]),
    Row("a value after a long word", "copy --width 3 a", ["--width 3"], ["a"]),
    Row("an empty value", "copy --output= a", ["--output "], ["a"]),
    Row("a value that looks like an option", "copy -o -q a", ["--output -q"], ["a"]),
    Row("options behind operands", "copy a -q b", ["--quiet"], ["a", "b"]),
    Row("two dashes end the options", "copy -q -- -R --quiet", ["--quiet"], ["-R", "--quiet"]),
    Row("one dash is an operand", "copy - a", [], ["-", "a"]),
    Row("the first operand ends the options of BSD verbs", "change -q 644 -R", ["--quiet"], ["644", "-R"]),
    Row("a dashed word can be that operand", "change -R -a# 2 f", ["--recursive"], ["-a#", "2", "f"]),
    Row("such as a mode", "change -w f", [], ["-w", "f"]),
    Row(
      "but not in a cluster that begins otherwise", "change -qR -rw f", ["--quiet", "--recursive"],
      ["-rw", "f"]),
    Row("an operand that may be left out", "show", [], []),
    Row("and is not", "show d", [], ["d"]),
    Row("one in front that is left out", "tie b", [], ["b"]),
    Row("and is not", "tie a b", [], ["a", "b"]),
  ]

  @Test(arguments: rows) func understands(_ row: Row) throws {
    let invocation = try #require(try ParsingTests.parse(row.line))
    let options = invocation.given.map { given in
      given.option.spelling + (given.value.map { " " + String(decoding: $0, as: UTF8.self) } ?? "")
    }
    #expect(options == row.options)
    #expect(invocation.operands.map { String(decoding: $0, as: UTF8.self) } == row.operands)
  }

  static let mistakes = [
    ("", "what should be done?"),
    ("cpoy a", "unknown verb 'cpoy'; did you mean 'copy'?"),
    ("frobnicate a", "unknown verb 'frobnicate'"),
    ("encrypt a", "unknown verb 'encrypt'; did you mean: varve protect complete PATH"),
    ("decrypt a", "unknown verb 'decrypt'; did you mean: varve protect none PATH"),
    ("--verbose", "unknown option '--verbose'"),
    ("--verison", "unknown option '--verison'; did you mean '--version'?"),
    ("-version", "unknown option '-version'; did you mean '--version'?"),
    ("--HELP", "unknown option '--HELP'; did you mean '--help'?"), ("-V", "unknown option '-V'"),
    ("COPY a", "unknown verb 'COPY'; did you mean 'copy'?"),
    ("copy", "PATH is missing"),
    ("copy -x a", "unknown option '-x'"),
    ("copy --recusive a", "unknown option '--recusive'; did you mean '--recursive'?"),
    ("copy -quiet a", "unknown option '-u'"),
    ("copy --quiet=1 a", "option '--quiet' takes no value"),
    ("copy a -o", "option '-o' needs a value: FILE"),
    ("copy a --width", "option '--width' needs a value: N"),
    ("change 644", "PATH is missing"),
    ("show a b", "one word too many: 'b'"),
  ]

  @Test(arguments: mistakes) func explains(_ line: String, _ message: String) throws {
    let error = try #require(throws: UsageError.self) { try ParsingTests.parse(line) }
    // `-quiet` may be told in either of two ways.
    if line.hasPrefix("copy -quiet") {
      #expect(error.message.hasPrefix("unknown option '-"))
    } else {
      #expect(error.message == message)
    }
  }

  @Test func helpAndVersionAreRequests() throws {
    let program = ParsingTests.program
    let words = ParsingTests.words
    #expect(try program.parse(words("--help")) == Request.help(nil))
    #expect(try program.parse(words("-h")) == Request.help(nil))
    #expect(try program.parse(words("help")) == Request.help(nil))
    #expect(try program.parse(words("help help")) == Request.help(nil))
    #expect(try program.parse(words("help copy")) == Request.help("copy"))
    #expect(try program.parse(words("copy --help")) == Request.help("copy"))
    #expect(try program.parse(words("--version")) == Request.version)
    #expect(throws: UsageError.self) { try program.parse(words("help cop1234")) }
  }

  @Test func namesThatAreNotTextArriveAsTheyWere() throws {
    let name: Word = [0x62, 0xFF, 0x0A, 0x64]
    let words = [Word("copy".utf8), Word("-o".utf8), name, name]
    guard case .run(let invocation) = try ParsingTests.program.parse(words) else {
      Issue.record("not understood")
      return
    }
    #expect(invocation.operands == [name])
    #expect(invocation.values(ParsingTests.output) == [name])
  }

  @Test func theLastOfRivalsWinsAndRepetitionCounts() throws {
    let invocation = try #require(try ParsingTests.parse("copy -q -R -qq a"))
    #expect(invocation.last(of: [ParsingTests.quiet, ParsingTests.recursive]) == ParsingTests.quiet)
    #expect(invocation.count(ParsingTests.quiet) == 3)
    #expect(!invocation.has(ParsingTests.output))
    #expect(invocation.last(of: [ParsingTests.width]) == nil)
  }

  @Test(arguments: [
    "--version", "help --version", "help copy --version", "copy --version", "copy -q a --version",
    "change -q --version r a",
  ])
  func theVersionIsToldWhereverOptionsMayStand(_ line: String) throws {
    #expect(try ParsingTests.program.parse(ParsingTests.words(line)) == .version)
  }

  @Test(arguments: ["copy -- --version", "change r --version"]) func afterOperandsItIsAFile(
    _ line: String
  ) throws {
    #expect(try ParsingTests.parse(line)?.operands.last == Word("--version".utf8))
  }
}

@Suite("Finding the word that was meant") struct SuggestionTests {
  static let rows: [(String, String?)] = [
    ("chmdo", "chmod"), ("chflag", "chflags"), ("lss", "ls"), ("statsu", "status"), ("mont", "mount"),
    ("x", nil), ("", nil), ("zzzzzz", nil), ("umuont", "umount"),
  ]

  @Test(arguments: rows) func finds(_ typed: String, _ meant: String?) {
    #expect(nearest(to: typed, among: ["mount", "umount", "status", "chflags", "chmod", "ls"]) == meant)
  }

  private func request(_ line: String) throws(UsageError) -> Request {
    try Program.varve.parse(ParsingTests.words(line))
  }

  @Test("A group can be in another one") func innerGroups() throws {
    guard case .run(let invocation) = try request("key slot add /mnt a.key --with b.key") else {
      Issue.record("not understood")
      return
    }
    #expect(invocation.verb == "key slot add")
    #expect(invocation.operands == [Word("/mnt".utf8), Word("a.key".utf8)])
    for line in ["key slot --help", "key slot help", "help key slot"] {
      #expect(try request(line) == .help("key slot"))
    }
    for line in ["key slot add --help", "help key slot add"] {
      #expect(try request(line) == .help("key slot add"))
    }
    #expect(try request("key --help") == .help("key"))
    #expect(try request("key slot --version") == .version)
    let mistakes = [
      ("key", "what should be done? One of create, passphrase, check, slot, export"),
      ("key slot", "what should be done? One of add, remove, list"),
      ("key add x y", "unknown verb 'add'"), ("slot add x y", "unknown verb 'slot'"),
      ("key slot lst x", "unknown verb 'lst'; did you mean 'list'?"),
      ("key --hlep", "unknown option '--hlep'; did you mean '--help'?"),
      ("help key slot lst", "unknown verb 'lst'; did you mean 'list'?"),
    ]
    for (line, message) in mistakes {
      let error = #expect(throws: UsageError.self) { try request(line) }
      #expect(error?.message == message)
    }
    #expect(Program.varve.firstWords.filter { $0.name == "key" || $0.name == "slot" }.count == 1)
  }
}
