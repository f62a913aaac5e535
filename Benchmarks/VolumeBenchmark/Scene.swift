// The scenes: what one contender does in one go, and which rows come out of it.

import BenchmarkReport
import Foundation

/// Work that belongs together, because one step prepares the next.
enum Scene: Hashable {
  case data
  case storm(clients: Int)
  case deep
  case entries
  case tree
  case repository
  case compile

  static let all: [Scene] =
    [.data] + Row.clientCounts.map { .storm(clients: $0) } + [.deep, .entries, .tree, .repository, .compile]

  /// The names of its rows: as the load says them, and as the table has them.
  var rows: [(load: String, row: String)] {
    switch self {
    case .data:
      same(["sequential-write", "sequential-read", "random-read", "random-write", "random-mixed", "fsync"])
    case .storm(let clients):
      ["create", "small-write", "open-read-close", "chmod", "stat-hot", "stat-cold", "rename", "unlink"]
        .map { ($0, Row.storm($0, clients: clients)) }
    case .deep: same(["deep-hot", "deep-cold"])
    case .entries: same(["readdir"])
    case .tree: same(["untar", "ls", "ls-cold", "grep", "cp", "rm"])
    case .repository: same(["git-status"])
    case .compile: same(["compile"])
    }
  }

  private func same(_ names: [String]) -> [(load: String, row: String)] {
    names.map { ($0, $0) }
  }

  /// Whether a contender takes part: those for the price play only where lists matter, and those that encrypt where
  /// nothing was laid out beside the mount.
  func includes(_ contender: Contender) -> Bool {
    let rows = rows.compactMap { Row.named($0.row) }
    if contender.encrypts { return rows.contains { $0.encrypted != nil } }
    return !contender.tellsPrice || rows.contains(where: \.tellsPrice)
  }

  var title: String {
    switch self {
    case .data: "one file"
    case .storm(let clients): "storm, \(clients) client(s)"
    case .deep: "deep paths"
    case .entries: "100,000 entries"
    case .tree: "tree"
    case .repository: "repository"
    case .compile: "compile"
    }
  }
}

/// Plays scenes.
struct Stage {
  let load: String
  let stock: Stock
  let request: Request
  private let wanted: Set<String>

  init(load: String, stock: Stock, request: Request) {
    self.load = load
    self.stock = stock
    self.request = request
    wanted = Set(request.rows.map(\.id))
  }

  func isWanted(_ scene: Scene) -> Bool {
    scene.rows.contains { wanted.contains($0.row) }
  }

  /// Lets a contender play a scene and answers the seconds for one piece of work of each row.
  func play(_ scene: Scene, in arena: Arena) throws -> [(row: String, seconds: Double)] {
    let rows = scene.rows.filter { wanted.contains($0.row) }
    let words = rows.map(\.load).joined(separator: ",")
    let patience = "\(request.patience)"
    let answer =
      switch scene {
      case .data: try inRoom(arena) { try run("data", $0, words, "\(256 << 20)", patience) }
      case .storm(let clients):
        try inRoom(arena) {
          try run("storm", $0, words, "\(clients)", "\(request.files)", patience, "\(arena.user)")
        }
      case .deep: try run("deep", "\(arena.top)/deep", words, "100", "16", patience)
      case .entries: try run("list", "\(arena.top)/entries", patience)
      case .tree: try playTree(arena)
      case .repository: try playRepository(arena)
      case .compile: try tool(arena, "\(arena.top)/project", "compile", ["make", "-s", "-B", "-j2"])
      }
    return try samples(answer, rows)
  }

  private func inRoom(_ arena: Arena, _ body: (String) throws -> String) throws -> String {
    let room = try arena.makeRoom("room")
    defer { try? FileManager.default.removeItem(atPath: room) }
    return try body(room)
  }

  /// Whether pages are dropped before files are read: not all that are compared keep them from when they were written.
  private var isCold: Bool { request.subject == .encryption }

  private func run(_ words: String...) throws -> String {
    try Programs.run([load] + (isCold ? ["cold"] : []) + words)
  }

  /// Runs a real program as the clients of a contender.
  private func tool(
    _ arena: Arena, _ directory: String, _ row: String, most times: Int = 1, isCold: Bool = false,
    _ words: [String]
  ) throws -> String {
    try Programs.run(
      [load, "run", directory, row, "\(times)", "\(request.patience)", "\(arena.user)", isCold ? "1" : "0"]
        + words)
  }

  private func playTree(_ arena: Arena) throws -> String {
    try inRoom(arena) { room in
      var answer = try tool(arena, room, "make", ["mkdir", "tree"])
      answer += try tool(arena, room, "untar", ["tar", "xf", stock.tree, "-C", "tree", "--no-same-owner"])
      if wanted.contains("ls") { answer += try tool(arena, room, "ls", most: 5, ["ls", "-lR", "tree"]) }
      if wanted.contains("grep") {
        answer += try tool(
          arena, room, "grep", most: 5, isCold: isCold, ["grep", "-r", Stock.needle, "tree"])
      }
      if wanted.contains("cp") {
        answer += try tool(arena, room, "cp", isCold: isCold, ["cp", "-a", "tree", "copy"])
      }
      if wanted.contains("ls-cold") {
        answer += try tool(arena, room, "ls-cold", isCold: true, ["ls", "-lR", "tree"])
      }
      return answer + (try tool(arena, room, "rm", ["rm", "-rf", "tree", "copy"]))
    }
  }

  private func playRepository(_ arena: Arena) throws -> String {
    let words = ["git", "-c", "safe.directory=*", "status", "--short"]
    let directory = "\(arena.top)/repository"
    // The first one finds other inode numbers than the index has, and reads every file.
    _ = try tool(arena, directory, "first", words)
    return try tool(arena, directory, "git-status", most: 10, words)
  }

  /// Reads the lines of the load; those nobody asked for are dropped.
  private func samples(
    _ answer: String, _ rows: [(load: String, row: String)]
  ) throws -> [(row: String, seconds: Double)] {
    let lines = answer.split(separator: "\n").map { $0.split(separator: " ") }
    return try rows.map { row in
      guard let line = lines.first(where: { $0.count == 3 && $0[0] == row.load }),
        let nanoseconds = Double(line[1]), let work = Double(line[2]), work > 0
      else { throw Failure("no answer for \(row.row): \(answer)") }
      return (row.row, nanoseconds / 1e9 / work)
    }
  }
}
