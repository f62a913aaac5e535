// Operations on items of lowers that are refused, whatever for: nothing in the upper has changed then, no directory on the way
// either.

import Foundation
import Glibc
import LinuxFiles
import Testing

@testable import LayeredVolume

@Suite("Refused operations over lowers", .timeLimit(.minutes(2)), .enabled(if: Tree.isRoot))
struct LayerRefusalTests {
  struct Row: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let error: Errno
    let user: UInt32
    let run: @Sendable (LayeredTree) throws -> Void

    init(
      _ name: String, _ error: Errno, as user: UInt32 = 0,
      _ run: @escaping @Sendable (LayeredTree) throws -> Void
    ) {
      (testDescription, self.error, self.user, self.run) = (name, error, user, run)
    }
  }

  static func rename(
    _ path: String, _ newPath: String, _ error: Errno, as user: UInt32 = 0, _ style: RenameStyle = .replace
  ) -> Row {
    Row("\(style) of \(path) and \(newPath)", error, as: user) { try $0.rename(path, to: newPath, style) }
  }

  static func link(_ path: String, _ newPath: String, _ error: Errno, as user: UInt32 = 0) -> Row {
    Row("link of \(path) as \(newPath)", error, as: user) { try $0.link(path, as: newPath) }
  }

  static let ann: UInt32 = 7_001

  private static let names: [Row] = [
    rename("p/a", "q/full", .isDirectory), rename("p/full", "q/b", .notDirectory),
    rename("p/empty", "q/full", .notEmpty), rename("p/empty", "both/full", .notEmpty),
    rename("p/a", "q/b", .exists, .noReplace), rename("p/full", "q/empty", .exists, .noReplace),
    rename("p/none", "q/new", .noSuchFile), rename("p/a", "q/none", .noSuchFile, .exchange),
    rename("p/a", "q/new", .accessDenied, as: ann), rename("hers/a", "q/new", .accessDenied, as: ann),
    rename("p/a", "hers/new", .accessDenied, as: ann),
    rename("hers/a", "q/b", .accessDenied, as: ann, .exchange),
    rename("sticky/a", "hers/new", .accessDenied, as: ann),
    rename("hers/a", "sticky/a", .accessDenied, as: ann),
    rename("hers/kept", "hers/new", .accessDenied, as: ann),
    rename("p/locked", "q/new", .notPermitted), rename("p/a", "q/locked", .notPermitted),
    rename("p/a", "q/locked", .notPermitted, .exchange), rename("log/a", "q/new", .notPermitted),
    rename("p/a", "log/a", .notPermitted),
    // What cannot be brought up.
    rename("p/hollow", "q/new", .inputOutput), rename("p/a", "q/hollow", .inputOutput, .exchange),
    rename("p/damaged", "q/new", .inputOutput), rename("p/a", "q/damaged", .inputOutput, .exchange),
    rename("p/marked", "q/new", .inputOutput), rename("p/a", "q/marked", .inputOutput, .exchange),
    link("p/a", "q/b", .exists), link("p/a", "q/full", .exists), link("p/locked", "q/new", .notPermitted),
    link("hers/a", "q/new", .accessDenied, as: ann),
    link("p/hollow", "q/new", .inputOutput), link("p/damaged", "q/new", .inputOutput),
  ]

  private static let others: [Row] = [
    Row("unlink of a directory", .isDirectory) { try $0.remove("p/full") },
    Row("rmdir of a full directory", .notEmpty) { try $0.removeDirectory("p/full") },
    Row("rmdir of a file", .notDirectory) { try $0.removeDirectory("p/a") },
    Row("mkdir", .exists) { try $0.makeDirectory("p/a") },
    Row("mkdir in another's directory", .accessDenied, as: ann) { try $0.makeDirectory("p/new") },
    Row("create in a locked directory", .notPermitted) { try $0.create("shut/new") },
    Row("chmod of a locked file", .notPermitted) { try $0.change("p/locked") { $0.mode = 0o600 } },
    Row("chmod of a hollow file", .inputOutput) { try $0.change("p/hollow") { $0.mode = 0o600 } },
    Row("write to a hollow file", .inputOutput) { try $0.write("p/hollow", "x") },
    Row("chmod of a damaged file", .inputOutput) { try $0.change("p/damaged") { $0.mode = 0o600 } },
  ]

  /// Everything in directories that no upper has: but for a part of `both`.
  func tree(_ change: (inout VolumeOptions) -> Void = { _ in }) throws -> LayeredTree {
    let ann = LayerRefusalTests.ann
    let tree = try LayeredTree(
      making: { base in
        let made = try Tree {
          directory("p") {
            file("a", "a"); file("locked", flags: "uchg"); file("damaged", flags: "nodump"); file("hollow")
            directory("full") { file("x") }; directory("empty"); directory("marked") { file("x") }
          }
          directory("q") {
            file("b", "b"); file("locked", flags: "uchg"); file("damaged", flags: "nodump"); file("hollow")
            directory("full") { file("x") }; directory("empty"); directory("marked") { file("x") }
          }
          directory("hers", owner: ann) {
            file("a", owner: ann)
            file("kept", owner: ann, list: "user:7001 deny delete")
          }
          directory("sticky", mode: 0o1777) { file("a") }
          directory("log", flags: "uappnd") { file("a") }
          directory("shut", flags: "uchg") { file("a") }
          directory("both") {
            directory("full"); file("gone")
          }
          file("gone")
        }
        made.unmount()
        let lower = base + "/lower"
        Glibc.rename(made.path, lower)
        for directory in ["p", "q"] {
          truncate("\(lower)/\(directory)/hollow", 1 << 20)
          try setPlainAttribute("\(lower)/\(directory)/hollow", "trusted.overlay.metacopy", "")
          try setPlainAttribute("\(lower)/\(directory)/damaged", "trusted.varve.m", "junk")
          try setPlainAttribute("\(lower)/\(directory)/marked", "trusted.overlay.redirect", "..")
        }
        // A mark in the lowest layer leads nowhere.
        mkdir(base + "/lowest", 0o755)
        return [lower, base + "/lowest"]
      }, change: change)
    try tree.create("both/full/own")
    try tree.remove("both/gone")
    try tree.remove("gone")
    return tree
  }

  /// What the upper has, itself included, with all times; but for the workshop, whose own times move.
  private func upper(_ tree: LayeredTree) throws -> [String] {
    tree.asRoot()
    return try stamps(tree.upper).filter { !$0.hasPrefix(".varve/work") && !$0.hasPrefix(".varve ") }
  }

  func require(_ row: Row, in tree: LayeredTree) throws {
    let (shown, above) = (try tree.names(""), try upper(tree))
    tree.user = row.user
    #expect(throws: row.error, "\(row)") { try row.run(tree) }
    tree.user = 0
    #expect(try upper(tree) == above, "\(row)")
    #expect(try tree.names("") == shown, "\(row)")
    #expect(tree.volume.nodeCount == 0 && tree.volume.handleCount == 0, "\(row)")
    let work = try FileManager.default.contentsOfDirectory(atPath: tree.upper + "/.varve/work")
    #expect(work.allSatisfy { $0 == "wh" }, "\(row)")
  }

  @Test("What is refused changes nothing in the upper, whatever it would have brought up first")
  func refused() throws {
    let tree = try tree()
    for row in LayerRefusalTests.names + LayerRefusalTests.others { try require(row, in: tree) }
    #expect(try tree.names("p") == ["a", "damaged", "empty", "full", "hollow", "locked", "marked"])
    // What none of that is about can be done.
    try tree.rename("p/a", to: "q/new")
    try tree.rename("p/full", to: "q/empty")
    try tree.link("q/b", as: "p/b")
  }

  @Test("The same, where the upper has a part of every directory already")
  func refusedAgain() throws {
    let tree = try tree()
    for path in ["p", "p/full", "p/empty", "q", "q/full", "q/empty", "hers", "sticky"] {
      try tree.create("\(path)/own")
      try tree.remove("\(path)/own")
    }
    try tree.create("log/own")
    try tree.setAttribute("shut", "system.varve.flags", "0")
    try tree.create("shut/own")
    try tree.setAttribute("shut", "system.varve.flags", "uchg")
    for row in LayerRefusalTests.names + LayerRefusalTests.others { try require(row, in: tree) }
    try tree.rename("p/empty", to: "q/empty")
    try tree.rename("p/full", to: "p/empty")
  }

  @Test(
    "Where the file system below exchanges no names, what needs that is refused before anything is brought up"
  )
  func withoutExchange() throws {
    let tree = try tree { $0.disabledFeatures = ["exchange"] }
    for row in [
      LayerRefusalTests.rename("p/full", "gone", .invalid),
      LayerRefusalTests.rename("p/a", "both/gone", .invalid, .noReplace),
      LayerRefusalTests.rename("p/a", "q/b", .invalid, .exchange),
    ] {
      try require(row, in: tree)
    }
    try tree.rename("p/a", to: "gone")
  }
}
