// Every operation once or more, on a tree that no kernel has mounted: what it answers, and what it changes.

import AccessControl
import Glibc
import LinuxFiles
import Testing

@testable import LayeredVolume

@Suite("Operations of a volume") struct OperationTests {
  struct Row: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let user: UInt32
    let error: Errno?
    let changes: [String]
    let needsRoot: Bool
    let call: @Sendable (Tree) throws -> Void

    /// `changes`: the lines of the tree that are gone, with a minus, and those that are new, with a plus.
    init(
      _ name: String, as user: UInt32 = geteuid(), fails error: Errno? = nil, changes: [String] = [],
      needsRoot: Bool = false, _ call: @escaping @Sendable (Tree) throws -> Void
    ) {
      (testDescription, self.user, self.error, self.changes, self.needsRoot, self.call) =
        (name, user, error, changes, needsRoot, call)
    }
  }

  private static func tree() throws -> Tree {
    try Tree {
      directory("d") {
        file("f", "text", mode: 0o640)
        file("locked", flags: "uchg")
        file("log", "line", flags: "uappnd")
        file("secret", "text", list: "user:1001 deny read")
        directory("full") { file("g") }
        directory("empty")
        symbolicLink("l", to: "f")
      }
      directory("open", mode: 0o777) { file("theirs", "text") }
      directory("shut", mode: 0o700) { file("in") }
      directory("given", list: "user:1001 allow add_file,delete_child,search") { file("x") }
    }
  }

  private static let stranger: UInt32 = 1001
  private static let names = [
    Row("lookup") { try $0.lookup("d/f") },
    Row("lookup of nothing", fails: .noSuchFile) { try $0.lookup("d/none") },
    Row("lookup by who may not search", as: stranger, fails: .accessDenied) { try $0.lookup("shut/in") },
    Row("create", changes: ["+d/new regular 644 ''"]) { try $0.create("d/new") },
    Row("create what is there", fails: .exists) { try $0.create("d/f") },
    Row("create without O_EXCL what is there") { try $0.create("d/f", [.write]) },
    Row("create by a stranger", as: stranger, fails: .accessDenied) { try $0.create("d/new") },
    Row(
      "create where everybody may", as: stranger, changes: ["+open/new regular 644 1001:0 ''"],
      needsRoot: true
    ) { try $0.create("open/new") },
    Row("the reserved name", fails: .notPermitted) { try $0.makeDirectory(".varve") },
    Row("O_TMPFILE") { try $0.createUnnamed(in: "d") },
    Row("O_TMPFILE by a stranger", as: stranger, fails: .accessDenied) { try $0.createUnnamed(in: "d") },
    Row("mkdir", changes: ["+d/new directory 750"]) { try $0.makeDirectory("d/new", mode: 0o750) },
    Row("mkdir where an entry allows files only", as: stranger, fails: .accessDenied) {
      try $0.makeDirectory("given/new")
    },
    Row("mkdir of what is there", fails: .exists) { try $0.makeDirectory("d/empty") },
    Row("mkfifo", changes: ["+d/new fifo 600"]) { try $0.makeNode("d/new", .fifo, mode: 0o600) },
    Row("the mark of what is not there", fails: .notPermitted) {
      try $0.makeNode("d/new", .characterDevice)
    },
    Row("a device, by a stranger", as: stranger, fails: .notPermitted) {
      try $0.makeNode("open/new", .characterDevice, device: 1)
    },
    Row("symlink", changes: ["+d/new symbolicLink 777 -> away"]) {
      try $0.makeSymbolicLink("d/new", to: "away")
    },
    Row(
      "link",
      changes: [
        "-d/f regular 640 'text'", "+d/f regular 640 links=2 'text'", "+open/f regular 640 links=2 'text'",
      ]
    ) { try $0.link("d/f", as: "open/f") },
    Row("link to a locked file", fails: .notPermitted) { try $0.link("d/locked", as: "open/f") },
    Row("link of a directory", fails: .notPermitted) { try $0.link("d/empty", as: "open/f") },
    Row("rename", changes: ["-d/f regular 640 'text'", "+open/f regular 640 'text'"]) {
      try $0.rename("d/f", to: "open/f")
    },
    Row(
      "rename over",
      changes: [
        "-d/f regular 640 'text'", "-open/theirs regular 644 'text'", "+open/theirs regular 640 'text'",
      ]
    ) {
      try $0.rename("d/f", to: "open/theirs")
    },
    Row("rename over with NOREPLACE", fails: .exists) { try $0.rename("d/f", to: "open/theirs", .noReplace) },
    Row(
      "exchange",
      changes: [
        "-d/f regular 640 'text'", "-open/theirs regular 644 'text'", "+d/f regular 644 'text'",
        "+open/theirs regular 640 'text'",
      ]
    ) { try $0.rename("d/f", to: "open/theirs", .exchange) },
    Row("exchange with nothing", fails: .noSuchFile) { try $0.rename("d/f", to: "open/none", .exchange) },
    Row("rename of a file over a directory", fails: .isDirectory) { try $0.rename("d/f", to: "d/empty") },
    Row("rename of a directory over a file", fails: .notDirectory) { try $0.rename("d/empty", to: "d/f") },
    Row("rename over a full directory", fails: .notEmpty) { try $0.rename("d/empty", to: "d/full") },
    Row("rename of a locked file", fails: .notPermitted) { try $0.rename("d/locked", to: "open/f") },
    Row("rename by a stranger", as: stranger, fails: .accessDenied) { try $0.rename("d/f", to: "open/f") },
    Row("rename of nothing", fails: .noSuchFile) { try $0.rename("d/none", to: "open/f") },
    Row("unlink", changes: ["-d/f regular 640 'text'"]) { try $0.remove("d/f") },
    Row("unlink of a locked file", fails: .notPermitted) { try $0.remove("d/locked") },
    Row("unlink of a directory", fails: .isDirectory) { try $0.remove("d/empty") },
    Row("unlink by a stranger", as: stranger, fails: .accessDenied) { try $0.remove("d/f") },
    Row("unlink where an entry allows it", as: stranger, changes: ["-given/x regular 644 ''"]) {
      try $0.remove("given/x")
    },
    Row("rmdir", changes: ["-d/empty directory 755"]) { try $0.removeDirectory("d/empty") },
    Row("rmdir of a full directory", fails: .notEmpty) { try $0.removeDirectory("d/full") },
    Row("rmdir of a file", fails: .notDirectory) { try $0.removeDirectory("d/f") },
  ]

  /// The flag, as a copying program sees it.
  private static let waits = "user.varve.flags=varve-flags 1 95a340ec|uappnd"
  private static let contents = [
    Row("open") { try $0.open("d/f") },
    Row("open by a stranger", as: stranger, fails: .accessDenied) { try $0.open("d/f") },
    Row("open against an entry", as: stranger, fails: .accessDenied) { try $0.open("d/secret") },
    Row("open of a directory", fails: .isDirectory) { try $0.open("d/empty") },
    Row("open of a locked file for writing", fails: .notPermitted) { try $0.open("d/locked", .write) },
    Row("open and empty", changes: ["-d/f regular 640 'text'", "+d/f regular 640 ''"]) {
      try $0.open("d/f", [.write, .truncate])
    },
    Row("read") { tree in
      let text = try tree.read("d/f")
      #expect(text == "text")
    },
    Row("write", changes: ["-d/f regular 640 'text'", "+d/f regular 640 'tEXt'"]) {
      try $0.write("d/f", "EX", at: 1)
    },
    Row(
      "append to what may only grow",
      changes: [
        "-d/log regular 644 'line' flags=uappnd \(waits)", "+d/log regular 644 'lines' flags=uappnd \(waits)",
      ]
    ) { try $0.write("d/log", "s", [.write, .append], appends: true) },
    Row("open for writing what may only grow", fails: .notPermitted) { try $0.open("d/log", .write) },
    Row("truncate", changes: ["-d/f regular 640 'text'", "+d/f regular 640 'te'"]) {
      try $0.change("d/f") { $0.size = 2 }
    },
    Row("truncate by a stranger", as: stranger, fails: .accessDenied) {
      try $0.change("d/f") { $0.size = 2 }
    },
    Row("truncate of a directory", fails: .isDirectory) { try $0.change("d/empty") { $0.size = 2 } },
    Row("list") { tree in
      let names = try tree.list("d")
      #expect(names == ["empty", "f", "full", "l", "locked", "log", "secret"])
    },
    Row("list by a stranger", as: stranger, fails: .accessDenied) { _ = try $0.list("shut") },
  ]

  private static let facts = [
    Row("chmod", changes: ["-d/f regular 640 'text'", "+d/f regular 600 'text'"]) {
      try $0.change("d/f") { $0.mode = 0o600 }
    },
    Row("chmod by a stranger", as: stranger, fails: .notPermitted) {
      try $0.change("d/f") { $0.mode = 0o666 }
    },
    Row("chmod of a locked file", fails: .notPermitted) { try $0.change("d/locked") { $0.mode = 0o666 } },
    Row(
      "chown", changes: ["-d/f regular 640 'text'", "+d/f regular 640 1002:0 'text'"], needsRoot: true
    ) { try $0.change("d/f") { $0.user = 1002 } },
    Row("chown by a stranger", as: stranger, fails: .notPermitted) {
      try $0.change("d/f") { $0.user = 1001 }
    },
    Row("utimes", changes: ["-d/f regular 640 'text'", "+d/f regular 640 modified=5 'text'"]) {
      try $0.change("d/f") { $0.modification = .set(Timestamp(seconds: 5, nanoseconds: 0)) }
    },
    Row("touch by a stranger", as: stranger, fails: .accessDenied) {
      try $0.change("d/f") {
        $0.modification = .now; $0.access = .now
      }
    },
    Row("setfattr", changes: ["-d/f regular 640 'text'", "+d/f regular 640 'text' user.note=hello"]) {
      try $0.setAttribute("d/f", "user.note", "hello")
    },
    Row("getfattr of what is not there", fails: .noData) { _ = try $0.attribute("d/f", "user.note") },
    Row("setfattr by a stranger", as: stranger, fails: .accessDenied) {
      try $0.setAttribute("d/f", "user.note", "hello")
    },
    Row("the stored record itself", fails: .notPermitted) {
      try $0.setAttribute("d/f", "trusted.varve.m", "hello")
    },
    Row("removal of what is not there", fails: .noData) { try $0.removeAttribute("d/f", "user.note") },
    Row(
      "chflags",
      changes: [
        "-d/empty directory 755",
        "+d/empty directory 755 flags=nodump user.varve.flags=varve-flags 1 a4cea9ec|nodump",
      ]
    ) {
      try $0.setAttribute("d/empty", "system.varve.flags", "nodump")
    },
    Row("chflags by a stranger", as: stranger, fails: .notPermitted) {
      try $0.setAttribute("d/f", "system.varve.flags", "nodump")
    },
    Row("chflags with a word that is none", fails: .invalid) {
      try $0.setAttribute("d/f", "system.varve.flags", "nonsense")
    },
    Row("a list", changes: ["-d/f regular 640 'text'", "+d/f regular 640 'text' acl=user:1002 deny write"]) {
      try $0.setAttribute("d/f", "system.varve.acl", "user:1002 deny write")
    },
    Row("a list by a stranger", as: stranger, fails: .notPermitted) {
      try $0.setAttribute("d/f", "system.varve.acl", "user:1001 allow write")
    },
    Row("a list that is none", fails: .invalid) {
      try $0.setAttribute("d/f", "system.varve.acl", "nonsense")
    },
    Row("a mode as a POSIX list", changes: ["-d/f regular 640 'text'", "+d/f regular 604 'text'"]) {
      try $0.setAttribute("d/f", "system.posix_acl_access", bytes: Change.posixList(6, 0, 4))
    },
    Row("a mode as an NFSv4 list", changes: ["-d/f regular 640 'text'", "+d/f regular 604 'text'"]) {
      try $0.setAttribute(
        "d/f", "system.nfs4_acl_xdr", bytes: NFSv4List.encodeNumbers(nil, mode: 0o604, for: .file))
    },
  ]

  @Test(
    "Answers and changes", arguments: (names + contents + facts).filter { Tree.isRoot || !$0.needsRoot })
  func operation(_ row: Row) throws {
    let tree = try Self.tree()
    let before = try tree.state()
    tree.user = row.user
    let result = Result { try row.call(tree) }
    tree.user = geteuid()
    switch result {
    case .success: #expect(row.error == nil)
    case .failure(let error): #expect(error as? Errno == row.error)
    }
    let changes = difference(before, try tree.state())
    #expect(Set(changes) == Set(row.changes), "\(changes)")
    let stored = difference(before, try tree.storedState())
    #expect(stored == changes, "the next mount sees another tree")
    let volume = try tree.volume()
    #expect(volume.handleCount == 0 && volume.nodeCount == 0)
    #expect(tree.workshop() == [])
  }
}
