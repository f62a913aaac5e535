// Changes of a volume over lowers with each of their system calls failing in turn, alone and with all that follow: the
// latter is what a crash leaves.

import Faults
import FlagRules
import Foundation
import LinuxFiles
import Testing

@testable import LayeredVolume

/// A change of a layered tree.
struct LayerChange: Sendable, CustomTestStringConvertible {
  let testDescription: String
  /// What is done before, without faults.
  let before: @Sendable (LayeredTree) throws -> Void
  let make: @Sendable (LayeredTree) throws -> Void

  init(
    _ name: String, after before: @escaping @Sendable (LayeredTree) throws -> Void = { _ in },
    _ make: @escaping @Sendable (LayeredTree) throws -> Void
  ) {
    (testDescription, self.before, self.make) = (name, before, make)
  }

  func tree() throws -> LayeredTree {
    let tree = try LayeredTree(making: { base in
      try LayeredTree.make(
        [
          file("one", "one", attributes: ["user.note": "kept"]), file("other", "other"),
          directory("d") { directory("inner") { file("deep", "deep") } },
          directory("empty"), symbolicLink("link", to: "one"),
        ], at: base + "/l1")
      try LayeredTree.make(
        [file("one", "below"), directory("d") { file("below", "below", mode: 0o640) }], at: base + "/l2")
      Glibc.link(base + "/l1/other", base + "/l1/second")
      Glibc.link(base + "/l1/other", base + "/l1/d/third")
      return [base + "/l1", base + "/l2"]
    })
    try before(tree)
    return tree
  }

  private static let emptied: @Sendable (LayeredTree) throws -> Void = { tree in
    try tree.remove("d/below")
    try tree.remove("d/third")
    try tree.remove("d/inner/deep")
    try tree.removeDirectory("d/inner")
  }

  static let all = [
    LayerChange("write to a lower's file") { try $0.write("one", "ONE") },
    LayerChange("write below directories of lowers") { try $0.write("d/inner/deep", "DEEP") },
    LayerChange("truncation by an open") { try $0.open("one", [.write, .truncate]) { _ in } },
    LayerChange("truncation to a size") { try $0.change("d/below") { $0.size = 2 } },
    LayerChange("chmod") { try $0.change("d/below") { $0.mode = 0o600 } },
    LayerChange("chflags") { try $0.setAttribute("one", "system.varve.flags", "nodump") },
    LayerChange("a list") { try $0.setAttribute("d", "system.varve.acl", "user:1001 deny read") },
    LayerChange("create") { try $0.create("d/inner/new", "") },
    LayerChange("create over a whiteout", after: { try $0.remove("one") }) { try $0.create("one", "") },
    LayerChange("mkdir over a whiteout", after: { try $0.remove("one") }) { try $0.makeDirectory("one") },
    LayerChange("symlink over a whiteout", after: { try $0.remove("one") }) {
      try $0.makeSymbolicLink("one", to: "x")
    },
    LayerChange("link") { try $0.link("one", as: "d/new") },
    LayerChange("link over a whiteout", after: { try $0.remove("d/below") }) {
      try $0.link("one", as: "d/below")
    },
    LayerChange("unlink of a lower's") { try $0.remove("d/below") },
    LayerChange("unlink of what was brought up", after: { try $0.write("one", "ONE") }) {
      try $0.remove("one")
    },
    LayerChange("rmdir of a lower's") { try $0.removeDirectory("empty") },
    LayerChange("rmdir of a merged one", after: emptied) { try $0.removeDirectory("d") },
    LayerChange("rename of a file") { try $0.rename("d/below", to: "new") },
    LayerChange("rename of a link") { try $0.rename("link", to: "d/new") },
    LayerChange("rename over a file") { try $0.rename("d/below", to: "one") },
    LayerChange("rename over a whiteout", after: { try $0.remove("one") }) {
      try $0.rename("d/below", to: "one")
    },
    LayerChange("rename of a directory") { try $0.rename("d", to: "moved") },
    LayerChange("rename of a directory over a whiteout", after: { try $0.remove("one") }) {
      try $0.rename("d", to: "one")
    },
    LayerChange(
      "rename of a new directory over a whiteout",
      after: {
        try $0.remove("one")
        try $0.makeDirectory("fresh")
      }
    ) { try $0.rename("fresh", to: "one") },
    LayerChange("rename over an emptied directory", after: emptied) { try $0.rename("empty", to: "d") },
    LayerChange("exchange of files") { try $0.rename("one", to: "d/below", .exchange) },
    LayerChange("exchange of directories") { try $0.rename("d/inner", to: "empty", .exchange) },
    LayerChange("write by one of several names") { try $0.write("second", "O") },
    LayerChange("write by a name, others counted", after: { try $0.remove("other") }) {
      try $0.write("second", "O")
    },
    LayerChange("truncation of one of several by an open") {
      try $0.open("second", [.write, .truncate]) { _ in }
    },
    LayerChange("truncation of one to a size, others counted", after: { try $0.remove("other") }) {
      try $0.change("second") { $0.size = 2 }
    },
    LayerChange("unlink of one of several") { try $0.remove("second") },
    LayerChange("unlink of a second", after: { try $0.remove("second") }) { try $0.remove("d/third") },
    LayerChange("unlink of one that is up", after: { try $0.write("second", "O") }) {
      try $0.remove("second")
    },
    LayerChange("unlink of one whose object is up", after: { try $0.write("second", "O") }) {
      try $0.remove("d/third")
    },
    LayerChange("rename of one whose object is up", after: { try $0.write("second", "O") }) {
      try $0.rename("d/third", to: "moved")
    },
    LayerChange("rename of one of several") { try $0.rename("d/third", to: "moved") },
    LayerChange("rename over one of several") { try $0.rename("one", to: "second") },
  ]
}

