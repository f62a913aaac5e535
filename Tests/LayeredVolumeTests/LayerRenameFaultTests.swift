// Renames over layers that fail half-way: what was there keeps its number and its times.

import Faults
import Foundation
import LinuxFiles
import Testing

@testable import LayeredVolume

@Suite("Renames of layers that fail", .timeLimit(.minutes(2)), .enabled(if: Tree.isRoot))
struct LayerRenameFaultTests {
  /// A directory that was emptied, so that a rename over it first puts a twin in its place.
  private func emptied() throws -> LayeredTree {
    let tree = try LayeredTree(
      [directory("d", mode: 0o750) { file("a", "a") }, directory("new")],
      [directory("d") { file("b", "b") }])
    try tree.remove("d/a")
    try tree.remove("d/b")
    try tree.change("d") { $0.modification = .set(Timestamp(seconds: 1_000_000, nanoseconds: 7)) }
    try tree.setAttribute("d", "user.note", "kept")
    return tree
  }

  /// What a program can see of the directory, but for its change time.
  private func look(_ tree: LayeredTree) throws -> String {
    let seen = try tree.attributes("d")
    return "\(seen.inode) \(seen.modification) \(seen.mode) \(seen.user)"
  }

  @Test(
    "The directory that was to be replaced is the same after a failure, and after a crash",
    arguments: [1, .max])
  func replaced(count: Int) throws {
    var failures = 0
    for number in 0..<100 {
      let tree = try emptied()
      let before = try look(tree)
      let fault = Fault(.changes, .noSpace, after: number, count: count)
      let (result, hits) = fault.during { try tree.rename("new", to: "d") }
      guard hits > 0 else { break }
      if count > 1 { try tree.remount() }
      guard case .failure = result else { continue }
      failures += 1
      // After a crash either may be there.
      guard try tree.names("") == ["d", "new"] else { continue }
      #expect(try look(tree) == before, "call \(number)")
      try tree.remount()
      #expect(try look(tree) == before, "call \(number)")
      #expect(try tree.names("d").isEmpty)
      try tree.rename("new", to: "d")
    }
    #expect(failures > 5)
  }

  @Test("A whiteout that cannot be removed after a rename is no failure of the rename") func leftWhiteout()
    throws
  {
    var owed = 0
    for number in 0..<100 {
      let tree = try LayeredTree([file("gone", "gone")])
      try tree.remove("gone")
      try tree.makeDirectory("fresh")
      let node = try tree.attributes("fresh").inode
      let fault = Fault(.name, .inputOutput, after: number)
      let (result, hits) = fault.during { try tree.rename("fresh", to: "gone") }
      guard hits > 0 else { break }
      if case .failure = result {
        #expect(try tree.names("") == ["fresh"])
        #expect(try plainAttribute(tree.upper + "/fresh", "trusted.overlay.opaque") == nil, "call \(number)")
        continue
      }
      #expect(try tree.names("") == ["gone"])
      #expect(try tree.attributes("gone").inode == node)
      #expect(try plainAttribute(tree.upper + "/gone", "trusted.overlay.opaque") == [UInt8(ascii: "y")])
      try tree.create("gone/inside", "x")
      var left = stat()
      if lstat(tree.upper + "/fresh", &left) == 0 { owed += 1 }
    }
    #expect(owed == 1)
  }

  @Test(
    "A rename that fails leaves no redirect, and the one that was there before", arguments: [false, true])
  func redirect(isExchange: Bool) throws {
    let mark = "trusted.overlay.redirect"
    var failures = 0
    for number in 0..<100 {
      let tree = try LayeredTree([
        directory("p") {
          directory("d") { file("a", "a") }; directory("e") { file("b", "b") }
        }
      ])
      try tree.create("p/d/own", "")
      try tree.create("p/e/own", "")
      // By one name, which leads somewhere in the same parent.
      try tree.rename("p/e", to: "p/f")
      let before = try plainAttribute(tree.upper + "/p/f", mark)
      #expect(before != nil)
      let (result, hits) = Fault(.name, .noSpace, after: number).during {
        if isExchange {
          try tree.rename("p/f", to: "p/d", .exchange)
        } else {
          try tree.rename("p/f", to: "g")
        }
      }
      guard hits > 0 else { break }
      guard case .failure = result else { continue }
      failures += 1
      #expect(try plainAttribute(tree.upper + "/p/d", mark) == nil, "call \(number)")
      #expect(try plainAttribute(tree.upper + "/p/f", mark) == before, "call \(number)")
      #expect(try tree.names("p") == ["d", "f"])
    }
    #expect(failures > 0)
  }
}
