// The command line.

/// What was asked for.
package struct Request: Equatable, Sendable {
  package enum Place: String, CaseIterable, Sendable {
    case tmpfs
    case disk
  }

  package var rounds = 5
  package var rows: [Row] = Row.all
  package var contenders = Contender.usual
  package var places = Place.allCases
  package var tmpfs = "/dev/shm"
  package var disk = "/var/tmp"
  package var json: String?
  /// The folder whose `performance.md` and `performance.svg` are written.
  package var documents: String?
  /// Milliseconds that a repeatable piece of work is measured for.
  package var patience = 150
  package var files = 2000
  package var wantsHelp = false
  package var subject = Document.Subject.files

  package init() {}

  package static let usage = """
    usage: VolumeBenchmark [OPTION...]
      --quick              few rows, 3 rounds, on tmpfs, without the price of access lists: two minutes
      --encryption         encrypted files against gocryptfs, and against plain files without passthrough
      --rounds N           rounds; all contenders take part in each, in turns (5)
      --only ROW,...       these rows; their names follow
      --contenders C,...   NAME[+acl][+user][+encrypted][@BUILD][:OPTIONS]; `varve:threads=1`, `varve@/other/.build/release`
                           (a comma in OPTIONS is written with a backslash)
      --varve-options O    mount options for every varve that is named without options
      --on tmpfs,disk      where the files are
      --tmpfs DIR          a directory in memory (/dev/shm)
      --disk DIR           a directory on a disk (/var/tmp)
      --json FILE          write everything that was measured
      --document DIR       write DIR/performance.svg and the table in DIR/performance.md
      --help               this, and the names of the rows
    """

  /// The rows of `--quick`.
  private static let quick = [
    "sequential-write", "sequential-read", "random-read", "random-write", "create", "small-write",
    "open-read-close", "chmod", "stat-hot", "stat-cold", "rename", "unlink", "untar", "ls", "grep", "cp",
    "rm",
  ]

  /// Understands the words after the program's name.
  package init(_ words: [String]) throws(UsageProblem) {
    var position = 0
    var varveOptions: String?
    while position < words.count {
      let word = words[position]
      position += 1
      switch word {
      case "--help", "-h": wantsHelp = true
      case "--quick":
        rounds = 3
        places = [.tmpfs]
        contenders = contenders.filter { !$0.tellsPrice && $0.options == nil }
        rows = Row.all.filter { Request.quick.contains($0.id) }
      case "--encryption":
        subject = .encryption
        contenders = Contender.encrypting
        rows = Row.all.filter { $0.encrypted != nil }
      default:
        guard position < words.count else {
          throw UsageProblem(
            Request.known.contains(word) ? "'\(word)' needs a value" : "unknown option '\(word)'")
        }
        if word == "--varve-options" {
          varveOptions = words[position]
        } else {
          try take(word, words[position])
        }
        position += 1
      }
    }
    if let varveOptions { setVarveOptions(varveOptions) }
  }

  private static let known = [
    "--rounds", "--only", "--contenders", "--varve-options", "--on", "--tmpfs", "--disk", "--json",
    "--document",
  ]

  private mutating func take(_ option: String, _ value: String) throws(UsageProblem) {
    switch option {
    case "--rounds":
      guard let number = Int(value), number > 0 else {
        throw UsageProblem("'\(value)' is no number of rounds")
      }
      rounds = number
    case "--only": rows = try chosenRows(value)
    case "--contenders": contenders = try chosenContenders(value)
    case "--on": places = try chosenPlaces(value)
    case "--tmpfs": tmpfs = value
    case "--disk": disk = value
    case "--json": json = value
    case "--document": documents = value
    default: throw UsageProblem("unknown option '\(option)'")
    }
  }

  private func chosenRows(_ value: String) throws(UsageProblem) -> [Row] {
    let names = pieces(value)
    for name in names where Row.named(name) == nil { throw UsageProblem("no row '\(name)'; see --help") }
    return Row.all.filter { names.contains($0.id) }
  }

  private func chosenContenders(_ value: String) throws(UsageProblem) -> [Contender] {
    var result: [Contender] = []
    for name in pieces(value) {
      let contender = try Contender(name)
      if !result.contains(contender) { result.append(contender) }
    }
    return result
  }

  private func chosenPlaces(_ value: String) throws(UsageProblem) -> [Place] {
    var result: [Place] = []
    for name in pieces(value) {
      guard let place = Place(rawValue: name) else {
        throw UsageProblem("'\(name)' is neither tmpfs nor disk")
      }
      result.append(place)
    }
    return result
  }

  private mutating func setVarveOptions(_ options: String) {
    contenders = contenders.map { contender in
      guard contender.kind == .varve, contender.options == nil else { return contender }
      return Contender(
        .varve, hasLists: contender.hasLists, servesUser: contender.servesUser,
        isEncrypted: contender.isEncrypted, build: contender.build, options: options)
    }
  }

  /// The words between commas; a backslash protects one.
  private func pieces(_ value: String) -> [String] {
    var result = [""]
    var isProtected = false
    for character in value {
      if character == "\\", !isProtected {
        isProtected = true
        continue
      }
      if character == ",", !isProtected {
        result.append("")
      } else {
        result[result.count - 1].append(character)
      }
      isProtected = false
    }
    return result
  }
}
