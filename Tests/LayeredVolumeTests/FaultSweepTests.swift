// Each operation that changes something, with each of its system calls failing in turn.
//
// What has to be taken back when a step fails is not listed here: an operation is run again and again, and every time
// the next call fails, until none is left to fail.

import AccessControl
import Decisions
import Faults
import FlagRules
import Glibc
import LinuxFiles
import RecordFormat
import Testing

@testable import LayeredVolume

/// A change, and the tree it is made in.
struct Change: Sendable, CustomTestStringConvertible {
  let testDescription: String
  var options: @Sendable (inout VolumeOptions) -> Void = { _ in }
  /// What half of it may be there after a failure, with the reason; nothing else may.
  var remains: @Sendable (_ line: String) -> Bool = { _ in false }
  let needsRoot: Bool
  let make: @Sendable (Tree) throws -> Void

  init(
    _ name: String, needsRoot: Bool = false,
    options: @escaping @Sendable (inout VolumeOptions) -> Void = { _ in },
    remains: @escaping @Sendable (String) -> Bool = { _ in false },
    _ make: @escaping @Sendable (Tree) throws -> Void
  ) {
    (testDescription, self.needsRoot, self.options, self.remains, self.make) =
      (name, needsRoot, options, remains, make)
  }

  func tree() throws -> Tree {
    try Tree(options) {
      directory("d") {
        file("f", "text", mode: 0o640, flags: "hidden")
        file("listed", "text", mode: 0o640, list: "user:1001 deny read")
        file("setid", "text", mode: 0o6755)
        file("plain", "text")
        directory("inner") { file("g") }
        directory("empty")
        symbolicLink("l", to: "f")
      }
      directory("other") { file("h", "other") }
      directory("open", mode: 0o777)
      directory("vault", flags: Tree.isRoot ? "restricted" : "") { file("v") }
      file("waiting", attributes: ["user.varve.flags": Change.waiting(.userImmutable)])
      file("info", attributes: ["com.apple.FinderInfo": Change.invisible])
      file("closed", list: "user:1001 deny readattr")
      file("owned", attributes: Tree.isRoot ? ["system.varve.owner": "group:1001"] : [:])
      directory("heir", list: "user:1001 allow read,file_inherit,directory_inherit")
      directory("granted", mode: 0o2750, attributes: Change.granted)
    }
  }

  private static let list = "system.varve.acl"
  private static let flags = "system.varve.flags"
  private static let without: @Sendable (inout VolumeOptions) -> Void = { $0.disabledFeatures = ["tmpfile"] }
  /// One bit of it is the flag `hidden`.
  private static func finderInfo(hidden: Bool) -> [UInt8] {
    var info = [UInt8](repeating: 0, count: 32)
    info[0] = 0x41
    info[8] = hidden ? 0x40 : 0
    return info
  }
  /// A POSIX list that says no more than a mode: version, then tag, permissions and id for owner, group and others.
  static func posixList(_ owner: UInt8, _ group: UInt8, _ others: UInt8) -> [UInt8] {
    [2, 0, 0, 0]
      + [(1, owner), (4, group), (32, others)].flatMap { (tag: UInt8, bits: UInt8) -> [UInt8] in
        [tag, 0, bits, 0, 255, 255, 255, 255]
      }
  }
  private static func nfsList(
    _ list: AccessList?, _ mode: UInt16, on path: String
  ) -> @Sendable (Tree) throws -> Void {
    let bytes = NFSv4List.encodeNumbers(list, mode: mode, for: .file)
    return { try $0.setAttribute(path, "system.nfs4_acl_xdr", bytes: bytes) }
  }
  /// As a copying program brings flags along, whose locks wait.
  fileprivate static func waiting(_ flags: FileFlags) -> String {
    String(decoding: TwinText.flags(flags), as: UTF8.self)
  }
  private static let denial = AccessList([AccessEntry(.deny, .user(1003), .read)])
  private static let invisible = String(decoding: finderInfo(hidden: true), as: UTF8.self)

  private static let posix = "system.varve.posix"
  private static let access = "user::rwx,user:1001:rwx,group::r-x,group:1002:r--,mask::rwx,other::---"
  private static let initial = "default:user::rwx,default:group::r-x,default:other::---"
  /// Whether the file system of the trees has POSIX lists.
  private static let keepsPosixLists = {
    let tree = try? Tree { file("f") }
    return (try? tree?.setAttribute("f", posix, access)) != nil
  }()

  private static let granted = keepsPosixLists ? [posix: "\(access),\(initial)"] : [:]

  static var all: [Change] { ordinary + (keepsPosixLists ? ofPosixLists : []) }

  private static let ofPosixLists = [
    Change("a POSIX list below") { try $0.setAttribute("d/f", posix, access) },
    Change("both POSIX lists below") { try $0.setAttribute("d/inner", posix, "\(access),\(initial)") },
    Change("other POSIX lists below") { tree in
      let list = "user::r-x,user:1003:r-x,group::---,mask::r-x,other::--x"
      let initial = "default:user::rwx,default:group::---,default:other::---"
      try tree.setAttribute("granted", posix, "\(list),\(initial)")
    },
    Change("no POSIX lists below") { try $0.setAttribute("granted", posix, "") },
  ]

