// What a volume tells of its layers: the door of an item, the changes of a directory, and its status.

import Decisions
import Foundation
import JSONForm
import LinuxFiles
import Testing

@testable import LayeredVolume

@Suite("What is told of layers", .timeLimit(.minutes(2)), .enabled(if: Tree.isRoot)) struct LayerToolTests {
  @Items private static func first() -> [TreeItem] {
    file("both", "first")
    directory("merged") {
      file("a", "a")
      file("gone", "gone")
      directory("inner") { file("deep", "deep") }
    }
    directory("closed") { file("old", "old") }
    directory("moving") { file("inside", "inside") }
    directory("turned") { file("t", "t") }
    symbolicLink("link", to: "both")
  }

  @Items private static func second() -> [TreeItem] {
    file("single", "single")
    file("metadata", "same", attributes: ["user.note": "one"])
    directory("merged") { file("b", "b") }
  }

  private func changed() throws -> LayeredTree {
    let tree = try LayeredTree(LayerToolTests.first(), LayerToolTests.second())
    try tree.write("merged/b", "B!")
    try tree.remove("merged/gone")
    try tree.create("merged/new", "new")
    try tree.change("metadata") { $0.mode = 0o600 }
    try tree.rename("moving", to: "merged/moved")
    try tree.remove("closed/old")
    try tree.removeDirectory("closed")
    try tree.makeDirectory("closed")
    try tree.create("closed/fresh")
    try tree.rename("turned", to: "aside")
    try tree.create("turned")
    return tree
  }

  private func door(_ path: String, _ tree: LayeredTree) throws -> String {
    let caller = tree.caller
    return try tree.at(path) { node in
      String(decoding: try tree.volume.layerDoor(node, caller), as: UTF8.self)
    }
  }

  @Test("The door of an item says from which layers it is shown") func doors() throws {
    let tree = try changed()
    for _ in 0..<2 {
      for (path, said) in [
        ("", "merged 0,1,2"), ("both", "lower 1"), ("single", "lower 2"), ("link", "lower 1"),
        ("merged", "merged 0,1,2"), ("merged/a", "lower 1"), ("merged/b", "copied"), ("merged/new", "upper"),
        ("merged/inner", "lower 1"), ("closed", "upper opaque"), ("closed/fresh", "upper"),
        ("merged/moved", "merged 0,1 redirect /moving"), ("merged/moved/inside", "lower 1"),
      ] {
        #expect(try door(path, tree) == said, "\(path)")
      }
      try tree.remount()
    }
    try tree.setAttribute("merged", "system.varve.flags", "opaque")
    #expect(try door("merged", tree) == "copied opaque")
  }

  @Test("The door is never listed, cannot be set, and asks for the right of stat") func guarded() throws {
    let tree = try changed()
    let caller = tree.caller
    #expect(throws: Errno.notPermitted) { try tree.setAttribute("both", "system.varve.layer", "upper") }
    let listed = try tree.at("both") { try tree.volume.listExtendedAttributes(of: $0, for: caller) }
    #expect(!String(decoding: listed, as: UTF8.self).contains("varve"))
    try tree.setAttribute("merged/a", "system.varve.acl", "user:7001 deny readattr")
    try tree.at("merged/a") { node in
      let other = Caller(user: 7001, group: 7001, thread: getpid())
      #expect(throws: Errno.accessDenied) { try tree.volume.layerDoor(node, other) }
    }
  }

  @Test("Without lowers every item is in the upper directory") func alone() throws {
    let tree = try Tree { file("f", "x") }
    #expect(try tree.attribute("f", "system.varve.layer") == Array("upper".utf8))
  }

  // MARK: Changes

  private func ask(
    _ tree: LayeredTree, _ path: String, from offset: Int64 = 0, user: UInt32 = 0
  ) throws -> JSON {
    let subject = tree.volume.assumed(user: user, group: user, groups: [])
    return .object(
      try tree.volume.layerChanges(
        LayerQuestion(Array(path.utf8), from: offset, tellsItself: offset == 0), as: subject,
        within: WalkLimits(deadline: .max)))
  }

  private func list(_ value: JSON?) -> [JSON] {
    if case .array(let values)? = value { values } else { [] }
  }

  /// All changes below a directory, as lines.
  private func changes(_ tree: LayeredTree, _ path: String = "", user: UInt32 = 0) throws -> [String] {
    var lines: [String] = []
    var offset: Int64? = 0
    while let from = offset {
      let answer = try ask(tree, path, from: from, user: user)
      #expect(answer["failures"] == nil)
      for change in list(answer["changes"]) {
        let name = change["name"]?.string ?? ""
        let inner = path.isEmpty ? name : "\(path)/\(name)"
        let former = change["from"]?.string.map { " \($0)" } ?? ""
        let letter = change["change"]?.string ?? ""
        if letter != "=" { lines.append("\(letter)\(former) \(inner)") }
        if change["directory"] == .bool(true), letter != "D" { lines += try changes(tree, inner, user: user) }
      }
      offset = answer["next"]?.integer.map { Int64($0) }
    }
    return lines.sorted()
  }

  private static let expected = [
    "A closed", "A closed/fresh", "A merged/new", "A turned", "D closed", "D merged/gone",
    "D moving", "D turned", "M merged/b", "R moving merged/moved", "R turned aside", "m metadata",
  ]

  @Test("What the upper changes is told item by item, and what it has like the lowers is not") func told()
    throws
  {
    let tree = try changed()
    for _ in 0..<2 {
      #expect(try changes(tree) == LayerToolTests.expected)
      try tree.remount()
    }
    // Written and put back: the same content, and the time says so.
    let before = try tree.attributes("merged/a")
    try tree.write("merged/a", "a")
    #expect(try changes(tree).contains("M merged/a"))
    try tree.change("merged/a") { $0.modification = .set(before.modification) }
    #expect(try !changes(tree).contains { $0.hasSuffix("merged/a") })
    try tree.setAttribute("merged/a", "user.other", "two")
    #expect(try changes(tree).contains("m merged/a"))
    try tree.setAttribute("metadata", "user.note", "two")
    try tree.change("metadata") { $0.mode = 0o644 }
    #expect(try changes(tree).contains("m metadata"))
    // One item alone.
    let alone = try ask(tree, "merged/b")
    #expect(list(alone["itself"]).compactMap { $0["change"]?.string } == ["M"])
    #expect(list(alone["changes"]).isEmpty)
  }

  @Test("Whoever asks needs the rights list and search, and to stat what is compared") func rights() throws {
    let tree = try changed()
    try tree.change("merged") { $0.mode = 0o711 }
    #expect(throws: Errno.accessDenied) { try ask(tree, "merged", user: 7001) }
    try tree.change("merged") { $0.mode = 0o755 }
    try tree.change("metadata") { $0.mode = 0o644 }
    #expect(try !changes(tree, user: 7001).contains { $0.hasSuffix("metadata") })
    try tree.setAttribute("metadata", "system.varve.acl", "user:7001 deny readattr")
    #expect(try changes(tree, user: 7001).contains("M metadata"))
    #expect(try changes(tree).contains("m metadata"))
    try tree.setAttribute("", "system.varve.acl", "user:7001 deny list")
    #expect(throws: Errno.accessDenied) { try ask(tree, "", user: 7001) }
    // Of the directory itself it is told, too, as what is in its parent.
    #expect(throws: Errno.accessDenied) { try ask(tree, "merged", user: 7001) }
  }

  @Test("A long directory is told in several answers, each name once") func long() throws {
    let tree = try LayeredTree(LayerToolTests.first())
    tree.close()
    for index in 0..<2_500 {
      _ = FileManager.default.createFile(atPath: "\(tree.upper)/f\(index)", contents: nil)
    }
    try tree.remount()
    let first = try ask(tree, "")
    #expect(list(first["changes"]).count == 1_000 && first["next"] != nil)
    let lines = try changes(tree)
    #expect(lines.count == 2_500 && Set(lines).count == 2_500)
    // An offset that no answer said is no way to anything else.
    _ = try ask(tree, "", from: 12_345)
  }

  @Test("A mark that cannot be followed is told of its item, and of nothing else") func damaged() throws {
    let tree = try changed()
    tree.close()
    try setPlainAttribute(tree.upper + "/merged/moved", "trusted.overlay.redirect", "/../moving")
    try tree.remount()
    let answer = try ask(tree, "merged")
    #expect(list(answer["failures"]).compactMap { $0["name"]?.string } == ["moved"])
    #expect(list(answer["changes"]).contains { $0["name"]?.string == "new" })
    #expect(throws: Errno.inputOutput) { try door("merged/moved", tree) }
  }

  // MARK: Status

  @Test("The status tells the layers, and whether they are others than the last time") func status() throws {
    let tree = try changed()
    let status = tree.volume.status()
    let layers = list(status["layers"])
    #expect(layers.compactMap { $0["path"]?.string } == [tree.upper] + tree.lowers)
    #expect(
      layers.dropFirst().allSatisfy { $0["sealed"] == .bool(true) && $0["records"]?.string == "unknown" })
    #expect(layers.first?["records"]?.string == "yes")
    #expect((status["broughtUp"]?["items"]?.integer ?? 0) > 2)
    #expect(status["formerLowers"] == nil && status["upperDirectory"] == nil)
    tree.close()
    // Over one lower, and from a copy of the tree.
    rename(tree.upper, tree.base + "/former")
    let copied = try Program.copy(tree.base + "/former", to: tree.upper)
    #expect(copied == 0)
    try tree.remount(over: [tree.lowers[0]])
    let other = tree.volume.status()
    #expect(other["formerLowers"]?.string == tree.lowers.joined(separator: ":"))
    #expect(other["upperDirectory"]?.string?.contains("varve check --repair") == true)
    try tree.remount(over: [tree.lowers[0]])
    #expect(tree.volume.status()["formerLowers"] == nil)
    // Until it is repaired.
    #expect(tree.volume.status()["upperDirectory"] != nil)
  }
}

private enum Program {
  static func copy(_ path: String, to target: String) throws -> Int32 {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/bin/cp")
    process.arguments = ["-a", path, target]
    try process.run()
    process.waitUntilExit()
    return process.terminationStatus
  }
}

extension Volume {
  fileprivate func layerDoor(_ node: NodeID, _ caller: Caller) throws -> [UInt8] {
    try AttributeName.with(Array("system.varve.layer".utf8)) { name throws(Errno) in
      try extendedAttribute(name, of: node, for: caller)
    }
  }
}
