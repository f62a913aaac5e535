// Marks of overlayfs that somebody has forged in a lower: each is followed as it says, or ignored, or an error; none leads out of
// its layer.

import Foundation
import Glibc
import LinuxFiles
import Testing

@testable import LayeredVolume

@Suite("Forged marks of lowers", .timeLimit(.minutes(2)), .enabled(if: Tree.isRoot)) struct ForgedMarkTests {
  /// What the directory `d` shows, of which the topmost lower has a part with the mark.
  enum Shown: Sendable {
    /// That part alone.
    case own
    /// What the layers below have under its name as well.
    case merged
    /// What they have elsewhere.
    case far
    case unusable

    var names: [String]? {
      switch self {
      case .own: ["own"]
      case .merged: ["below", "own"]
      case .far: ["far", "own"]
      case .unusable: nil
      }
    }
  }

  struct Row: Sendable, CustomTestStringConvertible {
    let mark: String
    let value: [UInt8]
    let shown: Shown

    init(_ mark: String, _ value: String, _ shown: Shown) {
      self.init(mark, Array(value.utf8), shown)
    }

    init(_ mark: String, _ value: [UInt8], _ shown: Shown) {
      (self.mark, self.value, self.shown) = (mark, value, shown)
    }

    var testDescription: String {
      "\(mark)=\(String(decoding: value.prefix(40), as: UTF8.self).debugDescription)"
    }
  }

  private static let redirect = "trusted.overlay.redirect"
  private static let opaque = "trusted.overlay.opaque"
  private static let long = String(repeating: "a", count: 300)

  /// Some bytes of each kind of value that overlayfs gives `origin`, and none that it would.
  private static let junk: [[UInt8]] = [
    [], [0], [0xFB, 0xFF, 0, 0], [0, 0xFB, 0xFF, 0xFF, 0, 0xF8], [UInt8](repeating: 0xFB, count: 300),
  ]

  /// Values of `redirect` that are no path and no name.
  private static let unusable: [String] = [
    "..", "../d", "/..", "/../etc", "/d/../far", "/far/..", "/far/../../etc", ".", "/.", "/far/.", "", "/",
    "//", "//far", "/far/", "/elsewhere//far", "elsewhere/far", "far/", "\0", "far\0", "/far\0",
    "/far\0/../..", long, "/" + long, "/far/" + long,
  ]

  /// Paths to what is not there, is no directory, or is nobody's to see.
  private static let nowhere: [String] = [
    "/etc", "/tmp", "/nowhere", "nowhere", "/nowhere/far", "/" + String(repeating: "a/", count: 400) + "a",
    "out", "/out", "/out/secret", "link", "/link", "/link/inside", "fifo", "/fifo", "/fifo/x", "file",
    "/file",
    "/file/x", ".varve", "/.varve", "/.varve/work",
  ]

  private static let notOpaque: [String] = ["", "x", "n", "Y", "yy", "y\n", "y\0", "\0", "0", "1", long]

  private static let ignored: [String] = [
    "origin", "impure", "nlink", "upper", "uuid", "metacopy", "protattr", "whiteouts", "verity", "unknown",
  ]

  static let rows: [Row] = {
    var rows: [Row] = []
    for value in unusable { rows.append(Row(redirect, value, .unusable)) }
    for value in nowhere { rows.append(Row(redirect, value, .own)) }
    for value in ["far", "/far", "/elsewhere/far"] { rows.append(Row(redirect, value, .far)) }
    for value in ["d", "/d"] { rows.append(Row(redirect, value, .merged)) }
    rows.append(Row(redirect, [0xFF, 0xFE], .own))
    rows.append(Row(redirect, [0x2F, 0xC0, 0xAF], .own))
    rows.append(Row(opaque, "y", .own))
    for value in notOpaque { rows.append(Row(opaque, value, .unusable)) }
    for mark in ignored {
      for value in junk { rows.append(Row("trusted.overlay." + mark, value, .merged)) }
    }
    // Those of users say nothing on a volume of root's.
    for value in ["..", "/far", "x"] { rows.append(Row("user.overlay.redirect", value, .merged)) }
    for value in ["y", "x"] { rows.append(Row("user.overlay.opaque", value, .merged)) }
    return rows
  }()

  private func tree(_ row: Row) throws -> LayeredTree {
    try LayeredTree(making: { base in
      try LayeredTree.make([file("secret", "secret")], at: base + "/outside")
      try LayeredTree.make([directory("d") { file("own", "own") }], at: base + "/lower1")
      try LayeredTree.make(
        [
          directory("d") { file("below", "below") }, directory("far") { file("far", "far") },
          directory("elsewhere") { directory("far") { file("far", "far") } }, file("file"),
          symbolicLink("out", to: base + "/outside"), symbolicLink("link", to: "../outside"),
          directory(".varve") { directory("work") { file("secret", "secret") } },
        ], at: base + "/lower2")
      chmod(base + "/lower2/.varve", 0o700)
      guard mkfifo(base + "/lower2/fifo", 0o644) == 0 else { throw Errno.current }
      let marked = try Descriptor.open(path: base + "/lower1/d", .readOnly)
      try AttributeName.with(Array(row.mark.utf8)) { name throws(Errno) in
        try marked.setAttribute(name, to: row.value)
      }
      return [base + "/lower1", base + "/lower2"]
    })
  }

  /// What else can be done to the directory, all of which needs to know what is in it.
  private func deeds(_ tree: LayeredTree) -> [(String, () throws -> Void)] {
    [
      ("read", { _ = try tree.read("d/own") }), ("create", { try tree.create("d/new", "new") }),
      ("write", { try tree.write("d/own", "OWN") }), ("remove", { try tree.remove("d/own") }),
      ("move", { try tree.rename("d", to: "moved") }), ("move back", { try tree.rename("moved", to: "d") }),
    ]
  }

  @Test(
    "A mark leads nowhere but into the layers below, and what is no mark of ours is ignored or an error",
    arguments: rows)
  func followed(_ row: Row) throws {
    let tree = try tree(row)
    let lowers = try tree.lowers.map(stamps)
    for _ in 0..<2 {
      // It is always listed, and looked at.
      #expect(try tree.names("").contains("d"))
      #expect(try tree.attributes("d").kind == .directory)
      if let names = row.shown.names {
        #expect(try tree.names("d") == names)
        #expect(throws: Errno.noSuchFile) { try tree.attributes("d/secret") }
        #expect(throws: Errno.noSuchFile) { try tree.attributes("d/inside") }
      } else {
        #expect(throws: Errno.inputOutput) { try tree.names("d") }
        #expect(throws: Errno.inputOutput) { try tree.attributes("d/own") }
      }
      try tree.remount()
    }
    // A copy of the directory alone keeps what shows, and the mark does not come along.
    try tree.change("d") { $0.mode = 0o711 }
    #expect(try plainAttribute(tree.upper + "/d", row.mark) == nil)
    for (word, deed) in deeds(tree) {
      if row.shown.names == nil {
        // What was not moved cannot be moved back.
        let error: Errno = word == "move back" ? .noSuchFile : .inputOutput
        #expect(throws: error, "\(word)") { try deed() }
      } else {
        #expect(throws: Never.self, "\(word)") { try deed() }
      }
    }
    for _ in 0..<2 {
      if let names = row.shown.names {
        #expect(try tree.names("d") == (names.filter { $0 != "own" } + ["new"]).sorted())
      } else {
        #expect(throws: Errno.inputOutput) { try tree.names("d") }
        #expect(throws: Errno.inputOutput) { try tree.removeDirectory("d") }
      }
      try tree.remount()
    }
    if let names = row.shown.names {
      for name in names where name != "own" { try tree.remove("d/\(name)") }
      try tree.remove("d/new")
      try tree.removeDirectory("d")
      #expect(throws: Errno.noSuchFile) { try tree.attributes("d") }
    }
    #expect(try tree.lowers.map(stamps) == lowers)
    #expect(try plainState(tree.base + "/outside") == ["secret 644 1 'secret'"])
  }

  @Test("A mark of a root of a lower says nothing, whatever it is") func roots() throws {
    for (mark, value) in [
      (ForgedMarkTests.opaque, "y"), (ForgedMarkTests.opaque, "x"), (ForgedMarkTests.redirect, "/../etc"),
      (ForgedMarkTests.redirect, "/d"),
    ] {
      let tree = try LayeredTree(making: { base in
        try LayeredTree.make([file("own")], at: base + "/lower1")
        try LayeredTree.make([file("below")], at: base + "/lower2")
        try setPlainAttribute(base + "/lower1", mark, value)
        return [base + "/lower1", base + "/lower2"]
      })
      #expect(try tree.names("") == ["below", "own"], "\(mark)=\(value)")
      #expect(throws: Never.self) { try tree.write("own", "x") }
    }
  }

  @Test("Marks of files: what has its bytes is a file, what says that they are elsewhere is an error")
  func files() throws {
    for (size, mark, value, isHollow) in [
      (0, "metacopy", [], false), (5, "metacopy", [], false), (5, "metacopy", [0xFF], false),
      (1 << 20, "metacopy", [], true), (1 << 20, "metacopy", [UInt8](repeating: 0xFF, count: 300), true),
      (1 << 20, "redirect", Array("/../../etc/passwd".utf8), false),
      (5, "redirect", Array("/far".utf8), false),
      (5, "opaque", Array("y".utf8), false), (5, "origin", [0xFB], false), (1 << 20, "origin", [], false),
    ] as [(Int, String, [UInt8], Bool)] {
      let story: Comment = "\(mark) \(value.prefix(8)) on \(size) bytes"
      let tree = try LayeredTree(making: { base in
        // More than a page of it is a hole.
        try LayeredTree.make([file("f", size == 0 ? "" : "bytes")], at: base + "/lower1")
        if size > 5 {
          truncate(base + "/lower1/f", 0)
          truncate(base + "/lower1/f", off_t(size))
        }
        let file = try Descriptor.open(path: base + "/lower1/f", .readOnly)
        try AttributeName.with(Array("trusted.overlay.\(mark)".utf8)) { name throws(Errno) in
          try file.setAttribute(name, to: value)
        }
        return [base + "/lower1"]
      })
      let shown = size == 0 ? "" : size == 5 ? "bytes" : String(repeating: "\0", count: 4_096)
      #expect(try tree.attributes("f").size == UInt64(size), story)
      if isHollow {
        #expect(throws: Errno.inputOutput, story) { try tree.read("f") }
        #expect(throws: Errno.inputOutput, story) { try tree.write("f", "B") }
        #expect(throws: Errno.inputOutput, story) { try tree.change("f") { $0.mode = 0o600 } }
        #expect(try FileManager.default.contentsOfDirectory(atPath: tree.upper) == [".varve"], story)
        // What needs no bytes.
        #expect(throws: Never.self, story) { try tree.remove("f") }
      } else {
        #expect(try tree.read("f") == shown, story)
        try tree.write("f", "B")
        #expect(try tree.read("f") == "B" + shown.dropFirst(), story)
        #expect(try plainAttribute(tree.upper + "/f", "trusted.overlay.\(mark)") == nil, story)
      }
    }
  }
}