  private static let ordinary = [
    Change("create") { try $0.create("d/new") },
    Change("create below a list") { try $0.create("heir/new") },
    // The name in the workshop goes at the next mount.
    Change("create below a list without O_TMPFILE", options: without, remains: { $0.contains("heir/new") }) {
      try $0.create("heir/new")
    },
    Change("create for another", needsRoot: true) { tree in
      tree.user = 1001
      try tree.create("open/new")
    },
    Change("O_TMPFILE below a list") { try $0.createUnnamed(in: "heir") },
    Change("O_TMPFILE where there is none", options: without) { try $0.createUnnamed(in: "heir") },
    Change("mkdir") { try $0.makeDirectory("d/new") },
    Change("mkdir below a list") { try $0.makeDirectory("heir/new") },
    Change("mkdir with bits of its own") { try $0.makeDirectory("heir/new", mode: 0o2500) },
    Change("mkfifo below a list", needsRoot: true) { try $0.makeNode("heir/new", .fifo) },
    Change("symlink") { try $0.makeSymbolicLink("heir/new", to: "f") },
    Change("link") { try $0.link("d/f", as: "other/new") },
    Change("rename") { try $0.rename("d/f", to: "other/new") },
    Change("rename over a file") { try $0.rename("d/f", to: "other/h") },
    Change("rename without replacing") { try $0.rename("d/inner", to: "other/new", .noReplace) },
    Change("rename to where flags are handed down", needsRoot: true) {
      try $0.rename("d/f", to: "vault/new")
    },
    Change("rename over a file there", needsRoot: true) { try $0.rename("d/plain", to: "vault/v") },
    Change("exchange with such a place", needsRoot: true) {
      try $0.rename("vault/v", to: "d/plain", .exchange)
    },
    Change("exchange") { try $0.rename("d/f", to: "other/h", .exchange) },
    Change("unlink") { try $0.remove("d/f") },
    Change("rmdir") { try $0.removeDirectory("d/empty") },
    Change("open and empty") { try $0.open("d/f", [.write, .truncate]) },
    Change("write") { try $0.write("d/f", "more") },
    Change("truncate") { try $0.change("d/f") { $0.size = 1 } },
    Change("chmod") { try $0.change("d/f") { $0.mode = 0o666 } },
    Change("utimes") { tree in
      let time = TimeChange.set(Timestamp(seconds: 5, nanoseconds: 0))
      try tree.change("d/f") { change in (change.access, change.modification) = (time, time) }
    },
    Change("chown", needsRoot: true) { try $0.change("d/f") { $0.user = 1001 } },
    Change("chown with set-id bits", needsRoot: true) { try $0.change("d/setid") { $0.user = 1001 } },
    Change("chown of what a group owns", needsRoot: true) { try $0.change("owned") { $0.user = 1001 } },
    Change("setfattr") { try $0.setAttribute("d/f", "user.note", "text") },
    Change("chflags") { try $0.setAttribute("d/f", flags, "nodump") },
    Change("chflags, the first of a volume") { try $0.setAttribute("d/plain", flags, "hidden") },
    Change("no flags any more") { try $0.setAttribute("d/f", flags, "") },
    Change("flags in force that waited") { tree in
      try tree.setAttribute("waiting", flags, "uchg")
    },
    Change("flags that wait") {
      try $0.setAttribute("d/plain", "user.varve.flags", waiting([.hidden, .userImmutable]))
    },
    Change("a first list") { try $0.setAttribute("d/f", list, "user:1001 deny read") },
    Change("a first list for everybody") { try $0.setAttribute("d/f", list, "user:1001 allow write") },
    Change("another list") { try $0.setAttribute("d/listed", list, "user:1002 deny write") },
    Change("a list that opens more") { try $0.setAttribute("d/listed", list, "user:1002 allow write") },
    Change("a list that closes") { try $0.setAttribute("heir", list, "user:1001 deny readattr") },
    Change("a list that no longer closes") { try $0.setAttribute("closed", list, "user:1001 allow read") },
    Change("no list any more") { try $0.removeAttribute("d/listed", list) },
    Change("mode by a POSIX list") {
      try $0.setAttribute("d/f", "system.posix_acl_access", bytes: posixList(6, 6, 6))
    },
    Change("list and mode together", nfsList(denial, 0o666, on: "d/f")),
    Change("another list and mode together", nfsList(denial, 0o666, on: "d/listed")),
    Change("no list and another mode", nfsList(nil, 0o600, on: "d/listed")),
    Change("FinderInfo") {
      try $0.setAttribute("d/plain", "com.apple.FinderInfo", bytes: finderInfo(hidden: false))
    },
    Change("FinderInfo and a flag") {
      try $0.setAttribute("d/plain", "com.apple.FinderInfo", bytes: finderInfo(hidden: true))
    },
    Change("no FinderInfo any more") { try $0.removeAttribute("info", "com.apple.FinderInfo") },
    Change("a group as the owner", needsRoot: true) {
      try $0.setAttribute("d/setid", "system.varve.owner", "group:1001")
    },
  ]
}