@Suite("Changes of layers whose system calls fail", .timeLimit(.minutes(3)), .enabled(if: Tree.isRoot))
struct LayerFaultTests {
  private static let isLong = ProcessInfo.processInfo.environment["LONG"] == "1"
  private static let errors: [Errno] = isLong ? [.noSpace, .inputOutput] : [.noSpace]

  /// Makes a change with each of its calls failing in turn, until none is left to fail.
  private func sweep(
    _ change: LayerChange, _ fault: Fault,
    _ body: (LayeredTree, Errno?, _ before: [String], Comment) throws -> Void
  ) throws {
    var fault = fault
    for number in 0..<300 {
      let tree = try change.tree()
      let before = try tree.state()
      fault.after = number
      let (result, hits) = fault.during { try change.make(tree) }
      let story: Comment = "\(change.testDescription), \(fault.error.name) at call \(number): \(result)"
      guard hits > 0 else {
        #expect(throws: Never.self, story) { try result.get() }
        return
      }
      var error: Errno?
      if case .failure(let failure) = result { error = failure as? Errno }
      try body(tree, error, before, story)
    }
    Issue.record("there was no end of calls")
  }

  private func outcome(_ change: LayerChange) throws -> [String] {
    let tree = try change.tree()
    try change.make(tree)
    return try tree.state()
  }

  private func work(_ tree: LayeredTree) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: tree.upper + "/.varve/work").filter { $0 != "wh" }
  }

  @Test(
    "A change of layers that fails has changed nothing, and left nothing", arguments: LayerChange.all,
    LayerFaultTests.errors)
  func atomic(_ change: LayerChange, _ error: Errno) throws {
    let wanted = try outcome(change)
    try sweep(change, Fault(.changes, error)) { tree, failure, before, story in
      #expect(tree.volume.nodeCount == 0 && tree.volume.handleCount == 0, story)
      // With its bytes elsewhere a file can be created, and then not be written to: that is two changes.
      expect(try tree.state(), isOneOf: failure == nil ? [wanted] : [before], story)
      try tree.remount()
      expect(try tree.state(), isOneOf: failure == nil ? [wanted] : [before], story)
      #expect(try work(tree).isEmpty, story)
    }
  }

  @Test(
    "A change of layers that ends at any of its calls shows what was before or what is after",
    arguments: LayerChange.all)
  func ended(_ change: LayerChange) throws {
    let wanted = try outcome(change)
    let fresh = try change.tree()
    let lowers = try fresh.lowers.map { try plainState($0) }
    try sweep(change, Fault(.changes, .inputOutput, count: .max)) { tree, _, before, story in
      try tree.remount()
      expect(try tree.state(), isOneOf: [before, wanted], story)
      #expect(try work(tree).isEmpty, story)
      #expect(try tree.lowers.map { try plainState($0) } == lowers, story)
      // And the volume goes on.
      try tree.create("goes-on")
      try tree.remove("goes-on")
    }
  }
}

/// Lines without the count of links of files, which may be one too high.
private func uncounted(_ lines: [String]) -> [String] {
  lines.map { line in
    var words = line.split(separator: " ", omittingEmptySubsequences: false)
    if words.count > 3, Int(words[2]) != nil { words.remove(at: 2) }
    return words.joined(separator: " ")
  }
}

private func counts(_ lines: [String]) -> [String: Int] {
  var counts: [String: Int] = [:]
  for line in lines {
    let words = line.split(separator: " ")
    if words.count > 3 { counts[String(words[0])] = Int(words[2]) }
  }
  return counts
}

/// What a tree shows after a crash: one of these states, but that a count of names may be one too high.
func expect(_ now: [String], isOneOf states: [[String]], _ story: Comment) {
  let match = states.first { uncounted($0) == uncounted(now) }
  #expect(match != nil, "\(story): \(now)")
  guard let match else { return }
  let (found, exact) = (counts(now), counts(match))
  for (name, count) in exact {
    #expect(found[name] == count || found[name] == count + 1, "\(story): \(name)")
  }
}
