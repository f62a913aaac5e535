// What `.varve/status` tells about encrypted files.

import Foundation
import JSONForm
import LinuxFiles
import Testing

@testable import LayeredVolume

@Suite struct EncryptedStatusTests {
  private func told(_ tree: Tree) throws -> JSON {
    try #require(try tree.volume().status()["encryptedFiles"])
  }

  private func state(_ tree: Tree, _ name: String) throws -> JSON? {
    let status = try tree.volume().status()
    return status["classes"]?[name]
  }

  private func number(_ tree: Tree, _ name: String) throws -> Int? {
    try told(tree)[name]?.integer.map { Int($0) }
  }

  /// Files whose content was opened, and those that are in use.
  private func files(_ tree: Tree, _ name: String) throws -> [Int?] {
    let counts = try told(tree)[name]
    return ["opened", "inUse"].map { counts?[$0]?.integer.map { Int($0) } }
  }

  @Test("A volume without a keybag says nothing of encrypted files") func withoutAKeybag() throws {
    let tree = try Tree { directory("d") }
    let status = try tree.volume().status()
    #expect(status["encryptedFiles"] == nil && status["classes"] == nil)
  }

  @Test("Files are counted by class, those in use apart") func filesByClass() throws {
    let tree = try Tree.vault()
    for name in ["a/one", "a/two", "b/file"] { try tree.make(name, "text") }
    try tree.open("a/one") { _, _ in
      // What the kernel has forgotten is not counted: here that is what nobody has open.
      try tree.open("b/file") { _, _ throws in
        #expect(try files(tree, "complete") == [1, 1])
        #expect(try files(tree, "complete-unless-open") == [1, 1])
        #expect(try files(tree, "until-first-unlock") == [0, 0])
      }
      try tree.at("a/two") { _, _ in
        try tree.open("a/two")
        #expect(try files(tree, "complete") == [2, 1])
      }
    }
    #expect(try state(tree, "complete") == .string("open"))
    try tree.lock()
    #expect(try state(tree, "complete") == .string("locked"))
    #expect(try state(tree, "until-first-unlock") == .string("open"))
  }

  @Test("It tells whether a crash would leave something in doubt") func session() throws {
    let tree = try Tree.vault()
    #expect(try told(tree)["session"] == .string("none"))
    try tree.make("a/file", "text")
    #expect(try told(tree)["session"] == .string("running"))
    #expect(try number(tree, "sessionsNotEnded") == 0, "only those of other mounts count")
    try tree.lock()
    #expect(try told(tree)["session"] == .string("none"))
    #expect(try number(tree, "sessionsNotEnded") == 0)
    try tree.unlock()
    try tree.make("a/other", "text")
    try tree.volume().sealed.noteUnfinished()
    #expect(try told(tree)["session"] == .string("unfinished"))
    tree.unmount()
    // Before the first unlock nobody can read the log.
    #expect(try number(tree, "sessionsNotEnded") == nil)
    try tree.unlock()
    #expect(try number(tree, "sessionsNotEnded") == 1)
  }

  @Test("Files that a crash left in doubt are counted once, and once more when they are settled")
  func doubtfulFiles() throws {
    let tree = try Tree.vault()
    try tree.make("c/file", "text")
    tree.close()
    try tree.unlock()
    try tree.at("c/file") { _, _ in
      for _ in 0..<3 { #expect(try tree.read("c/file") == "text") }
      #expect(try number(tree, "doubtful") == 1)
      #expect(try number(tree, "recovered") == 0)
      try tree.write("c/file", "TEXT")
      #expect(try number(tree, "doubtful") == 1)
      #expect(try number(tree, "recovered") == 1)
    }
  }

  @Test("Copies without attributes are counted once each") func unmarkedFiles() throws {
    let tree = try Tree.vault()
    try tree.make("a/file", "text")
    tree.unmount()
    for name in ["one", "two"] {
      try tree.stored("a/file").write(to: URL(fileURLWithPath: "\(tree.path)/plain/\(name)"))
    }
    try tree.unlock()
    for _ in 0..<2 { for name in ["one", "two"] { _ = try tree.attributes("plain/\(name)") } }
    _ = try tree.attributes("a/file")
    #expect(try number(tree, "unmarked") == 2)
  }

  @Test("Damaged blocks are counted once, however often they are read") func damage() throws {
    let tree = try Tree.vault()
    try tree.make("a/file", "text")
    tree.unmount()
    var bytes = try tree.stored("a/file")
    bytes[5000] ^= 1
    try bytes.write(to: URL(fileURLWithPath: "\(tree.path)/a/file"), options: [])
    try tree.unlock()
    for _ in 0..<3 { #expect(throws: Errno.inputOutput) { _ = try tree.read("a/file") } }
    #expect(try number(tree, "damagedBlocks") == 1)
    #expect(try number(tree, "lostBlocks") == 0)
  }
}