@Suite("Changes whose system calls fail") struct FaultSweepTests {
  private static let possible = Change.all.filter { Tree.isRoot || !$0.needsRoot }

  private struct Trial {
    var change: Change
    var fault: Fault
    var tree: Tree
    var result: Result<Void, any Error>
    var before: [String]

    var story: Comment {
      "\(change.testDescription), \(fault.error.name) at call \(fault.after): \(result)"
    }

    /// Handles and nodes that the volume still has.
    func held() throws -> Int {
      let volume = try tree.volume()
      return volume.handleCount + volume.nodeCount
    }

    /// What is otherwise than expected: of the volume, of what is stored, and of the next mount.
    func deviations(from expected: [String]) throws -> [String] {
      let now = difference(expected, try tree.state()) + difference(expected, try tree.storedState())
      let unlikely = now.filter { !change.remains($0) }
      guard !tree.workshop().isEmpty || error == nil else { return unlikely }
      tree.unmount()
      return unlikely + difference(expected, try tree.state()) + tree.workshop()
    }

    var error: Errno? { if case .failure(let error) = result { error as? Errno } else { nil } }
  }

  /// Makes a change once for each call that can fail, until none does any more.
  private func sweep(_ change: Change, _ fault: Fault, _ body: (Trial) throws -> Void) throws {
    var (fault, fresh): (Fault, (tree: Tree, state: [String])?) = (fault, nil)
    for number in 0..<200 {
      if fresh == nil {
        let tree = try change.tree()
        fresh = (tree, try tree.state())
      }
      guard let (tree, before) = fresh else { return }
      fault.after = number
      let (result, hits) = fault.during { try change.make(tree) }
      tree.user = geteuid()
      let trial = Trial(change: change, fault: fault, tree: tree, result: result, before: before)
      guard hits > 0 else {
        #expect(throws: Never.self, trial.story) { try result.get() }
        return
      }
      try body(trial)
      // The next trial goes on in the same tree, if this one has left it alone.
      if try tree.state() != before { fresh = nil }
    }
    Issue.record("there was no end of calls")
  }

  private func outcome(of change: Change) throws -> [String] {
    let tree = try change.tree()
    try change.make(tree)
    tree.user = geteuid()
    return try tree.state()
  }

  @Test(
    "A change that fails has changed nothing, whichever of its steps it was", arguments: possible,
    [Errno.noSpace, .inputOutput])
  func atomic(_ change: Change, _ error: Errno) throws {
    let wanted = try outcome(of: change)
    try sweep(change, Fault(.changes, error)) { trial in
      let held = try trial.held()
      let deviations = try trial.deviations(from: trial.error == nil ? wanted : trial.before)
      #expect(trial.error == nil || trial.error == error, trial.story)
      #expect(held == 0, trial.story)
      #expect(deviations == [], trial.story)
    }
  }

  @Test(
    "What cannot be looked at or opened makes no half of a change", arguments: possible,
    [Fault([.open, .make], .tooManyOpenFiles), Fault([.look, .read, .open], .inputOutput)])
  func unseen(_ change: Change, _ fault: Fault) throws {
    let wanted = try outcome(of: change)
    try sweep(change, fault) { trial in
      let held = try trial.held()
      #expect(held == 0, trial.story)
      let state = try trial.tree.state()
      // What is made can perhaps not be shown any more; then an error is told of what has happened.
      #expect(state == wanted || trial.error != nil && state == trial.before, trial.story)
    }
  }

  @Test(
    "Where everything fails from some step on, nobody may do more than before or than was asked for",
    arguments: possible)
  func nothingGranted(_ change: Change) throws {
    let tree = try change.tree()
    let before = try tree.grants()
    try change.make(tree)
    tree.user = geteuid()
    let wanted = try tree.grants()
    try sweep(change, Fault(.changes, .noSpace, count: .max)) { trial in
      trial.tree.unmount()
      let granted = try trial.tree.grants()
      #expect(granted.subtracting(before).subtracting(wanted) == [], trial.story)
    }
  }
}

extension Tree {
  /// What strangers may do: a line for each object, user and access.
  fileprivate func grants() throws -> Set<String> {
    var found: Set<String> = []
    for line in try state() {
      let path = String(line.prefix { $0 != " " })
      for user in [UInt32(1001), 1002, 1003, 65_534] {
        let caller = Caller(user: user, group: user, thread: 0)
        for mask in [UInt32(1), 2, 4] {
          try at(path == "." ? "" : path) { volume, node in
            if (try? volume.access(node, mask: mask, for: caller)) != nil {
              found.insert("\(path) \(user) \(mask)")
            }
          }
        }
      }
    }
    return found
  }
}
