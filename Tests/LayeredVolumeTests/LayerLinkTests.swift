// Files that have several names in a lower: one item before, while and after they are brought up.

import Foundation
import LinuxFiles
import RecordFormat
import Testing

@testable import LayeredVolume

@Suite("Hard links of lowers", .timeLimit(.minutes(2)), .enabled(if: Tree.isRoot)) struct LayerLinkTests {
  /// `one`, `two`, `d/three` are one file; `lone` is another.
  private func three() throws -> LayeredTree {
    try LayeredTree(making: { base in
      try LayeredTree.make(
        [file("one", "same", mode: 0o640), file("lone", "lone"), directory("d")], at: base + "/l1")
      for name in ["two", "d/three"] { Glibc.link(base + "/l1/one", base + "/l1/" + name) }
      return [base + "/l1"]
    })
  }

  private static let names = ["one", "two", "d/three"]

  private func index(_ tree: LayeredTree) throws -> [String] {
    let path = tree.upper + "/.varve/index"
    guard FileManager.default.fileExists(atPath: path) else { return [] }
    return try FileManager.default.contentsOfDirectory(atPath: path)
  }

  /// What all names of one item have to agree about.
  private func shown(_ tree: LayeredTree, _ names: [String]) throws -> Set<String> {
    var lines: Set<String> = []
    for name in names {
      let found = try tree.attributes(name)
      lines.insert("\(found.inode) \(found.linkCount) \(String(found.mode, radix: 8)) \(try tree.read(name))")
    }
    return lines
  }

  @Test("What is written by one name of a lower's file is read by all, and it stays one file") func written()
    throws
  {
    for name in LayerLinkTests.names {
      let tree = try three()
      let number = try tree.attributes("one").inode
      try tree.write(name, "S")
      for _ in 0..<2 {
        #expect(try shown(tree, LayerLinkTests.names) == ["\(number) 3 640 Same"])
        #expect(try index(tree).count == 1)
        try tree.remount()
      }
      // A name that nobody has brought up yet.
      let other = name == "two" ? "one" : "two"
      try tree.write(other, "s")
      try tree.change("d/three") { $0.mode = 0o600 }
      #expect(try shown(tree, LayerLinkTests.names) == ["\(number) 3 600 same"])
    }
  }

  @Test("The count follows names that are removed, replaced, renamed and made, before a copy and after")
  func counted() throws {
    for copiesFirst in [false, true] {
      let tree = try three()
      let number = try tree.attributes("one").inode
      if copiesFirst { try tree.write("two", "s") }
      func check(_ names: [String], _ count: Int, _ line: Int = #line) throws {
        for _ in 0..<2 {
          #expect(try shown(tree, names) == ["\(number) \(count) 640 same"], "line \(line)")
          try tree.remount()
        }
      }
      try tree.remove("one")
      try check(["two", "d/three"], 2)
      try tree.rename("two", to: "d/moved")
      try check(["d/moved", "d/three"], 2)
      try tree.link("d/three", as: "fourth")
      try check(["d/moved", "d/three", "fourth"], 3)
      try tree.rename("lone", to: "d/three")
      #expect(try tree.read("d/three") == "lone")
      try check(["d/moved", "fourth"], 2)
      try tree.rename("d/three", to: "d/moved", .exchange)
      try check(["d/three", "fourth"], 2)
      // Two names of one file: nothing happens.
      try tree.rename("d/three", to: "fourth")
      try check(["d/three", "fourth"], 2)
      try tree.remove("fourth")
      try check(["d/three"], 1)
      #expect(try index(tree).count == 1)
      try tree.remove("d/three")
      #expect(try index(tree).isEmpty)
      #expect(try tree.names("d") == ["moved"])
    }
  }

  @Test("Names that are removed are counted before anything is copied, down to the last") func uncopied()
    throws
  {
    let tree = try three()
    try tree.remove("one")
    #expect(try index(tree).count == 1)
    try tree.remove("d/three")
    #expect(try tree.attributes("two").linkCount == 1)
    try tree.write("two", "S")
    #expect(try tree.attributes("two").linkCount == 1)
    try tree.remount()
    #expect(try shown(tree, ["two"]).first?.hasSuffix(" 1 640 Same") == true)
    try tree.remove("two")
    #expect(try index(tree).isEmpty)
  }

  @Test("Whoever has a file open whose last name is gone sees no names, and changes what nobody finds")
  func nameless() throws {
    let tree = try three()
    try tree.at("one") { node in
      let handle = try tree.volume.open(node, .read, for: tree.caller).handle
      defer { tree.volume.release(handle) }
      for (number, name) in LayerLinkTests.names.enumerated() {
        try tree.remove(name)
        let found = try tree.volume.attributes(of: node, handle: handle, for: tree.caller).attributes
        #expect(found.linkCount == UInt32(2 - number))
      }
      var change = AttributeChange()
      change.mode = 0o600
      let answer = try tree.volume.changeAttributes(of: node, change, handle: handle, for: tree.caller)
      #expect(answer.attributes.mode == 0o600 && answer.attributes.linkCount == 0)
      #expect(try tree.read(handle) == "same")
    }
    #expect(try index(tree).isEmpty)
  }

  @Test("A change by a handle whose own name is gone reaches the other names") func otherNames() throws {
    let tree = try three()
    try tree.at("one") { node in
      let handle = try tree.volume.open(node, .read, for: tree.caller).handle
      defer { tree.volume.release(handle) }
      try tree.remove("one")
      var change = AttributeChange()
      change.mode = 0o604
      let answer = try tree.volume.changeAttributes(of: node, change, handle: handle, for: tree.caller)
      #expect(answer.attributes.mode == 0o604 && answer.attributes.linkCount == 2)
      #expect(try shown(tree, ["two", "d/three"]) == ["\(answer.attributes.inode) 2 604 same"])
    }
    try tree.remount()
    #expect(try shown(tree, ["two", "d/three"]).first?.hasSuffix(" 2 604 same") == true)
  }

  @Test("An upper with an index goes on to count when it is a lower itself") func rotated() throws {
    let tree = try three()
    let number = try tree.attributes("one").inode
    try tree.write("two", "S")
    try tree.remove("one")
    try tree.link("two", as: "fourth")
    tree.close()
    let second = try LayeredTree(making: { base in
      rename(tree.upper, base + "/former")
      return [base + "/former", tree.lowers[0]]
    })
    for _ in 0..<2 {
      #expect(try shown(second, ["two", "d/three", "fourth"]) == ["\(number) 3 640 Same"])
      try second.remount()
    }
    try second.remove("two")
    #expect(try shown(second, ["d/three", "fourth"]) == ["\(number) 2 640 Same"])
    try second.write("d/three", "s")
    for _ in 0..<2 {
      #expect(try shown(second, ["d/three", "fourth"]) == ["\(number) 2 640 same"])
      try second.remount()
    }
    try second.remove("fourth")
    #expect(try shown(second, ["d/three"]) == ["\(number) 1 640 same"])
    try second.remove("d/three")
    #expect(try index(second).isEmpty)
  }

  @Test(
    "An entry that does not say what it is called after is not believed, and is set aside when one is needed")
  func unbelieved() throws {
    let tree = try three()
    try tree.write("two", "S")
    let entry = try #require(try index(tree).first)
    tree.close()
    let path = tree.upper + "/.varve/index/" + entry
    // The entry of another file.
    unlink(path)
    unlink(tree.upper + "/two")
    try "forged".write(toFile: path, atomically: false, encoding: .utf8)
    try tree.remount()
    #expect(try shown(tree, LayerLinkTests.names).first?.hasSuffix(" 3 640 same") == true)
    try tree.write("two", "s")
    try tree.change("two") { $0.mode = 0o600 }
    #expect(try shown(tree, LayerLinkTests.names).first?.hasSuffix(" 3 600 same") == true)
    let trash = try FileManager.default.contentsOfDirectory(atPath: tree.upper + "/.varve/trash")
    #expect(trash == ["rescued-" + entry])
    let kept = try String(
      contentsOfFile: tree.upper + "/.varve/trash/" + (trash.first ?? ""), encoding: .utf8)
    #expect(kept == "forged")
  }

  /// What the index has of a file.
  enum EntryKind: CaseIterable, Sendable {
    case copied, counting
    /// That of a lower, which was an upper once.
    case inLower
  }

  @Test(
    "An entry with a damaged record closes all names of its file, and tells nothing of what the lower has",
    arguments: EntryKind.allCases)
  func damagedEntry(_ kind: EntryKind) throws {
    var tree = try three()
    if kind == .counting { try tree.remove("two") } else { try tree.write("two", "S") }
    let entry = try #require(try index(tree).first)
    let file = try Descriptor.open(path: "\(tree.upper)/.varve/index/\(entry)", .readOnly)
    if kind == .inLower {
      tree.close()
      let layers = [tree.upper] + tree.lowers
      tree = try LayeredTree(making: { base in
        for (number, layer) in layers.enumerated() { Glibc.rename(layer, "\(base)/l\(number)") }
        return ["\(base)/l0", "\(base)/l1"]
      })
    }
    let name = try AttributeName("trusted.varve.m")
    var record = try #require(try file.attribute(name))
    for bit in 0..<record.count * 8 {
      record[bit / 8] ^= 1 << UInt8(bit % 8)
      try file.setAttribute(name, to: record)
      // Found by a mount in use, and by a new one.
      if bit % 8 == bit / 8 % 8 { try tree.remount() }
      for path in LayerLinkTests.names where path != "two" {
        let story: Comment = "bit \(bit), \(path)"
        #expect(throws: Errno.inputOutput, story) { try tree.attributes(path) }
        #expect(throws: Errno.inputOutput, story) { try tree.read(path) }
        #expect(throws: Errno.inputOutput, story) { try tree.write(path, "W") }
        #expect(throws: Errno.inputOutput, story) { try tree.rename(path, to: "new") }
      }
      let refusal = kind == .counting ? Errno.noSuchFile : .inputOutput
      #expect(throws: refusal, "bit \(bit)") { try tree.read("two") }
      record[bit / 8] ^= 1 << UInt8(bit % 8)
    }
    try file.setAttribute(name, to: record)
    let names = LayerLinkTests.names.filter { kind != .counting || $0 != "two" }
    #expect(
      try shown(tree, names).map { String($0.drop { $0 != " " }) }
        == [kind == .counting ? " 2 640 same" : " 3 640 Same"])
  }

  @Test("Links, FIFOs and sockets of several names are brought up as one, too") func others() throws {
    let tree = try LayeredTree(making: { base in
      mkdir(base + "/l1", 0o755)
      mkfifo(base + "/l1/pipe", 0o644)
      Glibc.link(base + "/l1/pipe", base + "/l1/other")
      symlink("target", base + "/l1/link")
      Glibc.link(base + "/l1/link", base + "/l1/further")
      return [base + "/l1"]
    })
    let number = try tree.attributes("pipe").inode
    try tree.setAttribute("pipe", "system.varve.flags", "hidden")
    try tree.rename("link", to: "renamed")
    for _ in 0..<2 {
      #expect(try tree.attributes("other").inode == number)
      #expect(try tree.attributes("renamed").inode == tree.attributes("further").inode)
      for name in ["pipe", "other", "renamed", "further"] {
        #expect(try tree.attributes(name).linkCount == 2, "\(name)")
      }
      try tree.remount()
    }
  }

  @Test("While the index is empty nobody looks into it, and files of one name never do") func quiet() throws {
    let tree = try three()
    #expect(!FileManager.default.fileExists(atPath: tree.upper + "/.varve/index"))
    try tree.write("lone", "L")
    try tree.remove("lone")
    #expect(!FileManager.default.fileExists(atPath: tree.upper + "/.varve/index"))
    try tree.remove("two")
    #expect(try index(tree).count == 1)
  }

  @Test("Many who change one file by all its names at once change one file", arguments: [1, 2, 3])
  func raced(round: Int) throws {
    let names = ["one", "two", "d/three", "d/four"]
    let tree = try LayeredTree(making: { base in
      try LayeredTree.make(
        [file("one", String(repeating: "-", count: 64)), directory("d")], at: base + "/l1")
      for name in names.dropFirst() { Glibc.link(base + "/l1/one", base + "/l1/" + name) }
      return [base + "/l1"]
    })
    let number = try tree.attributes("one").inode
    DispatchQueue.concurrentPerform(iterations: 8) { worker in
      do {
        for turn in 0..<8 {
          let name = names[(worker + turn) % names.count]
          switch (worker + turn + round) % 4 {
          case 0: try tree.write(name, "\(worker)", at: UInt64(8 * worker + turn))
          case 1: #expect(try tree.attributes(name).inode == number)
          case 2: try tree.change(name) { $0.mode = 0o600 }
          default: _ = try tree.names(name.hasPrefix("d/") ? "d" : "")
          }
        }
      } catch {
        Issue.record("worker \(worker): \(error)")
      }
    }
    #expect(tree.volume.nodeCount == 0)
    for _ in 0..<2 {
      let all = try shown(tree, names)
      #expect(all.count == 1 && all.first?.hasPrefix("\(number) 4 600 ") == true, "\(all)")
      #expect(try index(tree).count == 1)
      try tree.remount()
    }
  }
}
